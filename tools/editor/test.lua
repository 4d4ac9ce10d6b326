-- What an author does in an editor, in order. Ends Neovim with the number of failed checks.
local buffer = vim.api.nvim_get_current_buf()
local failed, passed = 0, 0

local function check(what, holds, seen)
  if holds then
    passed = passed + 1
  else
    failed = failed + 1
    io.stdout:write("FAILED: " .. what .. "\n  saw: " .. vim.inspect(seen) .. "\n")
  end
end

local function finish()
  io.stdout:write(string.format("%d passed, %d failed\n", passed, failed))
  vim.cmd(failed == 0 and "qall!" or "cquit!")
end

local function place(line, column)
  return {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = line, character = column },
  }
end

local function ask(method, params)
  local answers, error = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  local _, answer = next(answers or {})
  return answer and answer.result, error or (answer and answer.error)
end

local function codes()
  return vim.tbl_map(function(one) return one.code end, vim.diagnostic.get(buffer))
end

local function wait_for(code, present)
  return vim.wait(20000, function() return vim.tbl_contains(codes(), code) == present end, 20)
end

local ok, error = pcall(function()
  local id = require("skillwire").start(buffer, vim.env.SKILLWIRE_PROGRAM)
  check("the server starts", vim.wait(20000, function()
    local client = vim.lsp.get_client_by_id(id)
    return client ~= nil and client.initialized == true
  end, 20), vim.lsp.get_client_by_id(id))

  check("a finding appears at its line", wait_for("yaml-unquoted-colon", true), codes())
  local found = vim.diagnostic.get(buffer)[1]
  check("it is on the description", found and found.lnum == 2, found)

  local page = ask("textDocument/hover", place(2, 22))
  check("a finding shows the page of its code",
    page and page.contents.value:find("yaml%-unquoted%-colon") ~= nil, page)

  local params = place(2, 15)
  params.range = { start = params.position, ["end"] = params.position }
  params.context = { diagnostics = {} }
  local actions = ask("textDocument/codeAction", params)
  check("a quick fix is offered", actions and actions[1] and actions[1].kind == "quickfix", actions)
  vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
  local line = vim.api.nvim_buf_get_lines(buffer, 2, 3, false)[1]
  check("the quick fix quotes the value", line:find('^description: "Pays back: cards') ~= nil, line)
  check("the finding is gone", wait_for("yaml-unquoted-colon", false), codes())

  local hover = ask("textDocument/hover", place(2, 3))
  check("a key says what it means", hover and hover.contents.value:find("when to use it"), hover)

  vim.api.nvim_buf_set_lines(buffer, 3, 3, false, { "lic" })
  local keys = ask("textDocument/completion", place(3, 3))
  local labels = vim.tbl_map(function(one) return one.label end, keys or {})
  check("a key is completed", vim.tbl_contains(labels, "license"), labels)
  vim.api.nvim_buf_set_lines(buffer, 3, 4, false, {})

  vim.api.nvim_buf_set_lines(buffer, 8, 8, false, { "See [rules](ref" })
  local files = ask("textDocument/completion", place(8, 15))
  local paths = vim.tbl_map(function(one) return one.label end, files or {})
  check("a file of the skill is completed", vim.tbl_contains(paths, "references/policy.md"), paths)
  vim.api.nvim_buf_set_lines(buffer, 8, 9, false, {})

  local definition = ask("textDocument/definition", place(7, 25))
  check("a link leads to its file",
    definition and definition.uri:find("references/policy.md$") ~= nil, definition)

  local symbols = ask("textDocument/documentSymbol",
    { textDocument = vim.lsp.util.make_text_document_params(buffer) })
  check("the outline has the heading", symbols and symbols[3] and symbols[3].name == "Refunds", symbols)

  local renamed = place(7, 25)
  renamed.newName = "rules.md"
  local edit = ask("textDocument/rename", renamed)
  vim.lsp.util.apply_workspace_edit(edit, "utf-16")
  line = vim.api.nvim_buf_get_lines(buffer, 7, 8, false)[1]
  check("the link has the new name", line == "Read [the policy](references/rules.md).", line)
  local new = vim.env.SKILLWIRE_WORK .. "/refunds/references/rules.md"
  check("the file has the new name", vim.fn.filereadable(new) == 1, new)

  vim.lsp.stop_client(id)
  check("the server stops", vim.wait(20000, function() return vim.lsp.client_is_stopped(id) end, 20), id)
end)
if not ok then check("no error in the test itself", false, error) end
finish()
