//! Upstreams that are no servers: folders and repositories.

use std::{path::Path, process::Command};

use skillwire_hub::{UpstreamMode, UpstreamSource};
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::Hub;

const OWN: &str = "/mcp/u/team";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_passed_on_or_reviewed_like_a_server() {
    let folder = SkillFolder::with_skills(&["acme/refunds"]);
    let notes = folder.path().join("acme/refunds/notes.md");
    std::fs::write(&notes, "one").unwrap();
    let hub = Hub::start().await;
    let path = folder.path().to_str().unwrap().to_owned();
    hub.add("team", UpstreamSource::Folder { path }, UpstreamMode::Passthrough).await;
    let file = "skill://acme/refunds/notes.md";
    hub.lists(OWN, &["skill://acme/refunds/SKILL.md"]).await;
    hub.lists("/mcp", &["skill://team/acme/refunds/SKILL.md"]).await;
    hub.reads(OWN, file, Ok("one")).await;
    std::fs::write(&notes, "and two").unwrap();
    hub.reads(OWN, file, Ok("and two")).await;
    hub.set_mode("team", UpstreamMode::Pin).await;
    hub.lists(OWN, &[]).await;
    hub.approve(1).await;
    hub.lists(OWN, &["skill://acme/refunds/SKILL.md"]).await;
    std::fs::write(&notes, "and three now").unwrap();
    hub.waiting(1).await;
    hub.reads(OWN, file, Ok("and two")).await;
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(["-c", "uploadpack.allowFilter=true"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_repository_only_skills_that_changed_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join("skills").join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("SKILL.md"), skill_md(name)).unwrap();
        std::fs::write(path.join("x.md"), text).unwrap();
    };
    write("one", "1");
    write("two", "2");
    git(folder.path(), &["init", "-q", "-b", "main"]);
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-qm", "first"]);
    let hub = Hub::start().await;
    let url = format!("file://{}", folder.path().display());
    let source = UpstreamSource::Git { url, reference: Some("main".to_owned()) };
    hub.add("team", source, UpstreamMode::Pin).await;
    let uris = ["skill://skills/one/SKILL.md", "skill://skills/two/SKILL.md"];
    hub.approve(2).await;
    hub.lists(OWN, &uris).await;
    write("two", "another 2");
    git(folder.path(), &["commit", "-qam", "second"]);
    let waiting = hub.waiting(1).await;
    assert_eq!(waiting[0].skill.uri.as_str(), uris[1]);
    hub.reads(OWN, "skill://skills/two/x.md", Ok("2")).await;
    hub.approve(1).await;
    hub.reads(OWN, "skill://skills/two/x.md", Ok("another 2")).await;
    // Without a review, files come from what was fetched.
    hub.set_mode("team", UpstreamMode::Passthrough).await;
    hub.reads("/mcp", "skill://team/skills/one/x.md", Ok("1")).await;
}
