//! How the host finds a server's dialect, and what it never asks for.

use serde_json::json;
use skillwire_dialects::Dialect;
use skillwire_protocol::SKILLS_EXTENSION;
use skillwire_testkit::{Fault, HostileServer, OlderDialect, ScriptedReply, archives::refunds};
use skillwire_trust::{Reason, Remedy};

use super::{WITH_FILES, legacy_host};
use crate::support::{Shortcuts, host, label};

#[tokio::test]
async fn to_d10_each_dialect_is_found_and_its_skill_loaded_d2() {
    for (older, dialect) in [
        (OlderDialect::Draft, Dialect::Draft),
        (OlderDialect::Index, Dialect::Index),
        (OlderDialect::IndexOfFiles, Dialect::Index),
        (OlderDialect::IndexOfArchives, Dialect::Index),
        (OlderDialect::EarlyIndex, Dialect::EarlyIndex),
        (OlderDialect::EarlyIndexWithoutDigests, Dialect::EarlyIndex),
        (OlderDialect::EarlyIndexOfArchives, Dialect::EarlyIndex),
        (OlderDialect::ScopedList, Dialect::ScopedList),
        (OlderDialect::Sep2076, Dialect::Sep2076),
        (OlderDialect::SkillsPage, Dialect::SkillsPage),
        (OlderDialect::FastMcp, Dialect::FastMcp),
        (OlderDialect::Skilljack, Dialect::Skilljack),
        (OlderDialect::SkillsOverMcp, Dialect::SkillsOverMcp),
        (OlderDialect::PlainResources, Dialect::PlainResources),
    ] {
        let server = HostileServer::with_dialect(older);
        let host = legacy_host(&server);
        let listing = host.list(&label("acme")).await.unwrap();
        assert_eq!(listing.dialect, Some(dialect), "{older:?}");
        assert_eq!(listing.refused, [], "{older:?}");
        assert_eq!(listing.skills.len(), 1, "{older:?}");
        let window = host.window("acme:refunds").await.unwrap_or_else(|e| panic!("{older:?}: {e}"));
        let text = String::from_utf8(window.skill_file().bytes().to_vec()).unwrap();
        assert!(text.ends_with("Answer with `examples/email.md`.\n"), "{older:?}: {text}");
        let read = window.read("examples/email.md").await;
        let read = read.unwrap_or_else(|e| panic!("{older:?}: {e}"));
        assert_eq!(&read.bytes()[..], refunds()[1].1.as_bytes(), "{older:?}");
        assert_eq!(server.complaints(), [""; 0], "{older:?}");
    }
}

#[tokio::test]
async fn a_usage_resource_is_a_guide_that_needs_approval_like_any_skill_d10() {
    let server = HostileServer::with_dialect(OlderDialect::Usage);
    let host = legacy_host(&server);
    let listing = host.list(&label("acme")).await.unwrap();
    assert_eq!(listing.dialect, Some(Dialect::Usage));
    let listed = host.named("acme:folk-usage").await.unwrap();
    assert!(listed.integrity().is_first_seen());
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::NotApproved);
    let window = host.window("acme:folk-usage").await.unwrap();
    assert_eq!(&window.skill_file().bytes()[..], b"# How to use the tools\n");
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::FileNotListed);
}

#[tokio::test]
async fn without_the_users_word_nobody_looks_through_resources_c_19() {
    for older in [
        OlderDialect::FastMcp,
        OlderDialect::Skilljack,
        OlderDialect::SkillsOverMcp,
        OlderDialect::Usage,
        OlderDialect::PlainResources,
    ] {
        let server = HostileServer::with_dialect(older);
        let refusal = host(&server).list(&label("acme")).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::SkillsNotOffered, "{older:?}");
        assert!(matches!(refusal.remedy.as_deref(), Some(Remedy::SearchResources(_))), "{older:?}");
        let methods = server.methods();
        assert!(!methods.iter().any(|method| method.starts_with("resources/")), "{methods:?}");
    }
}

#[tokio::test]
async fn no_probe_goes_to_a_server_that_did_not_declare_what_it_needs_lad_09() {
    let bare = json!({ "extensions": { SKILLS_EXTENSION: {} } });
    let server = HostileServer::new().fault(Fault::Capabilities(bare)).without_v1();
    let host = legacy_host(&server);
    assert!(host.list(&label("acme")).await.is_err());
    assert_eq!(server.count("resources/read") + server.count("resources/list"), 0);
    let nothing = HostileServer::new().fault(Fault::Capabilities(json!({})));
    let refusal = legacy_host(&nothing).list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
    assert!(
        !nothing.methods().iter().any(|m| m.starts_with("resources/") || m.starts_with("skills/"))
    );
}

#[tokio::test]
async fn the_released_extension_ends_it_even_when_empty_lad_01() {
    let none: [(&str, &str); 0] = [];
    let server = HostileServer::new()
        .skill("x", none)
        .fault(Fault::ListsNothing)
        .resource("skill://index.json", json!({ "skills": [] }).to_string());
    let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
    assert_eq!((listing.dialect, listing.skills.len()), (Some(Dialect::V1), 0));
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_skill_appears_once_however_many_dialects_fit_c_48() {
    let server = HostileServer::with_dialect(OlderDialect::FastMcp)
        .resource("skill://refunds", refunds()[0].1)
        .resource("skill://refunds/", "x");
    let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
    let uris: Vec<_> = listing.skills.iter().map(|skill| skill.id().uri.as_str()).collect();
    assert_eq!(uris, ["skill://refunds/SKILL.md"]);
    assert_eq!(listing.dialect, Some(Dialect::FastMcp));
}

#[tokio::test]
async fn a_path_that_differs_from_the_name_is_accepted_from_a_scoped_list_alone_c_18() {
    let uri = "skill://acme/somewhere/SKILL.md";
    let listed = json!({ "resources": [{ "uri": uri, "name": "refunds" }] });
    let server = HostileServer::with_dialect(OlderDialect::ScopedList)
        .resource(uri, refunds()[0].1)
        .on("resources/list", move |_, _| ScriptedReply::Result(listed.clone()));
    let host = legacy_host(&server);
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!((listed.name().as_str(), listed.id().uri.as_str()), ("refunds", uri));
    assert!(listed.integrity().is_first_seen());
    assert!(host.window("acme:refunds").await.is_ok());
    // The same URI in an index contradicts the name of its entry.
    let entry = json!({ "type": "skill-md", "name": "refunds", "url": uri, "description": "x" });
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndex);
    server.set_resource("skill://index.json", json!({ "skills": [entry] }).to_string());
    let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
    assert_eq!(listing.refused[0].reason, Reason::NameMismatch);
}

#[tokio::test]
async fn nothing_is_read_ahead_of_need_c_32() {
    for older in WITH_FILES {
        let server = HostileServer::with_dialect(older);
        let host = legacy_host(&server);
        host.list(&label("acme")).await.unwrap();
        let reads = |server: &HostileServer| {
            let log = server.log();
            let uris = log.iter().filter_map(|logged| logged.params["uri"].as_str());
            let files = ["SKILL.md", "email.md", "calc.py"];
            uris.filter(|uri| files.iter().any(|file| uri.ends_with(file))).count()
        };
        assert_eq!(reads(&server), 0, "{older:?} at listing");
        host.approved_now("acme:refunds").await.unwrap();
        let others = server.log().into_iter().filter(|logged| {
            logged.params["uri"].as_str().is_some_and(|uri| uri.ends_with("email.md"))
        });
        assert_eq!(others.count(), 0, "{older:?} at approval");
    }
}

#[tokio::test]
async fn whatever_type_a_skill_file_is_sent_as_it_is_one_c_38() {
    let uri = "skill://acme/billing/refunds/SKILL.md";
    for kind in [json!("text/plain"), json!("text/x-markdown"), json!(null), json!("image/png")] {
        let text = refunds()[0].1;
        let content = json!({ "contents": [{ "uri": uri, "mimeType": kind, "text": text }] });
        let server = HostileServer::with_dialect(OlderDialect::Index)
            .fault(Fault::ReadResult { uri: uri.to_owned(), result: content });
        assert!(host(&server).window("acme:refunds").await.is_ok(), "{kind}");
    }
}
