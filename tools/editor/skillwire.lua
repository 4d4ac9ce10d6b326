-- Starts `skillwire lsp` for skills, in Neovim 0.7 (newer ones have `vim.lsp.start`).
local function start(buffer, program)
  local id = vim.lsp.start_client({
    name = "skillwire",
    cmd = { program or "skillwire", "lsp" },
    root_dir = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":h"),
  })
  vim.lsp.buf_attach_client(buffer, id)
  return id
end

return { start = start }
