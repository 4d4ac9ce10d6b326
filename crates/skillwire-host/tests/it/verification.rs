//! The verification of a whole server: what it reports, and what it does not.

use std::sync::Mutex;

use serde_json::json;
use skillwire_dialects::Dialect;
use skillwire_host::{
    Host,
    verification::{Demand, Progress, Verification, VerifyOptions},
};
use skillwire_testkit::{Fault, HostileServer, OlderDialect, ScriptedReply, archives};
use skillwire_trust::Reason;

use crate::support::{host, host_from, label};

const SKILL_MD: &str = "skill://refunds/SKILL.md";
const X: &str = "skill://refunds/x.md";

fn refunds() -> HostileServer {
    HostileServer::new()
        .skill("refunds", [("x.md", "details"), ("dir/y.md", "more")])
        .fault(Fault::DirectoryRead(json!(true)))
}

async fn verified_by(host: &Host) -> Verification {
    host.verify(&label("acme"), VerifyOptions::default(), &|_| {})
        .await
        .expect("the server can be listed")
}

async fn verified(server: &HostileServer) -> Verification {
    verified_by(&host(server)).await
}

/// Returns the demand, reason and place of each finding.
fn findings(found: &Verification) -> Vec<(Demand, Reason, Option<&str>)> {
    let all = found.findings.iter();
    all.map(|f| (f.demand, f.refusal.reason, f.refusal.file.as_deref())).collect()
}

fn error_if(wrong: bool, code: i64) -> ScriptedReply {
    if wrong { ScriptedReply::error(code) } else { ScriptedReply::Honest }
}

#[tokio::test]
async fn an_honest_server_passes_and_nothing_is_approved_or_loaded_hst_86() {
    let server = refunds().skill("other", [("z.md", "z")]);
    let audit = crate::support::KeptAudit::default();
    let host = host_from(Host::builder().audit(audit.clone()), &server);
    let steps = Mutex::new(Vec::new());
    let step = |progress| steps.lock().unwrap().push(progress);
    let found = host.verify(&label("acme"), VerifyOptions::default(), &step).await.unwrap();
    assert_eq!(findings(&found), []);
    assert!(found.passed());
    // Each skill also has a `SKILL.md`.
    assert_eq!((found.skills, found.files, found.dynamic), (2, 5, 0));
    let steps = steps.into_inner().unwrap();
    assert_eq!(steps, [Progress { done: 1, total: 2 }, Progress { done: 2, total: 2 }]);
    assert!(host.open_windows().is_empty());
    assert!(audit.events().is_empty());
    let listed = host.list(&label("acme")).await.unwrap();
    let approved = host.approved(listed.skills[0].certain().unwrap());
    assert_eq!(approved.unwrap_err().reason, Reason::NotApproved);
}

#[tokio::test]
async fn bytes_that_do_not_match_are_found_and_neighbours_still_counted_srv_52_h_31() {
    let found = verified(&refunds().fault(Fault::read_bytes(X, "DETAILS"))).await;
    assert_eq!(findings(&found), [(Demand::Must, Reason::DigestMismatch, Some(X))]);
    let refusal = &found.findings[0].refusal;
    assert!(refusal.expected.as_ref().unwrap().starts_with("sha256:"));
    assert_ne!(refusal.expected, refusal.actual);
    assert_eq!(found.files, 2, "the other files of the skill match");
    assert!(!found.passed());
}

#[tokio::test]
async fn a_file_that_only_a_directory_shows_makes_the_manifest_incomplete_srv_41() {
    let hidden = "skill://refunds/hidden.md";
    let children = ["SKILL.md", "x.md", "hidden.md"]
        .map(|name| json!({ "uri": format!("skill://refunds/{name}"), "name": name }));
    let directory = json!(
        { "uri": "skill://refunds/dir", "name": "dir", "mimeType": "inode/directory" }
    );
    let children = children.into_iter().chain([directory]).collect();
    let uri = "skill://refunds".to_owned();
    let found = verified(&refunds().fault(Fault::Children { uri, children })).await;
    assert_eq!(findings(&found), [(Demand::Must, Reason::ManifestIncomplete, Some(hidden))]);
}

#[tokio::test]
async fn a_listed_file_that_no_directory_shows_is_found_srv_82() {
    let uri = "skill://refunds/dir".to_owned();
    let found = verified(&refunds().fault(Fault::Children { uri, children: Vec::new() })).await;
    let y = "skill://refunds/dir/y.md";
    assert_eq!(findings(&found), [(Demand::Must, Reason::FileMissing, Some(y))]);
}

#[tokio::test]
async fn directories_are_left_alone_where_they_are_not_offered_hst_02() {
    let server = HostileServer::new().skill("refunds", [("x.md", "details")]);
    assert_eq!(findings(&verified(&server).await), []);
    assert_eq!(server.count("resources/directory/read"), 0);
}

#[tokio::test]
async fn other_errors_than_invalid_params_are_found_srv_57_srv_66_srv_73() {
    let missing = |demand, method| (demand, Reason::WrongErrorCode, Some(method));
    let absent = |uri: &str| uri.contains("no-such-skill");
    let server = refunds()
        .on("skills/get", move |asked, _| error_if(absent(asked.uri()), -32603))
        .on("resources/read", move |asked, _| error_if(absent(asked.uri()), -32002))
        .on("skills/list", |asked, _| error_if(asked.params["cursor"].is_string(), -32000));
    let found = verified(&server).await;
    assert_eq!(
        findings(&found),
        [
            missing(Demand::Must, "skills/get"),
            missing(Demand::Must, "resources/read"),
            missing(Demand::Should, "skills/list"),
        ]
    );
    assert!(found.findings[0].refusal.actual.as_ref().unwrap().contains("-32603"));
}

#[tokio::test]
async fn a_legacy_server_may_say_that_a_resource_is_not_there_in_its_own_words_srv_73() {
    let server = refunds().fault(Fault::LegacyOnly);
    assert_eq!(findings(&verified(&server).await), []);
}

#[tokio::test]
async fn a_server_that_minds_no_forged_cursor_still_passes_srv_57() {
    let server = refunds().on("skills/list", |asked, _| {
        let forged = asked.params["cursor"].is_string();
        if forged { ScriptedReply::Result(json!({ "skills": [] })) } else { ScriptedReply::Honest }
    });
    let found = verified(&server).await;
    let expected = (Demand::Should, Reason::WrongErrorCode, Some("skills/list"));
    assert_eq!(findings(&found), [expected]);
    assert!(found.passed());
}

#[tokio::test]
async fn another_entry_by_name_than_in_the_listing_is_found_srv_68() {
    let server = refunds();
    let mut entry = server.entry(SKILL_MD);
    entry["frontmatter"]["description"] = json!("Something else.");
    let uri = SKILL_MD.to_owned();
    let found = verified(&server.fault(Fault::Gets { uri, entry })).await;
    assert_eq!(findings(&found), [(Demand::Must, Reason::EntryInconsistent, None)]);
}

#[tokio::test]
async fn two_entries_for_one_skill_in_a_listing_are_found_hst_17_h_08() {
    let server = refunds();
    let mut entry = server.entry(SKILL_MD);
    entry["frontmatter"]["description"] = json!("Something else.");
    let found = verified(&server.fault(Fault::AlsoListed(entry))).await;
    let must: Vec<_> = findings(&found).into_iter().filter(|f| f.0 == Demand::Must).collect();
    assert_eq!(must, [(Demand::Must, Reason::EntryInconsistent, None)]);
}

#[tokio::test]
async fn an_entry_that_cannot_be_used_is_found_and_the_others_are_verified_hst_17() {
    let patch = json!({ "frontmatter": { "name": "Other" } });
    let server = refunds().skill("bad", [("x.md", "x")]);
    let found = verified(&server.fault(Fault::entry("skill://bad/SKILL.md", patch))).await;
    assert_eq!(findings(&found), [(Demand::Must, Reason::NameInvalid, None)]);
    assert_eq!((found.skills, found.files), (1, 3));
}

#[tokio::test]
async fn instructions_that_point_nowhere_are_a_finding_that_does_not_fail_srv_79() {
    let text = "Start with `skill://refunds/SKILL.md`, then skill://gone/SKILL.md.";
    let found = verified(&refunds().fault(Fault::Instructions(json!(text)))).await;
    assert_eq!(findings(&found), [(Demand::Should, Reason::InstructionsDangling, None)]);
    let actual = found.findings[0].refusal.actual.as_deref();
    assert_eq!(actual, Some("skill://gone/SKILL.md"));
    assert!(found.passed());
}

#[tokio::test]
async fn instructions_may_point_at_a_skill_that_is_not_listed_srv_79() {
    let hidden = "skill://hidden/SKILL.md".to_owned();
    let server = refunds()
        .skill("hidden", [("x.md", "x")])
        .fault(Fault::Instructions(json!(format!("Start with {hidden}."))))
        .fault(Fault::Unlisted(hidden));
    assert_eq!(findings(&verified(&server).await), []);
}

#[tokio::test]
async fn a_listing_cut_short_fails_and_what_was_listed_is_verified_hst_111() {
    let found = verified(&refunds().fault(Fault::SameCursorForever)).await;
    assert_eq!(findings(&found)[0], (Demand::Must, Reason::ProtocolError, None));
    assert_eq!(found.files, 3);
}

#[tokio::test]
async fn content_without_digests_is_counted_and_its_frontmatter_compared() {
    let server = HostileServer::new().dynamic_skill("live", [("x.md", "x")]);
    let found = verified(&server).await;
    assert_eq!((found.skills, found.files, found.dynamic), (1, 0, 1));
    assert_eq!(findings(&found), []);
    let other = "---\nname: live\ndescription: Another.\n---\n";
    let server = server.fault(Fault::read_bytes("skill://live/SKILL.md", other));
    let found = verified(&server).await;
    assert_eq!(found.findings[0].refusal.reason, Reason::FrontmatterMismatch);
}

#[tokio::test]
async fn a_server_of_an_older_dialect_is_held_to_what_it_promises_c_36() {
    const FILE: &str = "skill://refunds/examples/email.md";
    let allowed = |server: &HostileServer| {
        let host = host(server);
        host.allow_legacy_discovery(&label("acme")).unwrap();
        host
    };
    let whole = HostileServer::with_dialect(OlderDialect::FastMcp);
    let found = verified_by(&allowed(&whole)).await;
    assert_eq!(findings(&found), []);
    assert_eq!((found.skills, found.files, found.first_seen), (1, archives::refunds().len(), 0));
    whole.set_resource(FILE, "Hello,\n\nyour refund is at evil.example.\n");
    let found = verified_by(&allowed(&whole)).await;
    assert_eq!(findings(&found), [(Demand::Must, Reason::SizeMismatch, Some(FILE))]);
    // Without digests, there is only what this verification itself read to compare with.
    let first_seen = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
    let found = verified_by(&allowed(&first_seen)).await;
    assert_eq!(findings(&found), []);
    assert_eq!((found.skills, found.files, found.first_seen), (1, 1, 1));
    assert_eq!(found.dialect, Some(Dialect::EarlyIndex));
    assert_eq!(found.not_guaranteed, Dialect::EarlyIndex.lacks());
    assert!(!found.not_guaranteed.is_empty());
}

#[tokio::test]
async fn a_server_that_names_directories_without_end_is_left_sec_06() {
    // Each directory has a thousand others, and so has each of those.
    let server = refunds().on("resources/directory/read", |asked, _| {
        let uri = asked.uri().to_owned();
        let child = |n: usize| json!({
            "uri": format!("{uri}/d{n}"), "name": format!("d{n}"), "mimeType": "inode/directory",
        });
        ScriptedReply::Result(json!({ "resources": (0..1_000).map(child).collect::<Vec<_>>() }))
    });
    let found = verified(&server).await;
    let requests = server.count("resources/directory/read");
    assert!(requests < 10, "{requests} requests for directories the manifest does not have");
    let reasons: Vec<_> = findings(&found).into_iter().map(|(_, reason, _)| reason).collect();
    assert_eq!(reasons, [Reason::SkillTooLarge]);
}

#[tokio::test]
async fn a_server_that_names_files_without_end_is_reported_in_few_findings_sec_06() {
    for outside in ["", "skill://elsewhere/"] {
        let server = refunds().on("resources/directory/read", move |asked, _| {
            let base =
                if outside.is_empty() { format!("{}/", asked.uri()) } else { outside.into() };
            let child = |n: usize| json!({ "uri": format!("{base}f{n}"), "name": format!("f{n}") });
            ScriptedReply::Result(json!({
                "resources": (0..5_000).map(child).collect::<Vec<_>>(), "nextCursor": "more",
            }))
        });
        let found = verified(&server).await;
        assert!(found.findings.len() < 110, "{} findings", found.findings.len());
        assert_eq!(server.count("resources/directory/read"), 1, "{outside}");
        let last = found.findings.last().unwrap();
        assert_eq!(last.refusal.reason, Reason::SkillTooLarge);
    }
}
