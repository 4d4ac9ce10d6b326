//! Skills in folders of this machine beside skills of servers.

use skillwire_testkit::skill_md;

use super::user::{TestUser, refunds};

#[tokio::test]
async fn skills_of_the_user_need_no_approval_and_stay_apart_from_servers_hst_119() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.home.file(".claude/skills/refunds/SKILL.md", skill_md("refunds") + "Mine.\n");
    user.home.file(".claude/skills/refunds/x.md", "local file\n");
    user.run(&["load", "refunds"]).await.assert_refused(6, "local:refunds, acme:refunds");
    let block = user.run_ok(&["load", "local:refunds", "--read", "x.md"]).await;
    assert!(block.contains("Mine.") && block.contains("local file"), "{block}");
    assert!(block.contains("Origin: a skill folder of the user\nDirectory: "), "{block}");
    user.run(&["load", "local:refunds", "--read", "../x"]).await.assert_exit(3);
    user.run_ok(&["disable", "local:refunds"]).await;
    user.run(&["load", "local:refunds"]).await.assert_refused(8, "error[disabled]");
    assert!(!user.run_ok(&["prompt"]).await.contains("local:refunds"));
}

#[tokio::test]
async fn a_project_is_not_trusted_unless_the_user_says_so_hst_119_fu_23() {
    let user = TestUser::new();
    user.home.file("work/.agents/skills/build/SKILL.md", skill_md("build"));
    let ran = user.run(&["list"]).await.assert_exit(0);
    assert!(ran.stdout.contains("refused project_untrusted"), "{}", ran.stdout);
    assert!(!user.run_ok(&["prompt"]).await.contains("build"));
    user.run(&["load", "project:build"]).await.assert_refused(4, "error[project_untrusted]");
    user.run(&["load", "project:build"]).await.assert_refused(4, "pass `--trust-project`.");
    assert!(ran.stdout.contains("pass `--trust-project`."), "{}", ran.stdout);
    let listed = user.run_ok(&["list", "--trust-project"]).await;
    assert!(listed.contains("project:build") && listed.contains("approved"), "{listed}");
    user.run_ok(&["load", "project:build", "--trust-project"]).await;
    // Among folders, a skill of the project wins over others with the same name.
    user.home.file(".agents/skills/build/SKILL.md", skill_md("build"));
    let block = user.run_ok(&["load", "build", "--trust-project"]).await;
    assert!(block.contains("project:"), "{block}");
    let block = user.run_ok(&["load", "build"]).await;
    assert!(block.contains("local:"), "{block}");
}
