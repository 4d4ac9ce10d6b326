//! What records keep, and what never becomes an approval.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use skillwire_core::Digest;
use skillwire_trust::{
    Approval, ApprovalBinding, DecisionChannel, Grants, NextLoad, RunGrants, Voucher,
    testing::{content, id},
};
use tempfile::TempDir;

use super::*;

const URI: &str = "skill://acme/billing/refunds/SKILL.md";

struct Fixture {
    place: TempDir,
    records: FileRecords,
    id: SkillId,
}

/// What scripts of an approved skill get in these tests.
fn run_grants() -> RunGrants {
    let grants = serde_json::json!({
        "network": ["api.example.com:443"], "env": ["TOKEN"], "inputs": ["/data"], "memory": 1024,
    });
    serde_json::from_value(grants).unwrap()
}

impl Fixture {
    /// A store in which one skill is approved.
    fn approved() -> Self {
        let place = TempDir::new().unwrap();
        let records = FileRecords::new(place.path().join("records"));
        let fixture = Self { place, records, id: id("acme", URI) };
        fixture.approve(&fixture.id, "one");
        fixture
    }

    fn approve(&self, id: &SkillId, text: &str) -> Record {
        let approval = Approval {
            content: content(id, text),
            grants: Grants { tools: ["Read".to_owned()].into(), ..Grants::load_only() }
                .with_scripts(run_grants()),
            at: SystemTime::now(),
            channel: Some(DecisionChannel::Form),
            revoked: false,
            binding: ApprovalBinding::Manifest,
            voucher: None,
        };
        self.records.update(id, &mut |record| record.approval = Some(approval.clone())).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("records/acme")
    }

    fn file(&self) -> PathBuf {
        self.folder().join("skill=3a++acme+billing+refunds.json")
    }

    /// Rewrites the file through its JSON.
    fn tamper(&self, pointer: &str, value: Value) {
        let mut file: Value = serde_json::from_slice(&fs::read(self.file()).unwrap()).unwrap();
        *file.pointer_mut(pointer).unwrap() = value;
        fs::write(self.file(), file.to_string()).unwrap();
    }
}

#[test]
fn the_signer_that_vouched_comes_back_and_a_damaged_one_is_no_approval() {
    let fixture = Fixture::approved();
    let voucher = Voucher {
        name: "acme".into(),
        signer: "key sha256:00".into(),
        trusted: Digest::of(b"key"),
        until: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000)),
    };
    let change = &mut |record: &mut Record| {
        let approval = record.approval.as_mut().unwrap();
        approval.voucher = Some(voucher.clone());
        approval.channel = Some(DecisionChannel::Signature);
    };
    fixture.records.update(&fixture.id, change).unwrap();
    let read = fixture.records.get(&fixture.id).unwrap().unwrap().approval.unwrap();
    assert_eq!(read.voucher, Some(voucher));
    assert_eq!(read.channel, Some(DecisionChannel::Signature));
    fixture.tamper("/approval/signer/trusted", "sha256:0".into());
    assert!(fixture.records.get(&fixture.id).is_err());
}

#[test]
fn an_approval_comes_back_whole_hst_88() {
    let fixture = Fixture::approved();
    let skill = &fixture.id;
    let written = fixture.records.update(skill, &mut |record| {
        record.disabled = true;
        record.approval.as_mut().unwrap().revoked = true;
        record.declined = Some(Digest::of(b"declined"));
        record.asked = vec![SystemTime::now(), SystemTime::UNIX_EPOCH];
    });
    let written = written.unwrap();
    // A second store over the same folder stands for another process.
    let records = FileRecords::new(fixture.place.path().join("records"));
    assert_eq!(records.get(skill).unwrap().as_ref(), Some(&written));
    assert_eq!(written.approval.as_ref().unwrap().content, content(skill, "one"));
    assert_eq!(records.all(), (vec![written], vec![]));
}

#[test]
fn a_record_that_does_not_say_how_its_decision_came_still_approves_cl_12() {
    let fixture = Fixture::approved();
    let channel = || fixture.records.get(&fixture.id).map(|record| record?.approval?.channel);
    assert_eq!(channel().unwrap(), Some(DecisionChannel::Form));
    let mut file: Value = serde_json::from_slice(&fs::read(fixture.file()).unwrap()).unwrap();
    assert_eq!(file["approval"]["through"], "form");
    file["approval"].as_object_mut().unwrap().remove("through");
    fs::write(fixture.file(), file.to_string()).unwrap();
    assert_eq!(channel().unwrap(), None);
    assert!(fixture.records.get(&fixture.id).unwrap().unwrap().approval.is_some());
    file["approval"]["through"] = "a dream".into();
    fs::write(fixture.file(), file.to_string()).unwrap();
    assert!(fixture.records.get(&fixture.id).is_err(), "no unreadable record approves");
}

#[test]
fn the_same_uri_of_two_servers_is_two_records_hst_11_hst_12_h_50() {
    let fixture = Fixture::approved();
    let other = id("other", URI);
    assert_eq!(fixture.records.get(&other).unwrap(), None);
    fixture.approve(&other, "two");
    let approved = |id: &SkillId| fixture.records.get(id).unwrap().unwrap().approval.unwrap();
    assert_eq!(approved(&other).content, content(&other, "two"));
    assert_eq!(approved(&fixture.id).content, content(&fixture.id, "one"));
    assert_eq!(fixture.records.all().0.len(), 2);
    let (of_other, faults) = fixture.records.of_origin(&other.origin);
    assert_eq!((of_other[0].id.clone(), of_other.len(), faults), (other, 1, vec![]));
}

#[test]
fn a_removed_origin_leaves_nothing_for_its_label_hst_97_h_49() {
    let fixture = Fixture::approved();
    let (near, nested) = (id("acme.eu", URI), id("acme", "skill://acme/billing/x/SKILL.md"));
    fixture.approve(&near, "near");
    fixture.approve(&nested, "nested");
    assert_eq!(fixture.records.remove_origin(&fixture.id.origin).unwrap(), 2);
    assert_eq!(fixture.records.get(&fixture.id).unwrap(), None);
    assert_eq!(fixture.records.get(&nested).unwrap(), None);
    assert!(fixture.records.get(&near).unwrap().is_some());
    assert_eq!(fixture.records.remove_origin(&fixture.id.origin).unwrap(), 0);
}

#[test]
fn a_truncated_or_corrupt_record_approves_nothing_and_is_not_overwritten_h_65() {
    let fixture = Fixture::approved();
    let whole = fs::read(fixture.file()).unwrap();
    let mut cases: Vec<Vec<u8>> =
        (0..whole.len() - 1).step_by(40).map(|n| whole[..n].into()).collect();
    cases.push(b"\xff\xfe".to_vec());
    cases.push(b"{}".to_vec());
    cases.push([&whole[..], b"{}"].concat());
    cases.push(whole.replacen("\"disabled\"", "\"disabled\": true, \"disabled\""));
    cases.push(whole.replacen("\"disabled\"", "\"trusted\": true, \"disabled\""));
    cases.push(vec![b' '; usize::try_from(MAX_RECORD_BYTES).unwrap() + 1]);
    for case in cases {
        fs::write(fixture.file(), &case).unwrap();
        assert!(fixture.records.get(&fixture.id).is_err());
        let update = fixture.records.update(&fixture.id, &mut |_| panic!("nothing to change"));
        assert!(update.unwrap_err().problem.contains(if case.len() > whole.len() * 2 {
            "more than"
        } else {
            "left as it is"
        }));
        assert_eq!(fs::read(fixture.file()).unwrap(), case);
        let (records, faults) = fixture.records.all();
        assert_eq!((records.len(), faults.len()), (0, 1));
    }
}

/// Replaces text once in bytes.
trait Replacen {
    fn replacen(&self, from: &str, to: &str) -> Vec<u8>;
}

impl Replacen for Vec<u8> {
    fn replacen(&self, from: &str, to: &str) -> Vec<u8> {
        let text = String::from_utf8(self.clone()).unwrap();
        assert!(text.contains(from));
        text.replacen(from, to, 1).into_bytes()
    }
}

#[test]
fn an_edited_record_cannot_approve_what_it_does_not_hold_h_65() {
    for (pointer, value) in [
        ("/version", 2.into()),
        ("/server", "other".into()),
        ("/uri", "skill://acme/other/SKILL.md".into()),
        ("/approval/entry/uri", "skill://acme/other/SKILL.md".into()),
        ("/approval/entry/resources", "dynamic".into()),
        ("/approval/entry/resources/0/digest", Digest::of(b"evil").to_string().into()),
        ("/approval/entry/resources/0/size", 4.into()),
        ("/approval/entry/frontmatter/description", "Does evil.".into()),
        ("/approval/fingerprint", "sha256:".into()),
        ("/approval/content_id", Digest::of(b"other").to_string().into()),
        ("/approval/at", "now".into()),
        ("/approval/grants/execute", "yes".into()),
        ("/approval/grants/run/network/0", "*:443".into()),
        ("/approval/grants/run/env", Value::from(vec!["A=B"])),
        ("/approval/grants/run/inputs", Value::from(vec!["/data/.."])),
        ("/approval/grants/run/memory", 0.into()),
        ("/approval/grants/run", Value::from(vec!["everything"])),
        ("/disabled", Value::Null),
        ("/asked", Value::from(vec!["then"])),
    ] {
        let fixture = Fixture::approved();
        fixture.tamper(pointer, value);
        assert!(fixture.records.get(&fixture.id).is_err(), "{pointer}");
    }
}

#[test]
fn what_scripts_get_is_kept_with_the_content_that_it_was_granted_for() {
    let fixture = Fixture::approved();
    let record = fixture.records.get(&fixture.id).unwrap().unwrap();
    let approval = record.approval.unwrap();
    assert_eq!(approval.grants.run, run_grants());
    assert_eq!(approval.content, content(&fixture.id, "one"));
    let file: Value = serde_json::from_slice(&fs::read(fixture.file()).unwrap()).unwrap();
    assert_eq!(file["approval"]["grants"]["run"]["network"][0], "api.example.com:443");
    assert_eq!(file["approval"]["content_id"], approval.content.content_id().unwrap().to_string());
}

#[test]
fn a_rolled_back_or_copied_record_names_only_its_own_content_h_65() {
    let fixture = Fixture::approved();
    let old = fs::read(fixture.file()).unwrap();
    fixture.approve(&fixture.id, "two");
    fs::write(fixture.file(), &old).unwrap();
    let record = fixture.records.get(&fixture.id).unwrap().unwrap();
    assert_eq!(record.approval.unwrap().content, content(&fixture.id, "one"));
    // A copy under the name of another skill, or of another server, is refused.
    let other = id("acme", "skill://acme/other/SKILL.md");
    fs::copy(fixture.file(), fixture.folder().join("skill=3a++acme+other.json")).unwrap();
    assert!(fixture.records.get(&other).unwrap_err().problem.contains("another skill"));
    fixture.approve(&id("b", URI), "b");
    fs::copy(
        fixture.file(),
        fixture.place.path().join("records/b/skill=3a++acme+billing+refunds.json"),
    )
    .unwrap();
    assert!(fixture.records.get(&id("b", URI)).is_err());
}

#[test]
fn an_approval_moved_into_another_skills_record_is_refused_h_65() {
    let fixture = Fixture::approved();
    let other = id("acme", "skill://acme/other/SKILL.md");
    fixture.approve(&other, "theirs");
    let theirs = fs::read(fixture.folder().join("skill=3a++acme+other.json")).unwrap();
    let theirs: Value = serde_json::from_slice(&theirs).unwrap();
    // The approval is complete and matches its fingerprint, but belongs to another skill.
    fixture.tamper("/approval", theirs["approval"].clone());
    let error = fixture.records.get(&fixture.id).unwrap_err();
    assert!(error.problem.contains("approves another skill"), "{error}");
}

#[test]
fn a_broken_record_can_be_set_aside_and_is_kept_h_65() {
    let fixture = Fixture::approved();
    let aside = |fixture: &Fixture| fixture.records.set_aside(&fixture.id).unwrap();
    assert_eq!(aside(&fixture), None, "it can be read");
    for number in 1..=2 {
        fs::write(fixture.file(), "{").unwrap();
        let kept = aside(&fixture).unwrap();
        assert!(kept.to_string_lossy().ends_with(&format!(".json.broken-{number}")));
        assert_eq!(fs::read(kept).unwrap(), b"{");
        assert_eq!(fixture.records.get(&fixture.id).unwrap(), None);
    }
    fixture.approve(&fixture.id, "anew");
    let (records, faults) = fixture.records.all();
    assert_eq!((records.len(), faults.len()), (1, 0));
}

#[test]
fn what_a_killed_process_left_is_cleared_away_h_66() {
    let fixture = Fixture::approved();
    let left = fixture.file().with_extension("json.new");
    fs::write(&left, "half of a rec").unwrap();
    fixture.approve(&fixture.id, "two");
    assert!(!left.exists());
}

#[test]
fn a_uri_too_long_for_a_path_is_an_error_and_a_long_one_is_not_h_67() {
    let fixture = Fixture::approved();
    let long = |n: usize| id("acme", &format!("skill://{}/a/SKILL.md", "b".repeat(n)));
    fixture.approve(&long(10_000), "long");
    assert!(fixture.records.get(&long(10_000)).unwrap().is_some());
    assert!(fixture.records.get(&long(20_000)).is_err());
    assert!(fixture.records.update(&long(20_000), &mut |_| {}).is_err());
    let (records, faults) = fixture.records.all();
    assert_eq!((records.len(), faults.len()), (2, 0));
}

#[test]
fn things_that_are_no_records_are_told_and_hide_nothing_h_65() {
    let fixture = Fixture::approved();
    fs::create_dir(fixture.folder().join("Foreign")).unwrap();
    fs::write(fixture.folder().join("Foreign/x.json"), "{}").unwrap();
    fs::write(fixture.folder().join("A.json"), "{}").unwrap();
    fs::write(fixture.folder().join("notes"), "").unwrap();
    fs::write(fixture.place.path().join("records/NOTES"), "").unwrap();
    let (records, faults) = fixture.records.all();
    assert_eq!((records.len(), faults.len()), (1, 4), "{faults:?}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_reading_goes_on_h_68() {
    use std::os::unix::fs::symlink;

    let fixture = Fixture::approved();
    // The lock cannot be taken, as on a read-only disk. Modes alone would not stop root.
    let lock = fixture.place.path().join("records/.lock");
    fs::remove_file(&lock).unwrap();
    symlink("nowhere", &lock).unwrap();
    assert!(fixture.records.update(&fixture.id, &mut |_| {}).is_err());
    assert!(fixture.records.remove_origin(&fixture.id.origin).is_err());
    assert!(fixture.records.get(&fixture.id).unwrap().is_some());
}

#[test]
fn a_skill_that_another_process_switches_off_is_off_at_once_h_66() {
    let fixture = Fixture::approved();
    let other = FileRecords::new(fixture.place.path().join("records"));
    let switch = |off: bool| {
        other.update(&fixture.id, &mut |record| record.disabled = off).unwrap();
        fixture.records.is_disabled(&fixture.id).unwrap()
    };
    for off in [true, false, true, true, false] {
        assert_eq!(switch(off), off);
    }
    other.remove_origin(&fixture.id.origin).unwrap();
    assert!(!fixture.records.is_disabled(&fixture.id).unwrap());
}

#[cfg(unix)]
#[test]
fn a_remembered_record_counts_only_for_the_very_same_file_h_65() {
    let fixture = Fixture::approved();
    let long_ago = SystemTime::now() - std::time::Duration::from_mins(1);
    let file = fs::File::options().write(true).open(fixture.file()).unwrap();
    file.set_modified(long_ago).unwrap();
    // The record as it was kept in memory once the file had settled.
    let stamp = Stamp::at(&fixture.file()).unwrap();
    let remembered = Record { disabled: true, ..Record::new(fixture.id.clone()) };
    fixture.records.remember(fixture.file(), stamp, &Arc::new(remembered.clone()));
    assert!(fixture.records.is_disabled(&fixture.id).unwrap());
    assert_eq!(fixture.records.get(&fixture.id).unwrap(), Some(remembered));
    // Any write to the file invalidates it, even if size and modification time are restored.
    let bytes = fs::read(fixture.file()).unwrap();
    fs::remove_file(fixture.file()).unwrap();
    fs::write(fixture.file(), bytes).unwrap();
    let file = fs::File::options().write(true).open(fixture.file()).unwrap();
    file.set_modified(long_ago).unwrap();
    assert!(!fixture.records.is_disabled(&fixture.id).unwrap());
    assert!(fixture.records.get(&fixture.id).unwrap().unwrap().approval.is_some());
    // A record that cannot be read is not kept in memory.
    fixture.tamper("/uri", "skill://other/SKILL.md".into());
    assert!(fixture.records.is_disabled(&fixture.id).is_err());
    assert!(fixture.records.get(&fixture.id).is_err());
}

#[test]
fn a_server_labelled_lock_has_decisions_of_its_own_fu_11() {
    let fixture = Fixture::approved();
    let root = fixture.place.path().join("records");
    // Earlier versions kept their lock in the place of this server's folder.
    fs::write(root.join("lock"), "").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.join("lock"), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let other = id("lock", URI);
    assert_eq!(fixture.records.get(&other).unwrap(), None);
    assert_eq!(fixture.records.all().0.len(), 1);
    assert_eq!(fixture.records.all().1, []);
    assert_eq!(fixture.records.remove_origin(&other.origin).unwrap(), 0);
    fixture.approve(&other, "two");
    assert!(fixture.records.get(&other).unwrap().is_some());
    assert_eq!(fixture.records.all().0.len(), 2);
    assert_eq!(fixture.records.remove_origin(&other.origin).unwrap(), 1);
    assert!(fixture.records.get(&fixture.id).unwrap().is_some());
    assert!(root.join(".lock").is_file(), "the store's own lock stays");
    assert_eq!(fixture.records.all().1, []);
}

#[test]
fn an_approval_of_the_next_load_comes_back_and_is_gone_once_it_is_taken() {
    let fixture = Fixture::approved();
    let next = NextLoad {
        content: Digest::of(b"content"),
        grants: Grants { execute: true, ..Grants::load_only() },
        at: SystemTime::UNIX_EPOCH,
    };
    let update = |next: Option<NextLoad>| {
        fixture.records.update(&fixture.id, &mut |record| record.next_load = next.clone()).unwrap();
        fixture.records.get(&fixture.id).unwrap().unwrap().next_load
    };
    assert_eq!(update(Some(next.clone())), Some(next));
    fixture.tamper("/next_load/content", "none".into());
    assert!(fixture.records.get(&fixture.id).is_err(), "a record that is damaged approves nothing");
    let fixture = Fixture::approved();
    assert_eq!(fixture.records.get(&fixture.id).unwrap().unwrap().next_load, None);
}
