//! Bytes: the host compares each file with the entry before a model or a user sees it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::json;
use skillwire_core::{SkillResource, received::EntryLimits};
use skillwire_host::{FileContent, Host};
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};
use skillwire_trust::{
    Budgets, Cache, DynamicPolicy, Grants, Origin, Policy, Reason, RefusalClass, Remedy, SkillId,
    StoreError, VerifiedFile,
};

use crate::support::{Shortcuts, User, host, host_from, label, skill_uri};

const SKILL_MD: &str = "skill://refunds/SKILL.md";
const X: &str = "skill://refunds/x.md";

fn refunds() -> HostileServer {
    HostileServer::new().skill("refunds", [("x.md", "details"), ("dir/y.md", "more")])
}

/// A cache in memory whose content the tests can see.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(SkillId, SkillResource, Bytes)>>>);

impl Kept {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn tamper(&self) {
        for (_, _, bytes) in &mut *self.0.lock().unwrap() {
            *bytes = vec![b'!'; bytes.len()].into();
        }
    }
}

impl Cache for Kept {
    fn get(&self, skill: &SkillId, file: &SkillResource) -> Option<Bytes> {
        let kept = self.0.lock().unwrap();
        let found = kept.iter().rev().find(|(id, kept, _)| id == skill && kept == file);
        found.map(|(_, _, bytes)| bytes.clone())
    }

    fn put(&self, file: &VerifiedFile) -> Result<(), StoreError> {
        let entry = (file.skill().clone(), file.listed().clone(), file.bytes().clone());
        self.0.lock().unwrap().push(entry);
        Ok(())
    }

    fn remove_origin(&self, _: &Origin) -> Result<usize, StoreError> {
        Ok(0)
    }
}

#[tokio::test]
async fn other_bytes_of_the_same_length_are_not_loaded_hst_44_hst_46_h_31() {
    let server = refunds();
    let length = server.entry(SKILL_MD)["resources"][0]["size"].as_u64().unwrap();
    let cache = Kept::default();
    let host = host_from(Host::builder().cache(cache.clone()), &server);
    let approved = host.approved_now("acme:refunds").await.unwrap();
    server.set_fault(Fault::read_bytes(SKILL_MD, vec![b'x'; usize::try_from(length).unwrap()]));
    let refusal = host.load(approved).await.err().unwrap();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
    assert_eq!(refusal.file.as_deref(), Some(SKILL_MD));
    assert!(refusal.expected.unwrap().starts_with("sha256:"));
    assert!(refusal.actual.unwrap().starts_with("sha256:"));
    assert_eq!(cache.len(), 0, "nothing of it is kept");
    assert!(host.open_windows().is_empty());
    assert!(!server.log().iter().any(|logged| logged.params["uri"] == X));
}

#[tokio::test]
async fn another_length_alone_is_a_failure_hst_45_h_32() {
    for size in [1, 100_000] {
        let server = refunds();
        let mut entry = server.entry(SKILL_MD);
        entry["resources"][0]["size"] = json!(size);
        server.set_fault(Fault::entry(SKILL_MD, json!({ "resources": entry["resources"] })));
        let refusal = host(&server).window("acme:refunds").await.err().unwrap();
        assert_eq!(refusal.reason, Reason::SizeMismatch, "{size}");
        assert_eq!(refusal.expected.as_deref(), Some(format!("{size} bytes").as_str()));
    }
}

#[tokio::test]
async fn a_rotated_file_revokes_the_approval_and_shows_what_changed_hst_47_hst_56_hst_61_hst_89_h_33()
 {
    let server = refunds();
    let user = User::yes();
    let host = host_from(Host::builder().prompter(user.clone()), &server);
    let window = host.window("acme:refunds").await.unwrap();
    server.rotate(X, "changed");
    let refusal = window.read("x.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Changed);
    assert_eq!(refusal.class(), RefusalClass::Approval, "hst_61: approve again, not a read error");
    assert_eq!(server.count("skills/get"), 1, "hst_56: one refresh and nothing else");

    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
    let approved = host.approved_or_ask(&listed).await.unwrap();
    let questions = user.questions();
    let skillwire_trust::Question::Approve(card) = &questions[0] else {
        panic!("not asked about a skill: {questions:?}");
    };
    let changes = card.changes.as_ref().expect("the question is about a change");
    assert_eq!(changes.changed.len(), 1);
    assert_eq!(changes.changed[0].0.uri.as_str(), X);
    let renewed = host.load(approved).await.unwrap();
    assert!(!renewed.repeated);
    assert_eq!(&renewed.window.read("x.md").await.unwrap().bytes()[..], b"changed");
    assert!(window.read("x.md").await.is_err(), "the old window keeps its old entry");
}

#[tokio::test]
async fn a_skill_that_never_agrees_with_itself_is_called_unstable_h_34() {
    let server = refunds().fault(Fault::NeverConsistent { uri: SKILL_MD.to_owned() });
    let host = host(&server);
    let listed = host.get(&label("acme"), &skill_uri(SKILL_MD)).await.unwrap();
    host.list(&label("acme")).await.unwrap();
    let approved = host.approve(&listed, Grants::load_only()).unwrap();
    let first = host.load(approved).await.err().unwrap();
    assert_eq!(first.reason, Reason::Changed);
    let found = host.known();
    let again = found.registry.items()[0].skill.certain().unwrap().clone();
    let approved = host.approve(&again, Grants::load_only()).unwrap();
    let second = host.load(approved).await.err().unwrap();
    assert_eq!(second.reason, Reason::SkillUnstable);
    assert_eq!(server.count("skills/get"), 2, "the first look and one refresh");
    assert!(server.count("resources/read") <= 2);
}

#[tokio::test]
async fn a_large_answer_is_cut_off_before_it_is_decoded_hst_110_h_35() {
    let server = refunds().on("resources/read", |asked, _| {
        if asked.uri() != X {
            return ScriptedReply::Honest;
        }
        let start = br#"{"jsonrpc":"2.0","id":$ID,"result":{"contents":[{"uri":"skill://refunds/x.md","text":""#;
        ScriptedReply::Endless(start.to_vec(), vec![b'x'; 64 * 1024])
    });
    let window = host(&server).window("acme:refunds").await.unwrap();
    let refusal = window.read("x.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::ResponseTooLarge);
}

#[tokio::test]
async fn what_a_server_costs_in_one_session_is_bounded_hst_110() {
    let server = HostileServer::new().skill("big", [("x.md", "x".repeat(4_000))]);
    let budgets = Budgets::default().with_session_bytes(10_000);
    let policy = Policy::default().with_budgets(budgets);
    let window =
        host_from(Host::builder().policy(policy), &server).window("acme:big").await.unwrap();
    assert!(window.read("x.md").await.is_ok());
    assert!(window.read("x.md").await.is_ok());
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::BudgetExhausted);
}

#[tokio::test]
async fn answers_without_exactly_one_content_are_errors_hst_117() {
    for contents in [
        json!([]),
        json!([{ "uri": X, "text": "details" }, { "uri": X, "text": "details" }]),
        json!([{ "uri": SKILL_MD, "text": "details" }]),
        json!([{ "uri": X, "text": "details", "blob": "ZGV0YWlscw==" }]),
        json!([{ "uri": X }]),
    ] {
        let result = json!({ "resultType": "complete", "contents": contents });
        let server = refunds().fault(Fault::ReadResult { uri: X.to_owned(), result });
        let window = host(&server).window("acme:refunds").await.unwrap();
        let refusal = window.read("x.md").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::ContentInvalid, "{contents}");
    }
}

#[tokio::test]
async fn text_that_was_altered_on_its_way_does_not_match_and_says_why_h_37_h_38() {
    let server = HostileServer::new().skill("refunds", [("x.md", "\u{feff}a\r\nb\r\n")]);
    for altered in ["a\r\nb\r\n", "\u{feff}a\nb\n"] {
        server.clear_faults();
        let window = host(&server).window("acme:refunds").await.unwrap();
        server.set_fault(Fault::read_bytes(X, altered));
        let refusal = window.read("x.md").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::SizeMismatch);
        assert!(refusal.hint.unwrap().contains("line ends"));
    }
    server.clear_faults();
    let window = host(&server).window("acme:refunds").await.unwrap();
    assert_eq!(&window.read("x.md").await.unwrap().bytes()[..], "\u{feff}a\r\nb\r\n".as_bytes());
}

fn with_frontmatter(lines: &str, listed: &serde_json::Value) -> HostileServer {
    let text = format!("---\nname: refunds\ndescription: Does it.\n{lines}---\nBody\n");
    HostileServer::new()
        .skill("refunds", [("SKILL.md", text)])
        .fault(Fault::entry(SKILL_MD, json!({ "frontmatter": listed })))
}

#[tokio::test]
async fn frontmatter_that_differs_from_the_entry_is_not_loaded_hst_51_hst_52_h_39() {
    for (lines, patch, pointer) in [
        ("hooks: {}\n", json!({ "hooks": null }), "/hooks"),
        ("allowed-tools: Bash\n", json!({ "allowed-tools": null }), "/allowed-tools"),
        ("", json!({ "license": "MIT" }), "/license"),
        ("version: \"1\"\n", json!({ "version": 1 }), "/version"),
    ] {
        let server = with_frontmatter(lines, &patch);
        let refusal = host(&server).window("acme:refunds").await.err().unwrap();
        assert_eq!(refusal.reason, Reason::FrontmatterMismatch, "{lines}");
        assert_eq!(refusal.class(), RefusalClass::Verification);
        assert!(refusal.expected.unwrap().contains(pointer));
    }
    let reordered = HostileServer::new()
        .skill("refunds", [("SKILL.md", "---\ndescription: Does it.\nname: refunds\n---\n")])
        .fault(Fault::EntryText {
            uri: SKILL_MD.to_owned(),
            text: {
                let plain = HostileServer::new().skill(
                    "refunds",
                    [("SKILL.md", "---\ndescription: Does it.\nname: refunds\n---\n")],
                );
                let mut entry = plain.entry(SKILL_MD);
                entry["frontmatter"] = json!({ "name": "refunds", "description": "Does it." });
                entry.to_string()
            },
        });
    assert!(host(&reordered).window("acme:refunds").await.is_ok(), "order alone is no difference");
}

#[tokio::test]
async fn yaml_read_by_other_rules_is_refused_with_the_cause_h_40() {
    for (written, listed) in [
        ("no", json!(false)),
        ("012", json!(10)),
        ("2026-01-01", json!(20_260_101)),
        ("1.0", json!("1.0")),
    ] {
        let server = with_frontmatter(&format!("extra: {written}\n"), &json!({ "extra": listed }));
        let refusal = host(&server).window("acme:refunds").await.err().unwrap();
        assert_eq!(refusal.reason, Reason::FrontmatterMismatch, "{written}");
        assert!(refusal.hint.unwrap().contains("YAML"), "{written}");
    }
}

#[tokio::test]
async fn frontmatter_that_parsers_disagree_about_is_refused_h_41_h_42() {
    let bomb =
        "---\nname: refunds\ndescription: Does it.\na: &a [x, x]\nb: [*a, *a]\n---\n".to_owned();
    let huge =
        format!("---\nname: refunds\ndescription: Does it.\nx: {}\n---\n", "x".repeat(100_000));
    let unclosed = "---\nname: refunds\ndescription: Does it.\n".to_owned();
    let twice = "---\nname: refunds\nname: other\ndescription: Does it.\n---\n".to_owned();
    let documents =
        "---\nname: refunds\ndescription: Does it.\n...\n---\nname: x\n---\n".to_owned();
    for text in [bomb, huge, unclosed, twice, documents] {
        let entry = HostileServer::new().skill("refunds", [("SKILL.md", text.clone())]);
        let entry = entry.fault(Fault::entry(
            SKILL_MD,
            json!({ "frontmatter": { "name": "refunds", "description": "Does it." } }),
        ));
        let refusal = host(&entry).window("acme:refunds").await.err().unwrap();
        assert_eq!(refusal.reason, Reason::FrontmatterUnreadable, "{}", &text[..40]);
    }
    let dashes = "---\nname: refunds\ndescription: \"a --- b\"\n---\n---\nname: other\n---\nBody\n";
    let server = HostileServer::new().skill("refunds", [("SKILL.md", dashes)]);
    let window = host(&server).window("acme:refunds").await.unwrap();
    assert_eq!(window.entry().frontmatter.description(), "a --- b");
    assert_eq!(&window.skill_file().bytes()[..], dashes.as_bytes(), "the second block is text");
}

#[tokio::test(start_paused = true)]
async fn errors_on_a_listed_file_are_told_apart_hst_62_hst_116_h_43() {
    for code in [-32602, -32002] {
        let server = refunds().fault(Fault::ReadError { uri: X.to_owned(), code });
        let window = host(&server).window("acme:refunds").await.unwrap();
        let refusal = window.read("x.md").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::FileMissing, "{code}");
        assert_eq!(server.count("skills/get"), 1, "the same refresh as for wrong bytes");
    }
    let server = refunds().fault(Fault::ReadError { uri: X.to_owned(), code: -32603 });
    let window = host(&server).window("acme:refunds").await.unwrap();
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::ServerError);
    let reads = server.log().iter().filter(|logged| logged.params["uri"] == X).count();
    assert_eq!(reads, 3, "tried again, and not without end");
    let server = refunds();
    let window = host(&server).window("acme:refunds").await.unwrap();
    server.set_fault(Fault::result_type("resources/read", "input_required"));
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::InputRequired);
    assert_eq!(server.count("skills/get"), 0);
    server.clear_faults();
    server.remove(X);
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::Changed);
}

fn asking() -> Policy {
    Policy::default().with_dynamic(DynamicPolicy::Ask)
}

#[tokio::test]
async fn dynamic_skills_are_declined_unless_the_policy_says_otherwise_hst_22() {
    let server = HostileServer::new().dynamic_skill("daily", [("x.md", "x")]);
    let refusal = host(&server).approved_now("acme:daily").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::DynamicDeclined);
    let host = host_from(Host::builder().policy(asking()), &server);
    let window = host.window("acme:daily").await.unwrap();
    let content = window.read("x.md").await.unwrap();
    assert!(matches!(content, FileContent::Dynamic(_)), "never called verified");
}

#[tokio::test]
async fn the_frontmatter_of_a_dynamic_skill_is_compared_too_hst_51_h_44() {
    let server = HostileServer::new().dynamic_skill("daily", [("x.md", "x")]).fault(Fault::entry(
        "skill://daily/SKILL.md",
        json!({ "frontmatter": { "license": "MIT" } }),
    ));
    let host = host_from(Host::builder().policy(asking()), &server);
    let refusal = host.window("acme:daily").await.err().unwrap();
    assert_eq!(refusal.reason, Reason::FrontmatterMismatch);
}

#[tokio::test]
async fn a_dynamic_skill_stops_at_the_total_of_what_was_retrieved_hst_21_h_45() {
    let server = HostileServer::new().dynamic_skill("daily", [("x.md", "x".repeat(5_000_000))]);
    let host = host_from(Host::builder().policy(asking()), &server);
    let window = host.window("acme:daily").await.unwrap();
    for _ in 0..3 {
        assert!(window.read("x.md").await.is_ok());
    }
    let refusal = window.read("x.md").await.unwrap_err();
    assert_eq!(refusal.class(), RefusalClass::Declined, "{refusal:?}");
}

#[tokio::test]
async fn a_dynamic_skill_may_use_its_total_to_the_last_byte_hst_21_h_45() {
    let skill_md = "---\nname: daily\ndescription: Use when testing.\n---\n";
    for (bytes, allowed) in [(100, true), (101, false)] {
        let most = u64::try_from(skill_md.len()).unwrap() + 100;
        let limits = EntryLimits::new().with_bytes(most);
        let files = [("SKILL.md", skill_md.to_owned()), ("x.md", "x".repeat(bytes))];
        let server = HostileServer::new().dynamic_skill("daily", files);
        let host = host_from(Host::builder().policy(asking().with_limits(limits)), &server);
        let window = host.window("acme:daily").await.unwrap();
        let read = window.read("x.md").await;
        assert_eq!(read.is_ok(), allowed, "{read:?}");
        if let Err(refusal) = read {
            assert_eq!(refusal.reason, Reason::SkillTooLarge);
        }
    }
}

#[tokio::test]
async fn freshness_never_replaces_a_comparison_hst_35() {
    let server = refunds().fault(Fault::member("skills/list", "ttlMs", 3_600_000));
    let host = host(&server);
    let approved = host.approved_now("acme:refunds").await.unwrap();
    server.set_fault(Fault::read_bytes(SKILL_MD, "other"));
    assert!(host.load(approved).await.is_err());
}

#[tokio::test]
async fn what_was_read_is_cached_and_nothing_else_hst_54_hst_92() {
    let server = refunds();
    let cache = Kept::default();
    let host = host_from(Host::builder().cache(cache.clone()), &server);
    let window = host.window("acme:refunds").await.unwrap();
    window.read("x.md").await.unwrap();
    assert_eq!(cache.len(), 2, "SKILL.md and the file that was read");
    server.clear_log();
    window.release();
    let again = host.window("acme:refunds").await.unwrap();
    again.read("x.md").await.unwrap();
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_cache_that_was_tampered_with_is_not_believed_hst_93_hst_94() {
    let server = refunds();
    let cache = Kept::default();
    let host = host_from(Host::builder().cache(cache.clone()), &server);
    let window = host.window("acme:refunds").await.unwrap();
    window.read("x.md").await.unwrap();
    cache.tamper();
    assert_eq!(&window.read("x.md").await.unwrap().bytes()[..], b"details");
    window.release();
    assert!(host.window("acme:refunds").await.is_ok(), "fetched anew and compared");
}

#[tokio::test]
async fn a_skill_at_both_limits_loads_and_every_file_verifies_hst_18() {
    let mut files: Vec<(String, Vec<u8>)> =
        (0..510).map(|n| (format!("f{n}.bin"), vec![0_u8; 10])).collect();
    let skill_md = "---\nname: full\ndescription: Is full.\n---\n";
    let left = 16_777_216 - 5_100 - skill_md.len();
    files.push(("SKILL.md".to_owned(), skill_md.into()));
    files.push(("last.bin".to_owned(), vec![0; left]));
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(n, b)| (n.as_str(), b.clone())).collect();
    let server = HostileServer::new().skill("full", files);
    let window = host(&server).window("acme:full").await.unwrap();
    for n in 0..510 {
        assert!(window.read(&format!("f{n}.bin")).await.is_ok());
    }
    assert_eq!(window.read("last.bin").await.unwrap().bytes().len(), left);
}

#[tokio::test]
async fn what_is_too_large_is_declined_before_anything_is_read_hst_20_h_23() {
    let server = HostileServer::new().skill("big", [("x.md", vec![0_u8; 16_777_216])]);
    let host = host(&server);
    let listing = host.list(&label("acme")).await.unwrap();
    assert!(listing.skills.is_empty());
    let refusal = &listing.refused[0];
    assert_eq!(refusal.reason, Reason::SkillTooLarge);
    assert_eq!(refusal.class(), RefusalClass::Declined);
    assert_eq!(refusal.expected.as_deref(), Some("at most 16777216 bytes"));
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_change_says_how_to_approve_it_hst_61() {
    let server = refunds();
    let window = host(&server).window("acme:refunds").await.unwrap();
    server.rotate(X, "other details");
    let refusal = window.read("x.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Changed);
    let Some(Remedy::ReviewChanges(skill)) = refusal.remedy.as_deref() else {
        panic!("{refusal:?}")
    };
    assert_eq!(skill.to_string(), "acme:skill://refunds/SKILL.md");
}

#[tokio::test]
async fn a_mismatch_is_called_a_missing_skill_only_if_the_server_says_so_hst_62() {
    for (code, reason) in [(-32602, Reason::SkillNotFound), (-32000, Reason::SizeMismatch)] {
        let server = refunds();
        let window = host(&server).window("acme:refunds").await.unwrap();
        server.set_fault(Fault::read_bytes(X, "other details"));
        let _same_server = server.on("skills/get", move |_, _| ScriptedReply::error(code));
        let refusal = window.read("x.md").await.unwrap_err();
        assert_eq!(refusal.reason, reason, "{refusal:?}");
    }
}

#[tokio::test]
async fn the_user_may_look_at_a_file_as_it_was_hst_56() {
    let server = refunds();
    let cache = Kept::default();
    let host = host_from(Host::builder().cache(cache.clone()), &server);
    let window = host.window("acme:refunds").await.unwrap();
    window.read("x.md").await.unwrap();
    let content = window.content().unwrap();
    let [was, unread] = [X, "skill://refunds/dir/y.md"]
        .map(|uri| content.files().iter().find(|file| file.uri.as_str() == uri).unwrap());
    server.set_skill("refunds", [("x.md", "something else")]);
    let shown = host.inspect_cached(window.skill(), was).unwrap();
    assert_eq!((shown.uri.as_str(), &shown.bytes[..], shown.verified), (X, &b"details"[..], true));
    assert!(host.inspect_cached(window.skill(), unread).is_none(), "it was never read");
    cache.tamper();
    assert!(host.inspect_cached(window.skill(), was).is_none());
}

#[tokio::test]
async fn a_skill_that_load_refuses_for_its_frontmatter_is_neither_shown_nor_copied_sec_05() {
    let server = with_frontmatter("hooks: {}\n", &json!({ "hooks": null }));
    let host = host(&server);
    let listed = host.named("acme:refunds").await.unwrap();
    let shown = host.inspect(&listed, "SKILL.md").await.map_err(|refusal| refusal.reason);
    assert_eq!(shown, Err(Reason::FrontmatterMismatch));
    let copied = host.export(&listed, &[]).await.map_err(|refusal| refusal.reason);
    assert_eq!(copied, Err(Reason::FrontmatterMismatch));

    let asked = with_frontmatter("hooks: {}\n", &json!({ "hooks": null }))
        .fault(Fault::entry(SKILL_MD, json!({ "resources": "dynamic" })));
    let host = host_from(Host::builder().policy(asking()), &asked);
    let listed = host.named("acme:refunds").await.unwrap();
    let shown = host.inspect(&listed, "SKILL.md").await.map_err(|refusal| refusal.reason);
    assert_eq!(shown, Err(Reason::FrontmatterMismatch), "a skill without digests has them too");
}

#[tokio::test]
async fn a_skill_file_is_cached_only_after_its_frontmatter_was_compared_sec_07() {
    let cache = Kept::default();
    let server = with_frontmatter("hooks: {}\n", &json!({ "hooks": null }));
    let host = host_from(Host::builder().cache(cache.clone()), &server);
    let listed = host.named("acme:refunds").await.unwrap();
    host.approve(&listed, Grants::load_only()).unwrap();
    let refusal = host.window("acme:refunds").await.err().unwrap();
    assert_eq!(refusal.reason, Reason::FrontmatterMismatch);
    assert_eq!(cache.len(), 0, "load");
    let _ = host.inspect(&listed, "SKILL.md").await;
    let _ = host.export(&listed, &[]).await;
    assert_eq!(cache.len(), 0, "show and export");

    // Bytes that an earlier version cached are compared as well.
    let kept = Kept::default();
    let honest = with_frontmatter("hooks: {}\n", &json!({}));
    let first = host_from(Host::builder().cache(kept.clone()), &honest);
    first.window("acme:refunds").await.unwrap();
    assert_eq!(kept.len(), 1);
    let lying = with_frontmatter("hooks: {}\n", &json!({ "hooks": null }));
    let second = host_from(Host::builder().cache(kept), &lying);
    let refusal = second.window("acme:refunds").await.err().unwrap();
    assert_eq!(refusal.reason, Reason::FrontmatterMismatch);
    assert_eq!(lying.count("resources/read"), 0, "the bytes came from the cache");
}
