//! The flows of a user at a terminal.

use super::forge::Forge;
use crate::host::terminal::TerminalSession;

fn start(forge: &Forge, arguments: &[&str]) -> TerminalSession {
    let mut command = forge.user.command(arguments);
    command.env("PAGER", "cat");
    TerminalSession::start_with(command, true)
}

#[tokio::test]
async fn a_user_searches_looks_at_marks_and_installs_skills() {
    let forge = Forge::new();
    let url = forge.url();
    let arguments = ["acme/skills", "--agent", "claude-code", "--global"];
    let mut terminal = start(&forge, &Forge::add(&url, &arguments));
    let seen = terminal.wait_for_screen("0 marked").await;
    assert!(seen.contains("docx") && seen.contains("Fills in forms."), "{seen}");
    terminal.type_line("/forms");
    let seen = terminal.wait_for_screen("0 marked").await;
    assert!(seen.contains("pdf") && !seen.contains("Writes letters."), "{seen}");
    terminal.type_line("?2");
    let seen = terminal.wait_for_screen("0 marked").await;
    // The text is rendered, so its headings have no marks.
    assert!(seen.contains("pdf") && !seen.contains("# pdf"), "{seen}");
    terminal.type_line("pdf");
    terminal.wait_for_screen("1 marked").await;
    terminal.type_line("");
    let seen = terminal.wait_for_screen("[y/N]").await;
    assert!(seen.contains("Install `pdf` for you, in every project?"), "{seen}");
    assert!(seen.contains("scripts/fill.sh  can be run"), "{seen}");
    assert!(seen.contains("~/.claude/skills (claude-code)"), "{seen}");
    assert!(!forge.exists(".claude"), "nothing is written before the user agrees");
    terminal.type_line("y");
    terminal.wait_for_screen("Installed").await;
    assert_eq!(terminal.wait().await, Some(0));
    assert!(forge.exists(".claude/skills/pdf") && !forge.exists(".claude/skills/docx"));
}

#[tokio::test]
async fn a_user_who_declines_or_marks_nothing_installs_nothing() {
    let forge = Forge::new();
    let url = forge.url();
    let arguments = ["acme/skills", "pdf", "--agent", "claude-code", "--global"];
    let mut terminal = start(&forge, &Forge::add(&url, &arguments));
    terminal.wait_for_screen("[y/N]").await;
    terminal.type_line("n");
    terminal.wait_for_screen("Nothing was installed.").await;
    assert_eq!(terminal.wait().await, Some(0));
    let mut terminal =
        start(&forge, &Forge::add(&url, &["acme/skills", "--agent", "codex", "--global"]));
    terminal.wait_for_screen("0 marked").await;
    terminal.type_line("");
    terminal.wait_for_screen("Nothing was chosen").await;
    assert_eq!(terminal.wait().await, Some(0));
    assert!(!forge.exists(".claude") && !forge.exists(".agents"));
}

#[tokio::test]
async fn an_update_shows_the_difference_and_asks() {
    let forge = Forge::new();
    forge
        .run_add(&["acme/skills", "pdf", "--agent", "claude-code", "--global", "--yes"])
        .await
        .assert_exit(0);
    let skills = forge.repository("acme/skills");
    skills.file("skills/pdf/scripts/fill.sh", "#!/bin/sh\necho more\n");
    skills.commit("second");
    for (answer, text) in [("n", "echo filled"), ("y", "echo more")] {
        let mut terminal = start(&forge, &["update", "pdf"]);
        let seen = terminal.wait_for_screen("Update `pdf`?").await;
        assert!(seen.contains("-echo filled") && seen.contains("+echo more"), "{seen}");
        terminal.type_line(answer);
        assert_eq!(terminal.wait().await, Some(0));
        assert!(forge.read(".claude/skills/pdf/scripts/fill.sh").contains(text), "{answer}");
    }
    let mut terminal = start(&forge, &["remove", "pdf"]);
    terminal.wait_for_screen("Remove 1 skill?").await;
    terminal.type_line("y");
    terminal.wait_for_screen("Removed pdf.").await;
    assert_eq!(terminal.wait().await, Some(0));
    assert!(!forge.exists(".claude"));
}
