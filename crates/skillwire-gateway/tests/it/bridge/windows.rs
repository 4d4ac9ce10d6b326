//! Windows: their content does not change while they are open, and they are closed when they should
//! be.

use std::sync::Arc;

use serde_json::json;
use skillwire_host::local;
use skillwire_testkit::{SkillFolder, StdioClient, modern_request};

use super::support::{Bridged, done, host, load, refunds, refused, window, yes};

#[tokio::test]
async fn a_window_is_carried_by_its_word_and_not_by_the_connection() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let (_, loaded) = bridged.modern(true).call_and_answer("load_skill", load(), yes()).await;
    let word = window(&loaded);
    assert_eq!(word.len(), 17, "it cannot be guessed");
    let mut other = StdioClient::in_process(Arc::clone(&bridged.engine));
    let arguments = json!({ "window": word, "path": "references/x.md" });
    let params = json!({ "name": "read_skill_file", "arguments": arguments });
    let read = other.request(&modern_request(1, "tools/call", params)).await;
    assert!(done(read.result()).contains("details"));
}

#[tokio::test]
async fn every_load_shows_the_text_since_a_client_has_many_conversations() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let (_, first) = client.call_and_answer("load_skill", load(), yes()).await;
    let second = client.call("load_skill", load()).await;
    assert!(done(&second).contains("<mcp_skill"), "{second}");
    assert_ne!(window(&first), window(&second));
    client.call("unload_skill", json!({ "window": window(&first) })).await;
    let read = |window: String| json!({ "window": window, "path": "references/x.md" });
    done(&client.call("read_skill_file", read(window(&second))).await);
    let closed = client.call("read_skill_file", read(window(&first))).await;
    assert_eq!(refused(&closed), "window_closed");
}

#[tokio::test]
async fn windows_of_a_legacy_session_end_with_it() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.legacy(true).await;
    let (_, loaded) = client.call_and_answer("load_skill", load(), yes()).await;
    assert_eq!(bridged.bridge.host().open_windows().len(), 1);
    client.client.close().await;
    assert!(bridged.bridge.host().open_windows().is_empty());
    let read = json!({ "window": window(&loaded), "path": "references/x.md" });
    let closed = bridged.modern(true).call("read_skill_file", read).await;
    assert_eq!(refused(&closed), "window_closed");
}

#[tokio::test]
async fn a_path_outside_the_skill_or_its_manifest_is_refused_hst_44() {
    let server = refunds().skill("other", [("secret.md", "x")]);
    let bridged = Bridged::over(host(&server));
    bridged.settled(&["acme:refunds", "acme:other"]).await;
    let mut client = bridged.modern(true);
    let (_, loaded) = client.call_and_answer("load_skill", load(), yes()).await;
    let before = server.count("resources/read");
    for (path, code) in [
        ("../../other/secret.md", "path_outside_skill"),
        ("/etc/passwd", "path_outside_skill"),
        ("references/y.md", "file_not_listed"),
    ] {
        let read = json!({ "window": window(&loaded), "path": path });
        assert_eq!(refused(&client.call("read_skill_file", read).await), code, "{path}");
    }
    assert_eq!(server.count("resources/read"), before);
    let listed = client.call("list_skill_files", json!({ "window": window(&loaded) })).await;
    assert_eq!(done(&listed), "Files of acme:refunds:\n- references/\n- SKILL.md\n");
}

#[tokio::test]
async fn an_approval_that_is_withdrawn_ends_reads_of_open_windows() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.modern(true);
    let (_, loaded) = client.call_and_answer("load_skill", load(), yes()).await;
    let host = bridged.bridge.host();
    let skill = host.open_windows()[0].skill().clone();
    host.revoke(&skill).unwrap();
    let read = json!({ "window": window(&loaded), "path": "references/x.md" });
    assert_eq!(refused(&client.call("read_skill_file", read).await), "not_approved");
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
