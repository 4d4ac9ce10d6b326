//! Skills of a repository, an archive, a folder and a web origin in the folders of agents.

use std::process::Command;

use skillwire_testkit::SkillFolder;

use super::forge::Forge;
use crate::{host::user::refunds, support::HttpServer};

#[tokio::test]
async fn a_skill_of_a_repository_is_installed_for_agents_with_its_commit_and_content() {
    let forge = Forge::new();
    let commit = forge.repository("acme/skills").git(&["rev-parse", "HEAD"]);
    let arguments = [
        "acme/skills",
        "pdf",
        "--agent",
        "claude-code",
        "--agent",
        "codex",
        "--global",
        "--yes",
        "--json",
    ];
    let done = forge.run_add(&arguments).await.assert_exit(0).json();
    let skill = &done["installed"][0];
    assert_eq!(skill["name"], "pdf", "{done}");
    assert_eq!(skill["source"]["commit"], commit, "{done}");
    assert_eq!(skill["source"]["folder"], "skills/pdf", "{done}");
    assert!(skill["content"].as_str().unwrap().starts_with("sha256:"), "{done}");
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Fills in forms."));
    assert_eq!(forge.read(".agents/skills/pdf/scripts/fill.sh"), "#!/bin/sh\necho filled\n");
    assert!(!forge.exists(".claude/skills/docx"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| forge.user.home.join(path).metadata().unwrap().permissions().mode();
        assert_eq!(mode(".claude/skills/pdf/scripts/fill.sh") & 0o777, 0o755);
        assert_eq!(mode(".claude/skills/pdf/SKILL.md") & 0o111, 0);
    }
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][0]["state"], "intact", "{listing}");
    let again = forge.run_add(&arguments).await.assert_exit(0).json();
    assert_eq!(again["installed"][0]["content"], skill["content"], "{again}");
}

#[tokio::test]
async fn a_ref_and_a_path_choose_what_is_installed() {
    let forge = Forge::new();
    let skills = forge.repository("acme/skills");
    skills.git(&["tag", "v1"]);
    skills.skill("skills/pdf", "pdf", "Reads forms aloud.");
    skills.commit("second");
    let at = ["--agent", "claude-code", "--global", "--yes"];
    forge.run_add(&[&["acme/skills/skills/pdf@v1"][..], &at].concat()).await.assert_exit(0);
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Fills in forms."));
    let options = ["acme/skills", "--path", "skills/docx", "--ref", "main"];
    forge.run_add(&[&options[..], &at].concat()).await.assert_exit(0);
    assert!(forge.exists(".claude/skills/docx/SKILL.md"));
    let url = format!("{}/acme/skills.git/skills/pdf", forge.url());
    let cursor = ["add", &url, "--agent", "cursor", "--global", "--yes"];
    forge.user.run(&cursor).await.assert_exit(0);
    // Every folder of an installed skill has the same content.
    for path in [".cursor/skills/pdf/SKILL.md", ".claude/skills/pdf/SKILL.md"] {
        assert!(forge.read(path).contains("Reads forms aloud."), "{path}");
    }
}

#[tokio::test]
async fn without_a_terminal_skills_are_named_or_all_and_nothing_is_installed_unasked() {
    let forge = Forge::new();
    let ran = forge.run_add(&["acme/skills", "--agent", "codex", "--global"]).await.assert_exit(2);
    assert!(ran.stderr.contains("has 2 skills") && ran.stderr.contains("docx, pdf"), "{ran:?}");
    let named = ["acme/skills", "pdf", "--agent", "codex", "--global"];
    forge.run_add(&named).await.assert_refused(2, "nothing was changed");
    let near = ["acme/skills", "pfd", "--agent", "codex", "--global", "--yes"];
    forge.run_add(&near).await.assert_refused(5, "Did you mean `pdf`?");
    assert!(!forge.exists(".agents"));
    let listed = forge.run_add(&["acme/skills", "--list"]).await.assert_exit(0).stdout;
    assert_eq!(
        listed,
        "docx  Writes letters. Use when testing.\npdf   Fills in forms. Use when testing.\n"
    );
    let planned = [&named[..], &["--dry-run"]].concat();
    let ran = forge.run_add(&planned).await.assert_exit(0);
    assert!(ran.stdout.contains(".agents/skills/pdf` would be written."), "{ran:?}");
    assert!(!forge.exists(".agents"));
    forge.user.home.file("sw/state/settings.toml", "unattended-approvals = false\n");
    let yes = [&named[..], &["--yes"]].concat();
    forge.run_add(&yes).await.assert_refused(8, "let no skill be installed without asking");
}

#[tokio::test]
async fn inside_a_repository_skills_are_installed_in_the_project() {
    let forge = Forge::new();
    std::fs::create_dir_all(forge.user.home.join("work/.git")).unwrap();
    std::fs::create_dir_all(forge.user.home.join("work/src")).unwrap();
    let url = forge.url();
    let arguments = ["acme/skills", "--all", "--agent", "claude-code", "--agent", "zed", "--yes"];
    let mut command = forge.user.command(&Forge::add(&url, &arguments));
    command.current_dir(forge.user.home.join("work/src"));
    crate::support::finish(command).await.assert_exit(0);
    for path in [".claude/skills/pdf", ".claude/skills/docx", ".agents/skills/pdf"] {
        assert!(forge.exists(&format!("work/{path}/SKILL.md")), "{path}");
    }
    assert!(!forge.exists(".claude") && !forge.exists(".agents"));
}

#[tokio::test]
async fn agents_on_the_machine_are_the_default_and_one_without_a_folder_is_told() {
    let forge = Forge::new();
    forge.user.home.directory(".claude");
    forge.user.home.directory(".codex");
    let url = forge.url();
    let mut command = forge.user.command(&Forge::add(&url, &["acme/skills", "pdf", "--yes"]));
    command.env_remove("XDG_CONFIG_HOME");
    let git = which_git();
    command.env("PATH", git.parent().unwrap());
    let ran = crate::support::finish(command).await.assert_exit(0);
    assert!(
        ran.stdout.contains("for claude-code.") && ran.stdout.contains("for codex."),
        "{ran:?}"
    );
    let desktop = ["acme/skills", "pdf", "--agent", "claude-desktop", "--global", "--yes"];
    forge.run_add(&desktop).await.assert_refused(8, "Claude Desktop reads no folder of skills");
    let unknown = ["acme/skills", "pdf", "--agent", "cursr", "--global", "--yes"];
    forge.run_add(&unknown).await.assert_refused(5, "Did you mean `cursor`?");
}

fn which_git() -> std::path::PathBuf {
    let output = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().into()
}

#[cfg(unix)]
#[tokio::test]
async fn links_share_one_read_only_copy() {
    let forge = Forge::new();
    let linked =
        ["acme/skills", "pdf", "--agent", "claude-code", "--agent", "cursor", "--link", "--yes"];
    forge.run_add(&linked).await.assert_exit(0);
    let target = |path: &str| std::fs::read_link(forge.user.home.join(path)).unwrap();
    assert_eq!(target(".claude/skills/pdf"), target(".cursor/skills/pdf"));
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Fills in forms."));
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][0]["state"], "intact", "{listing}");
    let project = [&linked[..6], &["--link", "--project", "--yes"]].concat();
    forge.run_add(&project).await.assert_refused(2, "--project");
}

#[tokio::test]
async fn an_archive_a_folder_and_a_web_origin_are_sources_too() {
    let forge = Forge::new();
    let skills = refunds();
    let folder = skills.join("acme/refunds");
    forge.user.run_ok(&["pack", folder.to_str().unwrap(), "--out", "refunds.tar.gz"]).await;
    let at = ["--agent", "claude-code", "--global", "--yes"];
    let ran = forge.user.run(&[&["add", "refunds.tar.gz"][..], &at].concat()).await.assert_exit(0);
    assert!(ran.stdout.contains("Installed refunds"), "{ran:?}");
    assert_eq!(
        forge.read(".claude/skills/refunds/references/policy.md"),
        "Refund within 30 days.\n"
    );
    forge.user.run_ok(&["remove", "refunds", "--yes"]).await;
    let all = skills.path().to_str().unwrap();
    forge.user.run(&[&["add", all][..], &at].concat()).await.assert_exit(0);
    assert!(forge.exists(".claude/skills/refunds/SKILL.md"));
    forge.user.run_ok(&["remove", "refunds", "--yes"]).await;
    let web = SkillFolder::with_skills(&["web"]);
    let server = HttpServer::serve(&web, &[".", "--public", "**"]).await;
    let origin = format!("http://{}", server.address);
    forge.user.run(&[&["add", &origin][..], &at].concat()).await.assert_exit(0);
    assert!(forge.exists(".claude/skills/web/SKILL.md"));
}

#[cfg(unix)]
#[tokio::test]
async fn an_archive_may_hold_several_skills_and_a_folder_around_them() {
    let forge = Forge::new();
    let pack = |folder: &str, text: &str| {
        for name in ["docx", "pdf"] {
            let path = format!("work/{folder}/skills/{name}");
            forge.user.home.file(&format!("{path}/SKILL.md"), crate::support::skill_with(name, ""));
            forge.user.home.file(&format!("{path}/notes.md"), text);
        }
        forge.user.home.file(&format!("work/{folder}/README.md"), "# Skills\n");
        let mut tar = std::process::Command::new("tar");
        tar.args(["-czf", "skills.tar.gz", folder]).current_dir(forge.user.home.join("work"));
        assert!(tar.status().unwrap().success());
        std::fs::remove_dir_all(forge.user.home.join("work").join(folder)).unwrap();
    };
    pack("skills-1.0", "one\n");
    let listed = forge.user.run_json(&["add", "skills.tar.gz", "--list", "--json"]).await;
    assert_eq!(listed[0]["folder"], "skills/docx", "{listed}");
    let at = ["--agent", "claude-code", "--global", "--yes"];
    forge.user.run(&[&["add", "skills.tar.gz", "pdf"][..], &at].concat()).await.assert_exit(0);
    assert_eq!(forge.read(".claude/skills/pdf/notes.md"), "one\n");
    // The next version has another folder around it.
    pack("skills-1.1", "two\n");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(0);
    assert!(ran.stderr.contains("+two"), "{ran:?}");
    assert_eq!(forge.read(".claude/skills/pdf/notes.md"), "two\n");
    // One skill in one folder, and what macOS adds.
    forge.user.home.file("work/letters/SKILL.md", crate::support::skill_with("letters", ""));
    forge.user.home.file("work/__MACOSX/letters/._SKILL.md", "x");
    let mut tar = std::process::Command::new("tar");
    tar.args(["-czf", "one.tar.gz", "letters", "__MACOSX"]);
    assert!(tar.current_dir(forge.user.home.join("work")).status().unwrap().success());
    forge.user.run(&[&["add", "one.tar.gz"][..], &at].concat()).await.assert_exit(0);
    assert!(forge.exists(".claude/skills/letters/SKILL.md"));
    assert!(!forge.exists(".claude/skills/letters/__MACOSX"));
}

#[tokio::test]
async fn two_runs_at_once_leave_both_skills_installed_and_recorded() {
    let forge = Forge::new();
    let at = ["--agent", "claude-code", "--global", "--yes"];
    let (one, two) =
        ([&["acme/skills", "pdf"][..], &at].concat(), [&["acme/skills", "docx"][..], &at].concat());
    let (one, two) = tokio::join!(forge.run_add(&one), forge.run_add(&two));
    one.assert_exit(0);
    two.assert_exit(0);
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"].as_array().unwrap().len(), 2, "{listing}");
}
