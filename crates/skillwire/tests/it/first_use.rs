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
