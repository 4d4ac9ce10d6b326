//! Resources that are read by their URIs: files of approved skills, and what is part of no skill.

use serde_json::json;
use skillwire_host::Host;
use skillwire_testkit::{Fault, HostileServer};
use skillwire_trust::{Action, Decision, LockFile, Reason, Refusal};

use super::support::{KeptAudit, Shortcuts as _, User, endpoint, host, host_from, label};

/// The file of a skill that the tests read.
const NOTES: &str = "skill://team/refunds/notes.md";

fn server() -> HostileServer {
    let server = HostileServer::new().skill("team/refunds", [("notes.md", "pay them all")]);
    server.resource("docs://readme", "plain")
}

async fn read(host: &Host, uri: &str) -> Result<String, Refusal> {
    let read = host.read_resource(&label("acme"), uri).await?;
    Ok(String::from_utf8(read.bytes().to_vec()).unwrap())
}

async fn reason(host: &Host, uri: &str) -> Reason {
    read(host, uri).await.unwrap_err().reason
}

#[tokio::test]
async fn no_spelling_of_its_uri_reads_a_file_of_a_skill_before_it_is_approved_hst_38() {
    let server = server();
    let host = host(&server);
    for spelling in [
        NOTES,
        "skill://team/refunds/SKILL.md",
        "skill://team/refunds/unlisted.md",
        "SKILL://team/refunds/NOTES.md",
        "skill://team/%72efunds/notes.md",
        "skill://team/%2572efunds/notes.md",
        "skill://team//refunds/notes.md?v=1",
    ] {
        assert_eq!(reason(&host, spelling).await, Reason::NotApproved, "{spelling}");
    }
    // What looks like a skill that no listing has is not read either.
    for hidden in ["skill://team/hidden/SKILL.md", "docs://x/SKILL.md"] {
        assert!(read(&host, hidden).await.is_err(), "{hidden}");
    }
    assert_eq!(server.count("resources/read"), 0, "{:?}", server.methods());
    assert_eq!(read(&host, "docs://readme").await.unwrap(), "plain");
}

#[tokio::test]
async fn a_uri_that_servers_understand_differently_is_not_read_hst_38() {
    let server = HostileServer::new().skill("docs://team/refunds", [("notes.md", "pay them all")]);
    let host = host(&server);
    for spelling in [
        "docs://team/../refunds/notes.md",
        "docs://team/%3F/../refunds/notes.md",
        "docs://team/x%2F..%2F/refunds/notes.md",
        "docs:\\\\team\\refunds\\notes.md",
        "do\tcs://team/refunds/SK\tILL.md",
        "docs://team/re\nfunds/notes.md",
        "docs://team/re%0Afunds/notes.md",
        " docs://team/refunds/notes.md",
    ] {
        // Libraries drop and resolve these in their own ways.
        server.set_fault(Fault::read_bytes(spelling, "pay them all"));
        assert_eq!(reason(&host, spelling).await, Reason::ToolInputInvalid, "{spelling:?}");
    }
    assert_eq!(server.count("resources/read"), 0, "{:?}", server.methods());
}

#[tokio::test]
async fn files_of_a_skill_whose_entry_is_refused_are_not_read_hst_38() {
    const SKILL: &str = "docs://team/refunds/SKILL.md";
    const FILE: &str = "docs://team/refunds/notes.md";
    let honest = || HostileServer::new().skill("docs://team/refunds", [("notes.md", "pay")]);
    let digest = json!({ "resources": [{ "uri": SKILL, "digest": "sha256:zz", "size": 1 }] });
    let named = honest().fault(Fault::entry(SKILL, digest));
    assert_eq!(reason(&host(&named), FILE).await, Reason::DigestInvalid);
    assert_eq!(named.count("resources/read"), 0);
    // What lies elsewhere is read all the same.
    let named = named.resource("docs://team/readme.md", "plain");
    assert_eq!(read(&host(&named), "docs://team/readme.md").await.unwrap(), "plain");
    // An entry that does not say which skill it is about may be about any.
    let entry = json!({ "uri": "docs://team/Not A Name/SKILL.md", "frontmatter": {} });
    let unnamed = honest().fault(Fault::AlsoListed(entry)).resource("docs://readme", "plain");
    assert_eq!(reason(&host(&unnamed), "docs://readme").await, Reason::UriInvalid);
    assert_eq!(unnamed.count("resources/read"), 0);
}

#[tokio::test]
async fn a_read_that_is_refused_anyway_asks_the_user_nothing_hst_76() {
    let (one, two) = (server(), server());
    let user = User::yes();
    let host = host_from(Host::builder().prompter(user.clone()), &one);
    host.add_server(label("beta"), endpoint(&two));
    let _window = host.window("acme:refunds").await.unwrap();
    let asked = user.questions().len();
    let refusal = host.read_resource(&label("beta"), NOTES).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::NotApproved);
    assert_eq!(user.questions().len(), asked);
    host.read_resource(&label("beta"), "docs://readme").await.unwrap();
    assert_eq!(user.questions().len(), asked + 1);
}

#[tokio::test]
async fn a_second_uri_of_a_skills_bytes_is_read_only_once_the_skill_is_approved_hst_38() {
    let server = server().resource("docs://copy", "pay them all");
    let host = host(&server);
    assert_eq!(reason(&host, "docs://copy").await, Reason::NotApproved);
    host.approved_now("acme:refunds").await.unwrap();
    assert_eq!(read(&host, "docs://copy").await.unwrap(), "pay them all");
}

#[tokio::test]
async fn only_the_approved_bytes_of_a_skills_file_are_read_hst_38() {
    let server = server();
    let host = host(&server);
    host.approved_now("acme:refunds").await.unwrap();
    let file = host.read_resource(&label("acme"), NOTES).await.unwrap();
    assert_eq!(&file.bytes()[..], b"pay them all");
    assert_eq!(file.skill().unwrap().uri.as_str(), "skill://team/refunds/SKILL.md");
    assert_eq!(file.media_type(), Some("text/markdown"));
    let plain = host.read_resource(&label("acme"), "docs://readme").await.unwrap();
    assert!(plain.skill().is_none());
    assert!(host.open_windows().is_empty(), "nothing is loaded");
    let unlisted = "skill://team/refunds/unlisted.md";
    assert_eq!(reason(&host, unlisted).await, Reason::FileNotListed);
    // The entry stays, and the server sends other bytes.
    let other = super::support::host_from(Host::builder(), &server);
    other.approved_now("acme:refunds").await.unwrap();
    server.set_fault(Fault::read_bytes(NOTES, "pay me alone"));
    assert_eq!(reason(&other, NOTES).await, Reason::DigestMismatch);
}

#[tokio::test]
async fn with_a_lock_file_only_files_of_locked_skills_are_read_hst_88() {
    let server = server();
    let host = host_from(Host::builder().lock(Some(LockFile::default())), &server);
    assert_eq!(reason(&host, NOTES).await, Reason::NotLocked);
    assert_eq!(reason(&host, "docs://readme").await, Reason::ResourceNotLocked);
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_server_whose_skills_are_not_all_known_is_not_read_hst_38() {
    let server = server().skill("second", [("x.md", "x")]).fault(Fault::PageSize(1));
    let budgets = skillwire_host::Budgets::default().with_pages(1);
    let builder = Host::builder().policy(skillwire_host::Policy::default().with_budgets(budgets));
    let host = host_from(builder, &server);
    assert_eq!(reason(&host, "docs://readme").await, Reason::BudgetExhausted);
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn every_read_of_a_resource_is_in_the_log_hst_38() {
    let server = server();
    let audit = KeptAudit::default();
    let host = host_from(Host::builder().audit(audit.clone()), &server);
    read(&host, "docs://readme").await.unwrap();
    read(&host, NOTES).await.unwrap_err();
    host.approved_now("acme:refunds").await.unwrap();
    read(&host, NOTES).await.unwrap();
    let events = audit.events();
    let reads = events.iter().filter(|event| event.action == Action::ReadResource);
    let reads: Vec<_> = reads.map(|it| (it.decision, it.reason, it.skill.is_some())).collect();
    let refused = Some(Reason::NotApproved);
    let allowed = Decision::Allowed;
    let expected =
        [(allowed, None, false), (Decision::Refused, refused, false), (allowed, None, true)];
    assert_eq!(reads, expected);
}
