//! The host remembers a server's dialect, and finds it out again when it may have changed.

use std::time::Duration;

use serde_json::json;
use skillwire_dialects::Dialect;
use skillwire_host::{Host, verification::VerifyOptions};
use skillwire_protocol::SKILLS_EXTENSION;
use skillwire_state::FileDialects;
use skillwire_testkit::{Fault, HostileServer, OlderDialect, ScriptedReply};
use skillwire_trust::{DialectMemory as _, KnownDialect};

use crate::support::{SetClock, host_from, label};

/// Creates a host that remembers in a folder, like another process of the same user.
fn next_run(folder: &tempfile::TempDir, server: &HostileServer) -> Host {
    server.clear_log();
    let memory = FileDialects::new(folder.path().join("dialects"));
    host_from(Host::builder().dialects(memory), server)
}

/// Lists `acme`; returns the dialect and the requests that it took.
async fn listed(host: &Host, server: &HostileServer) -> (Option<Dialect>, Vec<String>) {
    let listing = host.list(&label("acme")).await.unwrap();
    let asked = |method: &String| method.contains('/') && !method.starts_with("notifications/");
    let methods = server.methods().into_iter().filter(asked);
    (listing.dialect, methods.filter(|method| method != "server/discover").collect())
}

#[tokio::test]
async fn the_dialect_is_remembered_between_processes_lad_08() {
    for (older, dialect, first, later) in [
        (OlderDialect::Index, Dialect::Index, &["skills/list", "resources/read"][..], 1),
        (
            OlderDialect::ScopedList,
            Dialect::ScopedList,
            &["skills/list", "resources/read", "resources/list"],
            1,
        ),
        (OlderDialect::Sep2076, Dialect::Sep2076, &["skills/list", "skills/get"], 1),
        (OlderDialect::Draft, Dialect::Draft, &["skills/list"], 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = HostileServer::with_dialect(older);
        let found = listed(&next_run(&folder, &server), &server).await;
        let first: Vec<String> = first.iter().map(|method| (*method).to_owned()).collect();
        assert_eq!(found, (Some(dialect), first), "{older:?} at first");
        let (again, methods) = listed(&next_run(&folder, &server), &server).await;
        assert_eq!((again, methods.len()), (Some(dialect), later), "{older:?}: {methods:?}");
    }
}

#[tokio::test]
async fn a_running_host_does_not_climb_again_for_each_listing_lad_08() {
    let server = HostileServer::with_dialect(OlderDialect::ScopedList);
    let clock = SetClock::default();
    let host = host_from(Host::builder().clock(clock.clone()), &server);
    listed(&host, &server).await;
    server.clear_log();
    clock.advance(Duration::from_hours(1));
    let (dialect, methods) = listed(&host, &server).await;
    assert_eq!((dialect, methods), (Some(Dialect::ScopedList), vec!["resources/list".to_owned()]));
}

#[tokio::test]
async fn a_server_that_describes_itself_differently_is_climbed_anew_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    let server = HostileServer::with_dialect(OlderDialect::Index);
    listed(&next_run(&folder, &server), &server).await;
    let more = json!({ "resources": {}, "tools": {}, "extensions": { SKILLS_EXTENSION: {} } });
    server.set_fault(Fault::Capabilities(more));
    let (_, methods) = listed(&next_run(&folder, &server), &server).await;
    assert_eq!(methods, ["skills/list", "resources/read"]);
    // A change of what the user allows also makes the host try every dialect again.
    let host = next_run(&folder, &server);
    host.allow_legacy_discovery(&label("acme")).unwrap();
    let (_, methods) = listed(&host, &server).await;
    assert_eq!(methods, ["skills/list", "resources/read"]);
}

#[tokio::test]
async fn a_server_that_no_longer_answers_as_it_did_is_climbed_anew_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    let server = HostileServer::with_dialect(OlderDialect::ScopedList);
    listed(&next_run(&folder, &server), &server).await;
    // The server has an index now and does not declare it; the scope is empty.
    let server = HostileServer::with_dialect(OlderDialect::Index)
        .on("resources/list", |_, _| ScriptedReply::Result(json!({ "resources": [] })));
    let (dialect, methods) = listed(&next_run(&folder, &server), &server).await;
    assert_eq!(dialect, Some(Dialect::Index));
    assert_eq!(methods, ["resources/list", "skills/list", "resources/read"]);
    let (dialect, methods) = listed(&next_run(&folder, &server), &server).await;
    assert_eq!((dialect, methods.len()), (Some(Dialect::Index), 1));
}

#[tokio::test]
async fn what_is_remembered_never_has_a_server_asked_for_what_it_did_not_declare_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    let server = HostileServer::with_dialect(OlderDialect::Index);
    listed(&next_run(&folder, &server), &server).await;
    let memory = FileDialects::new(folder.path().join("dialects"));
    let described = memory.recall(&label("acme")).unwrap().described;
    // Another program writes any dialect into the user's folder, even with the right description.
    for dialect in Dialect::ALL {
        memory.remember(&label("acme"), KnownDialect { described, dialect }).unwrap();
        listed(&next_run(&folder, &server), &server).await;
        for asked in server.log() {
            let everything = asked.method == "resources/list" && asked.params["uri"].is_null();
            let by_name = ["skills/get", "skills/read"].contains(&asked.method.as_str());
            assert!(!everything && !by_name, "{dialect:?}: {asked:?}");
        }
    }
}

#[tokio::test]
async fn the_wrong_one_of_two_dialects_by_name_is_found_out_and_forgotten_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    let server = HostileServer::with_dialect(OlderDialect::Sep2076);
    listed(&next_run(&folder, &server), &server).await;
    // The declaration is the same, but the dialect has changed.
    let named = |asked: &skillwire_testkit::ReceivedRequest| asked.params["name"] == "refunds";
    let skill = json!({ "skill": {
        "name": "refunds", "description": "Refunds.", "instructions": "# Refunds\n",
    } });
    let unknown = || ScriptedReply::Error { code: -32601, message: "No such method.".to_owned() };
    let server = HostileServer::with_dialect(OlderDialect::Sep2076)
        .on("skills/get", move |_, _| unknown())
        .on("skills/read", move |asked, _| {
            if named(asked) {
                ScriptedReply::Result(skill.clone())
            } else {
                ScriptedReply::error(-32002)
            }
        });
    let host = next_run(&folder, &server);
    let handle = skillwire_trust::Handle::parse("acme:refunds").unwrap();
    assert!(host.resolve(&handle).await.is_err(), "it was remembered as the other one");
    let listed = host.resolve(&handle).await.unwrap();
    assert_eq!(listed.dialect(), Dialect::SkillsPage);
}

#[tokio::test]
async fn removing_a_server_forgets_its_dialect_and_verifying_does_not_rely_on_it_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    let server = HostileServer::with_dialect(OlderDialect::Index);
    let host = next_run(&folder, &server);
    listed(&host, &server).await;
    server.clear_log();
    host.verify(&label("acme"), VerifyOptions::default(), &|_| {}).await.unwrap();
    assert_eq!(server.count("skills/list"), 1, "from the top");
    let memory = FileDialects::new(folder.path().join("dialects"));
    assert!(memory.recall(&label("acme")).is_some());
    host.remove_server(&label("acme")).unwrap();
    assert_eq!(memory.recall(&label("acme")), None);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_costs_requests_and_nothing_else_lad_08() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dialects"), "in the way").unwrap();
    let server = HostileServer::with_dialect(OlderDialect::Index);
    for _ in 0..2 {
        let (dialect, methods) = listed(&next_run(&folder, &server), &server).await;
        assert_eq!((dialect, methods.len()), (Some(Dialect::Index), 2));
    }
}
