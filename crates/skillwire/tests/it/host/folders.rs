//! Skills of this machine next to those of servers.

use skillwire_testkit::skill_md;

use super::user::{User, refunds};

#[tokio::test]
async fn skills_of_the_user_need_no_approval_and_stay_apart_from_servers_hst_119() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.home.file(".claude/skills/refunds/SKILL.md", skill_md("refunds") + "Mine.\n");
    user.home.file(".claude/skills/refunds/x.md", "local file\n");
    user.run(&["load", "refunds"]).await.refuses(6, "local:refunds, acme:refunds");
    let block = user.gets(&["load", "local:refunds", "--read", "x.md"]).await;
    assert!(block.contains("Mine.") && block.contains("local file"), "{block}");
    assert!(block.contains("Origin: a skill folder of the user on this machine, in"), "{block}");
    user.run(&["load", "local:refunds", "--read", "../x"]).await.exits(3);
    user.gets(&["disable", "local:refunds"]).await;
    user.run(&["load", "local:refunds"]).await.refuses(8, "error[disabled]");
    assert!(!user.gets(&["prompt"]).await.contains("local:refunds"));
}

#[tokio::test]
async fn a_project_is_not_trusted_unless_the_user_says_so_hst_119() {
    let user = User::new();
    user.home.file("work/.agents/skills/build/SKILL.md", skill_md("build"));
    let ran = user.run(&["list"]).await.exits(0);
    assert!(ran.stdout.contains("refused project_untrusted"), "{}", ran.stdout);
    assert!(!user.gets(&["prompt"]).await.contains("build"));
    user.run(&["load", "project:build"]).await.refuses(4, "error[project_untrusted]");
    let listed = user.gets(&["list", "--trust-project"]).await;
    assert!(listed.contains("project:build") && listed.contains("approved"), "{listed}");
    user.gets(&["load", "project:build", "--trust-project"]).await;
    // The project's own comes first where only folders have the name.
    user.home.file(".agents/skills/build/SKILL.md", skill_md("build"));
    let block = user.gets(&["load", "build", "--trust-project"]).await;
    assert!(block.contains("project:"), "{block}");
    let block = user.gets(&["load", "build"]).await;
    assert!(block.contains("local:"), "{block}");
}
