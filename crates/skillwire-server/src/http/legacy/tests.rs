use skillwire_catalog::{Catalog, CursorSeal, SnapshotOptions};

use super::*;

const IDLE: Duration = Duration::from_hours(1);

#[test]
fn sessions_that_are_never_ended_make_room_for_new_ones_v_08_srv_105() {
    let sessions = Sessions::start(IDLE);
    let caller = Grant::for_everyone();
    let engine = engine();
    let open = || {
        let opened = sessions.open(&caller, &engine, ClientCapabilities::default(), None);
        opened.expect("an id")
    };
    let mut opened: Vec<_> = (0..MAX_SESSIONS).map(|_| open()).collect();
    let first = session(&sessions, &opened[0]);
    // The second was used last, though it is old; the third has an open stream.
    *session(&sessions, &opened[1]).used.lock() = Instant::now();
    *session(&sessions, &opened[2]).streaming.lock() = true;
    opened.push(open());
    let left = sessions.open.lock();
    assert!(left.len() <= MAX_SESSIONS && left.len() > MAX_SESSIONS / 2, "{}", left.len());
    assert!(!left.contains_key(&opened[0]));
    assert!(left.contains_key(&opened[1]));
    assert!(left.contains_key(&opened[2]));
    assert!(left.contains_key(&opened[MAX_SESSIONS]));
    assert!(*first.ended.borrow(), "its stream ends with it");
}

#[test]
fn a_caller_cannot_end_the_sessions_of_another_sec_13() {
    let sessions = Sessions::start(IDLE);
    let engine = engine();
    let open = |name: &str| {
        let caller = Caller { name: name.to_owned(), ..Caller::default() };
        let grant = Grant::new(caller, skillwire_catalog::VisibleSkills::Everything);
        let opened = sessions.open(&grant, &engine, ClientCapabilities::default(), None);
        opened.expect("an id")
    };
    let quiet = open("alice");
    for _ in 0..MAX_SESSIONS + 50 {
        open("mallory");
    }
    let left = sessions.open.lock();
    assert!(left.contains_key(&quiet), "the oldest session belongs to another caller");
    assert!(left.len() <= MAX_SESSIONS, "{}", left.len());
}

#[test]
fn unused_sessions_end_by_themselves_v_08() {
    let sessions = Sessions::start(IDLE);
    let engine = engine();
    let metrics = engine.metrics();
    let [idle, listening] = [0, 1].map(|_| {
        let caller = Grant::for_everyone();
        let opened = sessions.open(&caller, &engine, ClientCapabilities::default(), None);
        opened.expect("an id")
    });
    *session(&sessions, &listening).streaming.lock() = true;
    sessions.end_idle(Instant::now() + IDLE / 2);
    assert_eq!(metrics.sessions.get(), 2);
    sessions.end_idle(Instant::now() + IDLE);
    let left = sessions.open.lock();
    assert!(!left.contains_key(&idle) && left.contains_key(&listening));
    assert_eq!(metrics.sessions.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_end_without_a_listener_of_ours_v_08() {
    let sessions = Sessions::start(Duration::from_mins(5));
    let engine = engine();
    let open = || {
        sessions
            .open(&Grant::for_everyone(), &engine, ClientCapabilities::default(), None)
            .expect("an id")
    };
    open();
    let listening = open();
    *session(&sessions, &listening).streaming.lock() = true;
    tokio::time::sleep(Duration::from_mins(4)).await;
    assert_eq!(engine.metrics().sessions.get(), 2);
    tokio::time::sleep(Duration::from_mins(3)).await;
    assert_eq!(engine.metrics().sessions.get(), 1, "one is used by its stream");
}

fn engine() -> Engine {
    let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
    Engine::builder(catalog, CursorSeal::new([0; 32])).build()
}

fn session(sessions: &Sessions, id: &str) -> Arc<Session> {
    Arc::clone(&sessions.open.lock()[id])
}
