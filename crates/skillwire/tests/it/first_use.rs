//! What a new user meets first.

use skillwire_testkit::SkillFolder;

#[cfg(unix)]
use crate::host::user::TestUser;
use crate::support::run;

#[tokio::test]
async fn check_without_a_path_checks_this_folder_fu_26() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let ran = run(&folder, &["check"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "2 skills checked: nothing to report.\n");
}

#[tokio::test]
async fn words_of_other_programs_are_understood_fu_26() {
    let folder = SkillFolder::new();
    run(&folder, &["init", "a"]).await.assert_exit(0);
    run(&folder, &["ls"]).await.assert_exit(0);
    run(&folder, &["find", "x"]).await.assert_exit(0);
    run(&folder, &["chekc", "."]).await.assert_refused(2, "a similar subcommand exists: 'check'");
    let ran = run(&folder, &["aprove"]).await;
    ran.assert_refused(2, "some similar subcommands exist: 'approve', 'remove', 'serve'");
    for (other, own) in [
        ("init", "new"),
        ("ls", "list"),
        ("find", "search"),
        ("info", "show"),
        ("preview", "show"),
        ("install", "add"),
        ("upgrade", "update"),
        ("rm", "remove"),
        ("uninstall", "remove"),
    ] {
        let help = async |name: &str| run(&folder, &[name, "--help"]).await.assert_exit(0).stdout;
        assert_eq!(help(other).await, help(own).await, "{other}");
    }
}

/// A model that reads such a message would answer in place of the user. `tools/house` reads the texts of
/// the other commands.
#[cfg(unix)]
#[tokio::test]
async fn no_message_without_a_terminal_names_the_option_that_answers_cl_12() {
    let (user, skills) = (TestUser::new(), SkillFolder::with_skills(&["a", "b"]));
    user.add_folder_server("team", &skills).await;
    user.approve("team:a").await;
    user.home.directory("work/.git");
    user.home.file("mine/pdf/SKILL.md", skillwire_testkit::skill_md("pdf"));
    user.home.file("work/skillwire.toml", "[[source]]\nfrom = \"mine\"\n");
    user.home.file("work/mine/docx/SKILL.md", skillwire_testkit::skill_md("docx"));
    user.run_ok(&["add", "../mine", "--agent", "codex", "--global", "--yes"]).await;
    user.home.file("mine/pdf/notes.md", "new\n");
    for arguments in [
        &["approve", "team:b"][..],
        &["approve", "--all"],
        &["review"],
        &["load", "team:b"],
        &["server", "remove", "team"],
        &["add", "../mine", "--agent", "cursor", "--global"],
        &["add", "../mine", "--keep"],
        &["add", "team:b"],
        &["update"],
        &["remove", "pdf"],
        &["setup", "--agent", "cursor"],
        &["sync"],
    ] {
        let ran = user.run(arguments).await;
        let said = format!("{}{}", ran.stdout, ran.stderr);
        // What waits can be listed without an answer.
        assert_eq!(ran.code == Some(0), arguments == ["review"], "{arguments:?}: {said}");
        assert!(!said.contains("--yes") && !said.contains("--trust-project"), "{said}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_skipped_skill_is_named_once_when_a_server_starts_fu_26() {
    let user = TestUser::new();
    user.home.file("work/skills/good/SKILL.md", skillwire_testkit::skill_md("good"));
    user.home.file("work/skills/bad/SKILL.md", "# No frontmatter\n");
    let mut server = user.start_on_terminal(&["serve", "skills", "--http", "127.0.0.1:0"]);
    let shown = server.wait_for_screen("listening on").await;
    assert!(shown.contains("Skipped 1 skill"), "{shown}");
    assert_eq!(shown.matches("frontmatter-missing").count(), 1, "{shown}");
}
