//! What an author sees on a terminal and in an editor, as pictures of the documentation.

use std::{ffi::OsString, io::Write as _, path::Path, process::Stdio};

use tokio::process::Command;

use crate::{
    host::{screen::TestScreen, user::TestUser},
    support::BINARY,
};

/// The version of Neovim that the picture shows; others draw the same text in other colours.
const PICTURED: &str = "NVIM v0.7.2";

/// A skill with an error in its frontmatter and a link to a file that is missing.
const FORMS: &str = "---\nname: forms\ndescription: Fills PDF forms: text, boxes. Use when asked.\n---\n\n\
                     # Forms\n\n1. Read [the fields](references/fields.md).\n\
                     2. Fill them in with [the script](scripts/fill.sh).\n";

fn author() -> TestUser {
    let author = TestUser::new();
    author.home.file("work/skills/forms/SKILL.md", FORMS);
    author.home.file("work/skills/forms/references/fields.md", "# Fields\n");
    author.home.file("work/skills/notes/SKILL.md", skillwire_testkit::skill_md("notes"));
    author
}

#[tokio::test]
async fn check_marks_the_line_and_says_what_repairs_it() {
    let author = author();
    let mut screen = TestScreen::start(author.command(&["check", "skills"]), (100, 25));
    let shown = screen.wait_for("2 skills checked").await;
    assert!(shown.contains("error[yaml-unquoted-colon]"), "{shown}");
    screen.wait_for("to learn more about a code.").await;
    screen.assert_picture("check.svg");
    assert_eq!(screen.wait().await.0, Some(1));
}

/// Neovim 0.7 and newer as an author may have it, with the server for Markdown and two keys.
const SETTINGS: &str = r#"
vim.opt.background = "dark"
vim.opt.laststatus = 0
vim.opt.signcolumn = "yes"
vim.opt.ruler = false
vim.opt.shadafile = "NONE"
vim.opt.shortmess:append("I")
vim.opt.fillchars = { eob = " " }
vim.cmd("highlight FloatBorder cterm=NONE ctermfg=4")
vim.cmd("highlight MsgSeparator cterm=NONE")
vim.lsp.handlers["textDocument/hover"] = vim.lsp.with(vim.lsp.handlers.hover, { border = "single" })
vim.keymap.set("n", "K", vim.lsp.buf.hover)
vim.keymap.set("n", "F", vim.lsp.buf.code_action)
vim.api.nvim_create_autocmd("FileType", {
  pattern = "markdown",
  callback = function(event) require("skillwire").start(event.buf, vim.env.SKILLWIRE_PROGRAM) end,
})
"#;

fn neovim(author: &TestUser) -> Command {
    author.home.file("init.lua", SETTINGS);
    let mut paths =
        OsString::from(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/editor"));
    paths.push("/?.lua;;");
    let mut command = Command::new("nvim");
    command.args(["-n", "--clean", "-u"]).arg(author.home.join("init.lua"));
    command.arg("skills/forms/SKILL.md").current_dir(author.home.join("work"));
    command.env("HOME", author.home.path()).env("LC_ALL", "C.UTF-8").env("LUA_PATH", paths);
    command.env("SKILLWIRE_PROGRAM", BINARY).kill_on_drop(true);
    for name in ["COLORTERM", "VIMINIT", "TMUX", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    command
}

/// The first line of `nvim --version`, if there is a Neovim.
#[expect(clippy::disallowed_methods, reason = "how tests are run is told by the environment")]
async fn neovim_version() -> Option<String> {
    let asked = Command::new("nvim").arg("--version").stderr(Stdio::null()).output().await;
    let version = asked.ok().map(|output| String::from_utf8(output.stdout).unwrap());
    let version = version.and_then(|text| text.lines().next().map(str::to_owned));
    let required = std::env::var_os("SKILLWIRE_REQUIRE_NEOVIM").is_some_and(|value| value == "1");
    assert!(version.is_some() || !required, "there is no `nvim`, and SKILLWIRE_REQUIRE_NEOVIM=1");
    version
}

#[tokio::test]
async fn an_editor_shows_the_finding_its_page_and_the_repair() {
    let Some(version) = neovim_version().await else {
        // The test harness hides what passing tests print with `eprintln!`, but not this.
        let why =
            "skipped: there is no `nvim` (`SKILLWIRE_REQUIRE_NEOVIM=1` makes this a failure)\n";
        std::io::stderr().write_all(why.as_bytes()).unwrap();
        return;
    };
    let author = author();
    let mut screen = TestScreen::start(neovim(&author), (110, 26));
    let is_marked = |text: &str| text.contains("holds a `:`") && text.contains("has no file");
    screen.wait_until("both findings", is_marked).await;
    screen.press("3G22lK");
    screen.wait_for("`skillwire check --fix` does it.").await;
    screen.press("F");
    let shown = screen.wait_for("Type number and <Enter>").await;
    assert!(shown.contains("1: Put the value in quotes"), "{shown}");
    if version == PICTURED {
        screen.assert_picture("editor.svg");
    }
    screen.press("1\n");
    screen.wait_for("description: \"Fills PDF forms: text, boxes. Use when asked.\"").await;
    screen.press(":wq\n");
    assert_eq!(screen.wait().await.0, Some(0));
    let kept = std::fs::read_to_string(author.home.join("work/skills/forms/SKILL.md")).unwrap();
    assert!(kept.contains("description: \"Fills PDF forms"), "{kept}");
}
