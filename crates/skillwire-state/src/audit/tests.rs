//! What the log keeps, and what it says about lines it cannot read.

use std::{fs, time::SystemTime};

use skillwire_core::{ContentId, Digest};
use skillwire_trust::{Action, Decision, Reason, testing::id};
use tempfile::TempDir;

use super::*;

fn log() -> (TempDir, AuditLog) {
    let place = TempDir::new().unwrap();
    let log = AuditLog::new(place.path().join("state"));
    (place, log)
}

fn event(detail: &str) -> Event {
    Event {
        time: SystemTime::now(),
        skill: Some(id("acme", "skill://acme/refunds/SKILL.md")),
        label: "acme".to_owned(),
        content: Some(Digest::of(b"content")),
        content_id: Some(ContentId::of([]).unwrap()),
        action: Action::CrossOriginRead,
        decision: Decision::Refused,
        reason: Some(Reason::NotGranted),
        detail: Some(detail.to_owned()),
    }
}

fn details(log: &AuditLog) -> Vec<Result<String, usize>> {
    let detail = |line: Result<Event, UnreadableLine>| match line {
        Ok(event) => Ok(event.detail.unwrap()),
        Err(unreadable) => Err(unreadable.line),
    };
    log.read().unwrap().map(detail).collect()
}

#[test]
fn events_come_back_in_order_and_whole() {
    let (_place, log) = log();
    assert_eq!(log.read().unwrap().count(), 0);
    let whole = event("one");
    let bare = Event {
        skill: None,
        content: None,
        content_id: None,
        action: Action::Remove,
        decision: Decision::Allowed,
        reason: None,
        detail: None,
        ..event("")
    };
    log.append(&whole).unwrap();
    log.append(&bare).unwrap();
    let read: Vec<Event> = log.read().unwrap().map(Result::unwrap).collect();
    assert_eq!(read, [whole, bare]);
    let text = fs::read_to_string(log.folder.join(CURRENT)).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "time",
            "label",
            "uri",
            "digest_set",
            "content_id",
            "action",
            "decision",
            "reason",
            "detail"
        ]
    );
    // A line of an earlier version has no identity of the content.
    let mut earlier = first;
    earlier.as_object_mut().unwrap().remove("content_id");
    let read = line::read(&earlier.to_string()).unwrap();
    assert_eq!((read.content, read.content_id), (event("").content, None));
}

#[test]
fn a_detail_cannot_forge_a_line_or_address_a_terminal() {
    let (_place, log) = log();
    let hostile = "x\n{\"time\":\"\"}\r\u{1b}]0;title\u{7}\0";
    log.append(&event(hostile)).unwrap();
    log.append(&event(&"ä".repeat(100_000))).unwrap();
    let text = fs::read_to_string(log.folder.join(CURRENT)).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    assert!(text.len() < 20_000);
    assert_eq!(details(&log)[0].as_deref(), Ok(hostile));
}

#[test]
fn a_torn_line_costs_itself_only_h_66() {
    let (_place, log) = log();
    log.append(&event("one")).unwrap();
    log.append(&event("two")).unwrap();
    let path = log.folder.join(CURRENT);
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    assert_eq!(details(&log), [Ok("one".to_owned()), Err(2)]);
    let torn = log.read().unwrap().nth(1).unwrap().unwrap_err();
    assert_eq!(
        torn.to_string(),
        "Line 2 of `audit.jsonl` cannot be read: it ends in the middle, as after a write that was \
         cut off."
    );
    log.append(&event("three")).unwrap();
    assert_eq!(details(&log), [Ok("one".to_owned()), Err(2), Ok("three".to_owned())]);
}

#[test]
fn lines_that_are_no_events_are_told_and_hide_nothing_h_65() {
    let (_place, log) = log();
    log.append(&event("one")).unwrap();
    let path = log.folder.join(CURRENT);
    let good = fs::read_to_string(&path).unwrap();
    let bad = [
        "",
        "{}",
        "\u{0}",
        &good.trim_end().replace("cross_origin_read", "trusted_read"),
        &good.trim_end().replace("not_granted", "granted"),
        &good.trim_end().replace("\"label\":\"acme\"", "\"label\":\"A b\""),
        &good.trim_end().replace("sha256:", "sha256:0"),
        &"x".repeat(MAX_LINE_BYTES * 3),
    ];
    let text = good.clone() + &bad.join("\n") + "\n" + &good;
    fs::write(&path, [text.as_bytes(), b"\xff\n"].concat()).unwrap();
    let read = details(&log);
    let expected: Vec<Result<String, usize>> = std::iter::once(Ok("one".to_owned()))
        .chain((2..=9).map(Err))
        .chain([Ok("one".to_owned()), Err(11)])
        .collect();
    assert_eq!(read, expected);
}

#[test]
fn no_line_is_lost_when_many_write_and_logs_are_put_away_h_66() {
    let (_place, log) = log();
    let log = log.bounded(3000);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..25 {
                    log.append(&event(&format!("{writer}-{number}"))).unwrap();
                }
            });
        }
    });
    let names: Vec<String> = fs::read_dir(&log.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names.iter().filter(|name| *name != LOCK) {
        assert!(fs::metadata(log.folder.join(name)).unwrap().len() <= 3000);
    }
    let read: Vec<String> = details(&log).into_iter().map(Result::unwrap).collect();
    for writer in 0..4 {
        let of_one = read.iter().filter(|detail| detail.starts_with(&format!("{writer}-")));
        let expected: Vec<String> = (0..25).map(|number| format!("{writer}-{number}")).collect();
        assert_eq!(of_one.cloned().collect::<Vec<_>>(), expected, "in order");
    }
}

#[cfg(unix)]
#[test]
fn the_log_is_the_users_alone_and_never_a_link_h_63_h_64() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (place, log) = log();
    log.append(&event("one")).unwrap();
    let path = log.folder.join(CURRENT);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let victim = place.path().join("victim");
    fs::rename(&path, &victim).unwrap();
    let before = fs::read(&victim).unwrap();
    symlink(&victim, &path).unwrap();
    assert!(log.append(&event("two")).is_err());
    assert!(log.read().is_err());
    fs::remove_file(&path).unwrap();
    fs::hard_link(&victim, &path).unwrap();
    assert!(log.append(&event("two")).is_err());
    assert_eq!(fs::read(&victim).unwrap(), before);
}
