//! Conveniences for authors: SRV-111 to SRV-113.

use serde_json::json;
use skillwire_core::Code;
use skillwire_source::{DirectoryOptions, DirectorySource};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer};

use crate::support::{children, digest, entry, findings, listed, manifest, read};

#[tokio::test]
async fn one_call_registers_a_directory_at_a_chosen_path_srv_111() {
    let folder = SkillFolder::with_skills(&["refunds"]);
    folder.file("refunds/examples/email.md", "Dear customer");

    let prefix = vec!["acme".to_owned(), "billing".to_owned()];
    let options = DirectoryOptions::default().prefix(prefix);
    let source = DirectorySource::new(folder.join("refunds"), options).expect("a folder");

    let server = TestServer::with_sources(vec![Box::new(source)], TestOptions::default()).await;
    let uri = "skill://acme/billing/refunds/SKILL.md";
    assert_eq!(listed(&server).await, [uri]);
    let entry = entry(&server, uri).await;
    assert_eq!(entry, server.skills().await[0]);
    let files = manifest(&entry);
    assert_eq!(files.len(), 2);
    for (file, expected) in files {
        let bytes = read(&server, &file).await;
        assert_eq!((digest(&bytes), bytes.len() as u64), expected);
    }
    let browsed = children(&server, "skill://acme/billing/refunds").await;
    assert_eq!(browsed[0]["name"], "refunds");
    assert_eq!(browsed[0]["mimeType"], "text/markdown");
    assert_eq!(browsed[0]["description"], entry["frontmatter"]["description"]);
    assert_eq!(browsed[1]["mimeType"], "inode/directory");
    let declared = server.call("server/discover", json!({})).await;
    assert!(declared["capabilities"]["extensions"]["io.modelcontextprotocol/skills"].is_object());
}

#[tokio::test]
async fn a_skill_above_a_limit_is_reported_with_its_numbers_srv_112() {
    let folder = SkillFolder::with_skills(&["too-many"]);
    for index in 0..600 {
        folder.file(&format!("too-many/f{index}"), "");
    }
    let mut server = TestServer::start(folder.path()).await;
    let told = server.refresh();
    let finding = told.inspected().flat_map(|inspected| &inspected.findings);
    let finding = finding.into_iter().find(|finding| finding.code == Code::TooManyFiles);
    let finding = finding.expect("the limit is reported");
    assert!(finding.message.contains("601") && finding.message.contains("512"));
    assert!(finding.help.is_some());
}

#[tokio::test]
async fn references_lead_to_resources_and_others_are_reported_srv_113() {
    let links = ["references/GUIDE.md", "scripts/run.py", "assets/a%20b.png"];
    let body = links.map(|link| format!("See [it]({link}).\n")).concat();
    let head =
        |name: &str| format!("---\nname: {name}\ndescription: Links. Use when testing.\n---\n");
    let folder = SkillFolder::new();
    folder
        .file("good/SKILL.md", format!("{}{body}", head("good")))
        .file("good/references/GUIDE.md", "[back](../SKILL.md)\n")
        .file("good/scripts/run.py", "print()\n")
        .file("good/assets/a b.png", b"\x89PNG\r\n\x1a\n")
        .file("missing/SKILL.md", format!("{}[a](references/GONE.md)\n", head("missing")))
        .file("leaving/SKILL.md", format!("{}[a](../good/SKILL.md)\n", head("leaving")))
        .file("absolute/SKILL.md", format!("{}[a](/etc/hosts)\n", head("absolute")));
    let mut server = TestServer::start(folder.path()).await;
    let files = manifest(&entry(&server, "skill://good/SKILL.md").await);
    for link in links {
        let uri = format!("skill://good/{link}");
        assert!(files.contains_key(&uri), "{uri}");
        assert!(!read(&server, &uri).await.is_empty());
    }
    let told = server.refresh();
    let about = |file: &str| -> Vec<Code> {
        let about_links = |code: &Code| {
            matches!(code, Code::LinkMissing | Code::LinkNotPortable | Code::LinkUpwards)
        };
        findings(&told, file).into_iter().filter(about_links).collect()
    };
    assert_eq!(about("good/SKILL.md"), []);
    assert_eq!(about("GUIDE.md"), [Code::LinkUpwards], "it resolves, but not on every host");
    assert_eq!(about("missing/SKILL.md"), [Code::LinkMissing]);
    assert_eq!(about("leaving/SKILL.md"), [Code::LinkNotPortable]);
    assert_eq!(about("absolute/SKILL.md"), [Code::LinkNotPortable]);
}
