//! What the lock allows, and what it does not.

use serde_json::json;
use skillwire_core::received::{self, EntryLimits};

use super::*;
use crate::testing::{content, id};

fn refunds(label: &str) -> SkillId {
    id(label, "skill://acme/refunds/SKILL.md")
}

fn locked() -> (LockFile, SkillId) {
    let mut lock = LockFile::default();
    let skill = refunds("acme");
    let tools = ["Bash(git:*)".to_owned(), "Read".to_owned()].into();
    let grants = Grants { tools, execute: true, ..Grants::load_only() };
    assert!(lock.insert(&skill, &content(&skill, "one"), grants));
    let other = id("other", "skill://x/SKILL.md");
    assert!(lock.insert(&other, &content(&other, "x"), Grants::load_only()));
    (lock, skill)
}

#[test]
fn a_lock_allows_the_content_it_lists_and_no_other_hst_88() {
    let (lock, skill) = locked();
    let grants = lock.allows(&skill, &content(&skill, "one")).unwrap();
    assert!(grants.execute && grants.tools.len() == 2);
    let other = lock.allows(&skill, &content(&skill, "two")).unwrap_err();
    assert_eq!(
        other.to_string(),
        "the lock file lists this skill with other content (`skill://acme/refunds/SKILL.md` changed)"
    );
}

#[test]
fn a_lock_is_for_one_server_hst_12_h_50() {
    let (lock, _) = locked();
    let same_uri = refunds("other");
    let denied = lock.allows(&same_uri, &content(&same_uri, "one"));
    assert_eq!(denied, Err(LockMismatch::NotLocked));
    // The content of one skill cannot be locked for another.
    let mut lock = LockFile::default();
    let wrong = id("acme", "skill://acme/x/refunds/SKILL.md");
    assert!(!lock.insert(&wrong, &content(&refunds("acme"), "one"), Grants::default()));
    assert!(lock.insert(&wrong, &content(&wrong, "one"), Grants::default()));
    assert!(lock.allows(&wrong, &content(&refunds("acme"), "one")).is_err());
}

#[test]
fn every_kind_of_change_is_told_hst_89_h_47_h_48() {
    let (lock, skill) = locked();
    let base = serde_json::to_value(content(&skill, "one").entry()).unwrap();
    let allows = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut entry = base.clone();
        change(&mut entry);
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        lock.allows(&skill, &ContentSet::of(&entry).unwrap())
    };
    assert!(allows(&|_| {}).is_ok());
    let turn = |entry: &mut serde_json::Value| entry["resources"].as_array_mut().unwrap().reverse();
    assert!(allows(&turn).is_ok());
    let changes = |result: Result<Grants, LockMismatch>| match result {
        Err(LockMismatch::Changed { added, removed, changed, frontmatter }) => {
            (added.len(), removed.len(), changed.len(), frontmatter)
        }
        other => panic!("{other:?}"),
    };
    let added = json!({
        "uri": "skill://acme/refunds/new", "digest": Digest::of(b""), "size": 0,
    });
    let add = |entry: &mut serde_json::Value| {
        entry["resources"].as_array_mut().unwrap().push(added.clone());
    };
    assert_eq!(changes(allows(&add)), (1, 0, 0, false));
    let remove = |entry: &mut serde_json::Value| {
        entry["resources"].as_array_mut().unwrap().retain(|file| file["uri"] == base["uri"]);
    };
    assert_eq!(changes(allows(&remove)), (0, 1, 0, false));
    assert_eq!(
        changes(allows(&|entry| entry["resources"][0]["size"] = 9.into())),
        (0, 0, 1, false)
    );
    let describe = |entry: &mut serde_json::Value| {
        entry["frontmatter"]["description"] = "Does something else.".into();
    };
    assert_eq!(changes(allows(&describe)), (0, 0, 0, true));
}

#[test]
fn a_lock_is_written_in_one_way_and_read_back() {
    let (lock, skill) = locked();
    let text = lock.to_string();
    assert_eq!(LockFile::parse(&text).unwrap(), lock);
    assert_eq!(LockFile::parse(&text).unwrap().to_string(), text);
    // The order of insertion does not change the file.
    let (mut again, _) = locked();
    assert!(again.remove(&skill) && !again.remove(&skill));
    let grants = lock.allows(&skill, &content(&skill, "one")).unwrap();
    again.insert(&skill, &content(&skill, "one"), grants);
    assert_eq!(again.to_string(), text);
    let expected = format!(
        r#"# Skills that may be loaded without asking, exactly as they are here.
# Review changes as you would review code.
version = 1

[[skill]]
server = "acme"
uri = "skill://acme/refunds/SKILL.md"
name = "refunds"
fingerprint = "{}"
frontmatter = "{}"
tools = ["Bash(git:*)", "Read"]
execute = true
files = [
    {{ path = "SKILL.md", digest = "{}", size = 3 }},
    {{ path = "refs/b c.md", digest = "{}", size = 1 }},
]
"#,
        content(&skill, "one").fingerprint(),
        content(&skill, "one").frontmatter_digest(),
        Digest::of(b"one"),
        Digest::of(b"b"),
    );
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(LockFile::parse(&LockFile::default().to_string()).unwrap(), LockFile::default());
}

#[test]
fn names_that_hide_something_are_visible_to_a_reviewer() {
    let skill = refunds("acme");
    let mut entry = serde_json::to_value(content(&skill, "one").entry()).unwrap();
    entry["resources"][1]["uri"] = "skill://acme/refunds/%E2%80%AE%0A%22%5C%C3%A9".into();
    let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
    let mut lock = LockFile::default();
    let tools = ["Read\u{200b}".to_owned()].into();
    let content = ContentSet::of(&entry).unwrap();
    lock.insert(&skill, &content, Grants { tools, ..Grants::load_only() });
    let text = lock.to_string();
    assert!(text.contains(r#"path = "\U0000202E\U0000000A\"\\é""#), "{text}");
    assert!(text.contains(r#"tools = ["Read\U0000200B"]"#), "{text}");
    assert_eq!(LockFile::parse(&text).unwrap(), lock);
}

#[test]
fn a_lock_holds_what_scripts_get_and_no_more_than_can_be_granted() {
    let skill = refunds("acme");
    let run: crate::RunGrants = serde_json::from_value(json!({
        "network": ["*.example.com:443"], "env": ["TOKEN"], "inputs": ["/x/\u{202e}data"],
        "memory": 1024, "time": 120,
    }))
    .unwrap();
    let grants = Grants::load_only().with_scripts(run).with_remote_scripts();
    let mut lock = LockFile::default();
    assert!(lock.insert(&skill, &content(&skill, "one"), grants.clone()));
    let text = lock.to_string();
    let line = r#"run = { network = ["*.example.com:443"], env = ["TOKEN"], inputs = ["/x/\U0000202Edata"], memory = 1024, time = 120 }"#;
    assert!(text.contains(line), "{text}");
    assert!(text.contains("\nremote_execute = true\n"), "{text}");
    let read = LockFile::parse(&text).unwrap();
    assert_eq!(read.allows(&skill, &content(&skill, "one")), Ok(grants));
    for (from, to) in [("*.example.com:443", "*:443"), ("time = 120", "all = true")] {
        assert!(LockFile::parse(&text.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn an_edited_lock_is_refused_rather_than_guessed_at_h_65() {
    let text = locked().0.to_string();
    let twice = format!("{text}{}", &text[text.find("\n[[skill]]").unwrap()..]);
    let (one, other) = (Digest::of(b"one").to_string(), Digest::of(b"evil").to_string());
    let edit = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    for bad in [
        twice,
        edit("version = 1", "version = 3"),
        edit("version = 1", "version = 1\nunknown = 1"),
        edit("version = 1\n", ""),
        edit("server = \"acme\"", "server = \"A\""),
        edit("server = \"acme\"\n", ""),
        edit("execute = true", "execute = \"true\""),
        edit("execute = true", "execute = true\nexec = true"),
        edit("tools = [", "tools = [1, "),
        edit("name = \"refunds\"", "name = \"billing\""),
        edit("/refunds/SKILL.md", "/refunds/../SKILL.md"),
        edit(&one, &other),
        edit("size = 3", "size = 4"),
        edit("size = 3", "size = -3"),
        edit("size = 3", "size = 3.0"),
        edit("path = \"SKILL.md\"", "path = \"../SKILL.md\""),
        edit("path = \"SKILL.md\"", "path = \"OTHER.md\""),
        edit("path = \"refs/b c.md\"", "path = \"SKILL.md\""),
        edit("frontmatter = \"sha256:", "frontmatter = \"sha512:"),
        edit("files = [", "<<<<<<< HEAD\nfiles = ["),
        " ".repeat(17 * 1024 * 1024),
        text[..text.len() / 2].to_owned(),
    ] {
        assert!(LockFile::parse(&bad).is_err(), "{}", &bad[..bad.len().min(2000)]);
    }
}

#[test]
fn a_user_with_other_labels_gets_the_same_skills_of_the_same_servers() {
    let (mut lock, skill) = locked();
    let label = |text: &str| ServerLabel::parse(text).unwrap();
    lock.set_server(&label("acme"), "https://skills.test/mcp");
    lock.set_server(&label("other"), "https://other.test/mcp");
    let text = lock.to_string();
    assert!(text.contains("version = 2\n"), "{text}");
    assert_eq!(LockFile::parse(&text).unwrap(), lock);
    let mine = |address: &str| (address == "https://skills.test/mcp").then(|| label("work"));
    let relabelled = lock.clone().relabelled(mine, |_| false);
    let at_work = refunds("work");
    assert!(relabelled.allows(&at_work, &content(&at_work, "one")).is_ok());
    assert_eq!(
        relabelled.allows(&skill, &content(&skill, "one")),
        Err(LockMismatch::NotLocked),
        "the old label means nothing here"
    );
    assert_eq!(relabelled.skills().count(), 2);
    // A label that means another server here must not get what was locked for that one.
    let relabelled = lock.relabelled(mine, |taken| taken == "other");
    assert_eq!(relabelled.skills().count(), 1);
}

#[test]
fn tables_of_other_readers_and_the_first_version_are_read() {
    let text = "version = 2\n[[source]]\nname = \"pdf\"\nwhat = 1\n";
    assert_eq!(LockFile::parse(text).unwrap(), LockFile::default());
    assert_eq!(LockFile::parse("version = 1\n").unwrap(), LockFile::default());
    assert!(LockFile::parse("version = 3\n").is_err());
    assert!(LockFile::parse("version = 2\n[[server]]\nlabel = \"A B\"\nurl = \"x\"\n").is_err());
}
