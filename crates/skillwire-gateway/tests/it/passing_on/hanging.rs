//! Clients that read files of a server that does not answer.

use std::time::Duration;

use futures_util::future::join_all;
use skillwire_testkit::{HostileServer, ScriptedReply};
use skillwire_trust::{Budgets, Policy};
use tokio::time::timeout;

use super::support::{PATIENCE, Plan};

/// How long one answer of the server may take in this test.
const ANSWER_TIME: Duration = Duration::from_secs(2);

fn plan() -> Plan {
    let budgets = Budgets::default().with_answer_time(ANSWER_TIME);
    Plan {
        policy: Policy::default().with_entry_text(true).with_budgets(budgets),
        ..Plan::default()
    }
}

#[tokio::test]
async fn readers_of_one_file_at_a_hanging_server_share_one_deadline_sec_03() {
    let server = HostileServer::new()
        .skill("refunds", [("x", "x")])
        .on("resources/read", |_, _| ScriptedReply::Never);
    let gateway = plan().start(&[("acme", &server)]).await;
    let readers = (0..8).map(|_| gateway.read("skill://acme/refunds/x"));
    let read = timeout(PATIENCE, join_all(readers)).await.expect("no reader waits for another");
    assert!(read.iter().all(|reply| reply.code() == -32603), "{read:?}");
    // Readers that were served one after another would each have asked the server.
    assert_eq!(server.count("resources/read"), 1);
}

#[tokio::test]
async fn readers_of_many_files_at_a_hanging_server_have_a_deadline_each_sec_03() {
    let files: Vec<(String, String)> =
        (0..40).map(|n| (format!("f{n}"), format!("content {n}"))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let server = HostileServer::new()
        .skill("refunds", files)
        .on("resources/read", |_, _| ScriptedReply::Never);
    let gateway = plan().start(&[("acme", &server)]).await;
    let uris: Vec<String> = (0..40).map(|n| format!("skill://acme/refunds/f{n}")).collect();
    let readers = uris.iter().map(|uri| gateway.read(uri));
    let read = timeout(PATIENCE, join_all(readers)).await.expect("no reader waits for another");
    assert!(read.iter().all(|reply| reply.code() == -32603), "{read:?}");
    // The server gets 16 requests at a time. The others used to wait for their turn and then for an
    // answer, so that the server got them all; now their time is over by then, but for those that began
    // a moment later.
    let asked = server.count("resources/read");
    assert!((16..40).contains(&asked), "{asked}");
}
