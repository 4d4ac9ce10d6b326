//! Windows: a conversation gets no file of content it has not seen, and reads by handle.

use std::sync::Arc;

use serde_json::json;
use skillwire_host::local;
use skillwire_testkit::SkillFolder;
use skillwire_trust::MemoryRecords;

use super::support::{Bridged, done, host, host_with, load, read, refunds, refused, yes};

const SKILL: &str = "---\nname: refunds\ndescription: Refunds.\n---\nBody.\n";

#[tokio::test]
async fn files_are_read_by_handle_also_after_the_bridge_was_restarted_cl_10() {
    let records = Arc::new(MemoryRecords::default());
    let bridged = Bridged::over(host_with(&refunds(), &records));
    bridged.settled(&["acme:refunds"]).await;
    let (_, loaded) = bridged.modern(true).call_and_answer("load_skill", load(), yes()).await;
    done(&loaded);
    let restarted = Bridged::over(host_with(&refunds(), &records));
    restarted.settled(&["acme:refunds"]).await;
    let mut client = restarted.legacy(false).await;
    let file = client.call("read_skill_file", read("references/x.md")).await;
    assert!(done(&file).contains("details"), "{file}");
    let listed = client.call("list_skill_files", load()).await;
    assert!(done(&listed).contains("- references/"), "{listed}");
}

#[tokio::test]
async fn a_skill_that_is_not_approved_is_not_read_by_handle_either_hst_68() {
    let server = refunds();
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(false);
    let file = client.call("read_skill_file", read("references/x.md")).await;
    assert_eq!(refused(&file), "not_approved");
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_cl_10() {
    let long = "0123456789".repeat(5_000);
    let server = refunds();
    server.set_skill("acme/refunds", [("SKILL.md", SKILL), ("long.txt", long.as_str())]);
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.legacy_called("codex-mcp-client", true).await;
    client.call_and_answer("load_skill", load(), yes()).await;
    let first = client.call("read_skill_file", read("long.txt")).await;
    assert!(done(&first).contains("characters 0 to 10000 of 50000; read on with offset 10000"));
    let mut arguments = read("long.txt");
    arguments["offset"] = 49_990.into();
    arguments["limit"] = "20".into();
    let last = client.call("read_skill_file", arguments).await;
    assert!(done(&last).contains("characters 49990 to 50000 of 50000\n"), "{last}");
}

#[tokio::test]
async fn every_load_shows_the_text_since_a_client_has_many_conversations() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    client.call_and_answer("load_skill", load(), yes()).await;
    let second = client.call("load_skill", load()).await;
    assert!(done(&second).contains("<mcp_skill"), "{second}");
    assert_eq!(bridged.bridge.host().open_windows().len(), 1);
    let unloaded = client.call("unload_skill", load()).await;
    assert_eq!(done(&unloaded), "The skill acme:refunds is unloaded.\n");
    assert!(bridged.bridge.host().open_windows().is_empty());
    let again = client.call("unload_skill", load()).await;
    assert_eq!(done(&again), "The skill acme:refunds was not loaded.\n");
}

#[tokio::test]
async fn windows_of_a_legacy_session_end_with_it() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.legacy(true).await;
    client.call_and_answer("load_skill", load(), yes()).await;
    assert_eq!(bridged.bridge.host().open_windows().len(), 1);
    client.client.close().await;
    assert!(bridged.bridge.host().open_windows().is_empty());
}

#[tokio::test]
async fn a_path_outside_the_skill_or_its_manifest_is_refused_hst_44() {
    let server = refunds().skill("other", [("secret.md", "x")]);
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds", "acme:other"]).await;
    let mut client = bridged.modern(true);
    client.call_and_answer("load_skill", load(), yes()).await;
    let before = server.count("resources/read");
    for (path, code) in [
        ("../../other/secret.md", "path_outside_skill"),
        ("/etc/passwd", "path_outside_skill"),
        ("references/y.md", "file_not_listed"),
    ] {
        assert_eq!(refused(&client.call("read_skill_file", read(path)).await), code, "{path}");
    }
    assert_eq!(server.count("resources/read"), before);
    let listed = client.call("list_skill_files", load()).await;
    assert_eq!(done(&listed), "Files of acme:refunds:\n- references/\n- SKILL.md\n");
}

#[tokio::test]
async fn an_approval_that_is_withdrawn_ends_reads_of_open_windows() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    client.call_and_answer("load_skill", load(), yes()).await;
    let host = bridged.bridge.host();
    let skill = host.open_windows()[0].skill().clone();
    host.revoke(&skill).unwrap();
    let file = client.call("read_skill_file", read("references/x.md")).await;
    assert_eq!(refused(&file), "not_approved");
}

#[tokio::test]
async fn a_skill_of_a_folder_that_changed_is_read_as_it_is_now() {
    let home = SkillFolder::new();
    let write = |body: &str| {
        let text = format!("---\nname: notes\ndescription: Notes.\n---\n{body}\n");
        home.file(".agents/skills/notes/SKILL.md", &text);
    };
    write("first");
    let host = skillwire_host::Host::builder().build();
    host.set_folders(local::discover(Some(home.path()), None));
    let bridged = Bridged::over(host);
    bridged.settled(&["local:notes"]).await;
    let mut client = bridged.modern(false);
    let name = json!({ "name": "local:notes" });
    assert!(done(&client.call("load_skill", name.clone()).await).contains("first"));
    write("second");
    bridged.bridge.host().set_folders(local::discover(Some(home.path()), None));
    bridged.bridge.look_again();
    while !done(&client.call("load_skill", name.clone()).await).contains("second") {}
}
