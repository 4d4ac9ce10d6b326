//! Repeats everything that costs a server something, and checks that it then holds what it held
//! before.

use std::time::Instant;

use serde_json::json;
use skillwire_testkit::{SkillFolder, modern_request};

use super::say;
use super::{
    crowd::{cancel_over_http, crowd, gone, stalled, taken_back_on_a_pipe},
    subscribers::{FILES_PER_SESSION, LegacySessions, all_hear, on_a_pipe, streams},
    vitals::{ServerVitals, of_process, open_files_limit},
};
use crate::support::{HttpServer, StdioServer};

/// Connections that a server takes at once.
const MAX_CONNECTIONS: usize = 1_024;

/// How much load each round makes.
struct SoakPlan {
    rounds: usize,
    /// Connections beyond the limit.
    beyond: usize,
    /// Large files; in the long form more than the server caches.
    large: usize,
    /// Clients that never read.
    silent: usize,
    /// Whether the round waits until the server closes their connections.
    given_up: bool,
    /// Requests that are cancelled in each of three ways.
    cancelled: usize,
    /// Streams of notifications, each with a hundred files.
    streams: usize,
    /// Files that legacy sessions subscribe to.
    subscribed: usize,
    /// Subscriptions that are requested over stdio.
    piped: usize,
    /// Idle threads that may be left after a round. They end after ten seconds.
    idle: usize,
    /// KiB of resident memory that the allocator may add between the first round and the last. In
    /// the long form that is about 400 bytes for each cancelled request.
    slack: usize,
}

const SHORT: SoakPlan = SoakPlan {
    rounds: 2,
    beyond: 16,
    large: 3,
    silent: 8,
    given_up: false,
    cancelled: 200,
    streams: 20,
    subscribed: 1_000,
    piped: 400,
    idle: 48,
    // Too few requests to show a leak of memory; this finds leaks of descriptors, threads and
    // streams.
    slack: 24 * 1024,
};

const LONG: SoakPlan = SoakPlan {
    rounds: 3,
    beyond: 500,
    large: 40,
    silent: 200,
    given_up: true,
    cancelled: 5_000,
    streams: 1_000,
    subscribed: 300_000,
    piped: 100_000,
    idle: 0,
    slack: 8 * 1024,
};

/// How many descriptors and threads a server may add after its first answer.
const STARTING: usize = 4;

/// A folder with enough files to subscribe to and many large files, and the URIs of the small ones.
fn folder(large: usize) -> (SkillFolder, Vec<String>) {
    let folder = SkillFolder::new();
    let mut uris = Vec::new();
    for skill in 0..10 {
        let name = format!("skills/s{skill}");
        folder.skill(&name);
        for file in 0..FILES_PER_SESSION / 10 {
            folder.file(&format!("{name}/f{file}.md"), format!("{skill} {file}"));
            uris.push(format!("skill://s{skill}/f{file}.md"));
        }
    }
    for number in 0..large {
        let name = format!("skills/large{number}");
        let text = format!("{number} {}", "x".repeat(4 << 20));
        folder.skill(&name).file(&format!("{name}/large.txt"), text);
    }
    (folder, uris)
}

async fn soak(plan: &SoakPlan) {
    let (folder, uris) = folder(plan.large);
    let server = HttpServer::serve(&folder, &["skills", "--metrics", "--no-index"]).await;
    let mut before = ServerVitals::of(&server).await;
    say(format_args!("at the start  {before}"));
    // The server may still be starting up: its watches and workers come with the first idle moment.
    // What a round leaves behind shows in the next one.
    before.descriptors += STARTING;
    before.threads += STARTING;
    let (mut after, mut pipe) = (Vec::new(), Vec::new());
    for round in 1..=plan.rounds {
        let started = Instant::now();
        one_round(plan, round, &folder, &server, &uris).await;
        let now = ServerVitals::back_to(&before, plan.idle, &server).await;
        say(format_args!("after round {round} {now} ({} s)", started.elapsed().as_secs()));
        after.push(now.memory);
        before = now;
        pipe.push(on_pipes(plan, &folder, &uris).await);
    }
    // The first round fills caches and the allocator's pools. After it nothing may grow.
    for memory in [after, pipe] {
        let (first, last) = (memory[0], memory[memory.len() - 1]);
        assert!(last <= first + plan.slack, "{memory:?} KiB");
    }
}

async fn one_round(
    plan: &SoakPlan,
    round: usize,
    folder: &SkillFolder,
    server: &HttpServer,
    uris: &[String],
) {
    let address = server.address;
    // The limit on open files also applies to the clients; `tools/soak` and `.ci/run` raise it.
    let crowded = (MAX_CONNECTIONS + plan.beyond).min(open_files_limit() / 2);
    crowd(address, crowded).await;
    say(format_args!("  {crowded} connections, {MAX_CONNECTIONS} at once: all answered"));
    let large = |number| format!("skill://large{}/large.txt", number % plan.large);
    let silent = stalled(address, plan.silent, large).await;
    say(format_args!("  {} silent readers: {}", plan.silent, ServerVitals::of(server).await));
    if plan.given_up {
        // The clients keep them open; the server has to close them.
        let mut open = plan.silent;
        let started = Instant::now();
        while open > 0 {
            assert!(started.elapsed().as_secs() < 120, "{open} silent readers are still held");
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            open = ServerVitals::of(server).await.connections;
        }
        say(format_args!("  given up by the server after {} s", started.elapsed().as_secs()));
    }
    drop(silent);
    gone(address, plan.cancelled, uris).await;
    cancel_over_http(address, plan.cancelled, uris).await;
    say(format_args!("  {} requests cancelled in each of two ways", plan.cancelled));
    let mut open = streams(address, plan.streams, &uris[..100]).await;
    folder.file("skills/s0/f0.md", format!("changed in round {round}"));
    all_hear(&mut open, "skill://s0/f0.md").await;
    say(format_args!(
        "  {} streams of 100 files: {}",
        plan.streams,
        ServerVitals::of(server).await
    ));
    drop(open);
    let mut sessions = LegacySessions::default();
    let held = sessions.subscribe(address, plan.subscribed, uris).await;
    say(format_args!(
        "  {held} of {} files held: {}",
        plan.subscribed,
        ServerVitals::of(server).await
    ));
    assert!(held == plan.subscribed || held >= 100_000, "{held}");
    sessions.end().await;
}

/// Loads a stdio server with cancelled requests and with more subscriptions than it can hold.
/// Returns the memory that it held at the end.
async fn on_pipes(plan: &SoakPlan, folder: &SkillFolder, uris: &[String]) -> usize {
    let mut server = StdioServer::serve(folder, &["skills", "--no-index"]);
    server.uris().await;
    let before = of_process(server.process.id());
    taken_back_on_a_pipe(&mut server, plan.cancelled, uris).await;
    let (held, refused) = on_a_pipe(&mut server, plan.piped).await;
    assert_eq!((held, refused), (256.min(plan.piped), plan.piped.saturating_sub(256)));
    for id in 0..plan.piped {
        let params = json!({ "requestId": id });
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        server.send(&cancelled).await;
    }
    // The server accepts the same ids again, so it has forgotten every request.
    let filter = json!({ "notifications": { "resourcesListChanged": true } });
    let again = server.request(&modern_request(0, "subscriptions/listen", filter)).await;
    assert_eq!(again.0["method"], "notifications/subscriptions/acknowledged");
    let (descriptors, _, memory) = of_process(server.process.id());
    // A scan of the folder may run at either moment, and holds a few descriptors.
    assert!(descriptors <= before.0 + 4, "{descriptors} descriptors, {} before", before.0);
    say(format_args!("  on a pipe: {held} subscriptions held, {refused} refused, {memory} KiB"));
    server.close().await.assert_exit(0);
    memory
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_under_load_holds_what_it_held_before_v_08_v_17_v_24() {
    soak(&SHORT).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `bash tools/soak` runs it"]
async fn long_v_08_v_17_v_24_a_server_under_load_holds_what_it_held_before() {
    soak(&LONG).await;
}
