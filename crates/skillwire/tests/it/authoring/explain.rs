//! `check --explain`: the page of a code.

use skillwire_core::Code;
use skillwire_testkit::SkillFolder;

use crate::support::run;

#[tokio::test]
async fn the_page_of_every_code_is_printed() {
    let folder = SkillFolder::new();
    for code in Code::ALL {
        let ran = run(&folder, &["check", "--explain", code.as_str()]).await.assert_exit(0);
        assert_eq!(ran.stdout, code.page());
        assert_eq!(ran.stderr, "");
    }
}

#[tokio::test]
async fn a_code_that_does_not_exist_is_answered_with_those_that_are_alike() {
    let folder = SkillFolder::new();
    let ran = run(&folder, &["check", "--explain", "key-duplicate"]).await.assert_exit(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("`yaml-duplicate-key`"), "{ran:?}");
    let ran = run(&folder, &["check", "--explain", "descr"]).await.assert_exit(2);
    assert!(ran.stderr.contains("`description-missing`, "), "{ran:?}");
    run(&folder, &["check", "--explain", "E0308"])
        .await
        .assert_refused(2, "There is no code `E0308`.");
}

/// A terminal gets the page as it reads; a pipe gets the Markdown.
#[cfg(unix)]
#[tokio::test]
async fn a_page_is_rendered_on_a_terminal() {
    let user = crate::host::user::TestUser::new();
    let arguments = ["check", "--explain", "link-missing"];
    let size = Some((80, 40));
    let mut terminal =
        crate::host::terminal::TerminalSession::start_sized(user.command(&arguments), true, size);
    let shown = terminal.wait_for_screen("backquotes").await;
    assert!(shown.contains("Why it matters") && !shown.contains('#'), "{shown}");
    let piped = user.run_ok(&arguments).await;
    assert!(piped.contains("\n## Why it matters\n"), "{piped}");
}
