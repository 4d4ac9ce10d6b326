//! What a new user meets first.

use skillwire_testkit::SkillFolder;

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
