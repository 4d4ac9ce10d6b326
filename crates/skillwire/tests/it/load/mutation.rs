//! A tree of skills that keeps changing while modern and legacy clients list, get and read.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use super::say;
use super::{
    client::LoadClient,
    history::{TreeHistory, digest, manifest},
    mutator::Mutator,
};
use crate::support::{HttpServer, StdioServer};

/// How soon after the last change the server must serve the tree as it is.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);

/// When readers stop: after some time, and once a file has changed under a reader, which takes
/// longer on a busy machine.
struct StopCondition {
    time: Instant,
    changed: AtomicBool,
}

impl StopCondition {
    fn is_over(&self) -> bool {
        let now = Instant::now();
        now > self.time
            && (self.changed.load(Ordering::Relaxed) || now > self.time + SETTLE_TIMEOUT)
    }
}

/// What one reader counted.
#[derive(Debug, Default)]
struct ReaderTotals {
    walks: usize,
    /// Files whose bytes had the digest in the entry.
    verified: usize,
    /// Files that were replaced after the entry was read and before the bytes were.
    replaced: usize,
    /// Files and skills that the server did not have any more.
    refused: usize,
}

/// Lists, gets and reads until the readers stop, and checks every answer.
async fn read(
    mut client: LoadClient,
    history: Arc<TreeHistory>,
    enough: Arc<StopCondition>,
) -> (LoadClient, ReaderTotals) {
    let mut seen = ReaderTotals::default();
    // Each reader sees the tree at least once.
    while seen.walks == 0 || !enough.is_over() {
        let entries = client.list().await;
        let uris: Vec<_> = entries.iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
        assert!(uris.is_sorted_by(|a, b| a < b), "out of order, or twice: {uris:?}");
        for (number, listed) in entries.iter().enumerate() {
            history.assert_whole(listed);
            // Starts in another part of the tree each time.
            if number % 5 == seen.walks % 5 {
                verify(&mut client, &history, listed, &mut seen).await;
            }
            if seen.replaced + seen.refused > 0 {
                enough.changed.store(true, Ordering::Relaxed);
            }
        }
        seen.walks += 1;
    }
    (client, seen)
}

/// Reads every file of a skill and compares it with the skill's entry before and after the read.
async fn verify(
    client: &mut LoadClient,
    history: &TreeHistory,
    listed: &Value,
    seen: &mut ReaderTotals,
) {
    let Some(mut before) = get(client, history, &listed["uri"], seen).await else { return };
    for uri in manifest(&before).into_keys() {
        let bytes = match client.ask("resources/read", json!({ "uri": uri })).await {
            Ok(result) => result["contents"][0]["text"].as_str().unwrap().as_bytes().to_vec(),
            Err(code) => {
                assert!(is_clean(code), "{uri}: {code}");
                seen.refused += 1;
                continue;
            }
        };
        history.assert_held(&uri, &bytes);
        let Some(after) = get(client, history, &listed["uri"], seen).await else { return };
        let digests = [&before, &after].map(|entry| manifest(entry).remove(&uri));
        // No two versions share bytes, so if the entry is the same now, it did not change in
        // between.
        if digests.contains(&Some(digest(&bytes))) {
            seen.verified += 1;
        } else {
            assert_ne!(digests[0], digests[1], "{uri} is not what its entry says");
            seen.replaced += 1;
        }
        before = after;
    }
}

async fn get(
    client: &mut LoadClient,
    history: &TreeHistory,
    uri: &Value,
    seen: &mut ReaderTotals,
) -> Option<Value> {
    match client.ask("skills/get", json!({ "uri": uri })).await {
        Ok(result) => {
            history.assert_whole(&result["skill"]);
            Some(result["skill"].clone())
        }
        Err(code) => {
            assert!(is_clean(code), "{uri}: {code}");
            seen.refused += 1;
            None
        }
    }
}

/// Whether an error of either era says that a resource does not exist.
fn is_clean(code: i64) -> bool {
    matches!(code, -32602 | -32002)
}

/// Changes a tree for some time while modern and legacy clients read it.
async fn mutate(time: Duration) {
    let folder = SkillFolder::new();
    let history = Arc::new(TreeHistory::default());
    let mutator = Mutator::new(&folder, Arc::clone(&history));
    let arguments = ["skills", "--page-size", "7"];
    let server = HttpServer::serve(&folder, &arguments).await;
    let piped = StdioServer::serve(&folder, &[&arguments[..], &["--no-index"]].concat());
    let time = Instant::now() + time;
    let enough = Arc::new(StopCondition { time, changed: AtomicBool::new(false) });
    let mut readers = Vec::new();
    for client in [
        LoadClient::modern(server.address).await,
        LoadClient::modern(server.address).await,
        LoadClient::legacy(server.address).await,
        LoadClient::legacy(server.address).await,
        LoadClient::StdioServer(Box::new(piped)),
    ] {
        readers.push(tokio::spawn(read(client, Arc::clone(&history), Arc::clone(&enough))));
    }
    let changes =
        tokio::task::spawn_blocking(move || mutator.run(|| enough.is_over())).await.unwrap();
    let expected = Mutator::on_disk(&folder.join("skills"));
    let mut total = ReaderTotals::default();
    for reader in readers {
        let (mut client, one) = reader.await.expect("every answer was a good one");
        assert!(one.walks > 0 && one.verified > 0, "{one:?}");
        total.walks += one.walks;
        total.verified += one.verified;
        total.replaced += one.replaced;
        total.refused += one.refused;
        let started = Instant::now();
        loop {
            let mut listed: Vec<_> = client.list().await.iter().map(manifest).collect();
            listed.sort();
            if listed == expected {
                break;
            }
            assert!(started.elapsed() < SETTLE_TIMEOUT, "{listed:#?} is served, not {expected:#?}");
        }
    }
    say(format_args!("{changes} changes, {total:?}"));
    assert!(changes > 0);
    assert!(total.replaced + total.refused > 0, "nothing changed under a reader: {total:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_sees_half_of_a_change_srv_52_v_58() {
    mutate(Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `bash tools/soak` runs it"]
async fn no_client_sees_half_of_a_change_for_minutes_srv_52_v_58() {
    mutate(Duration::from_mins(2)).await;
}
