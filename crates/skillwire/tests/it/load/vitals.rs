//! Descriptors, threads, memory and connections of a server, as the system and the server count
//! them.

use std::{
    fmt, fs,
    time::{Duration, Instant},
};

use crate::support::HttpServer;

/// How long a server may take to release what it no longer uses. Idle threads live for ten seconds.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// What a server holds at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerVitals {
    pub(super) descriptors: usize,
    pub(super) threads: usize,
    /// Resident memory in KiB.
    pub(super) memory: usize,
    pub(super) connections: usize,
    pub(super) streams: usize,
    pub(super) sessions: usize,
}

impl ServerVitals {
    /// Measures a server that answers `/metrics`.
    pub(super) async fn of(server: &HttpServer) -> Self {
        let numbers = server.get("/metrics").await.text();
        let gauge = |name: &str| -> usize {
            let line = numbers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}"))
        };
        let (descriptors, threads, memory) = of_process(server.process.id());
        Self {
            descriptors,
            threads,
            memory,
            // Without the connection that asks for the metrics.
            connections: gauge("skillwire_connections") - 1,
            streams: gauge(r#"skillwire_streams{mount="/mcp"}"#),
            sessions: gauge(r#"skillwire_sessions{mount="/mcp"}"#),
        }
    }

    /// Waits until a server holds no more than before, apart from `idle` threads.
    pub(super) async fn back_to(before: &Self, idle: usize, server: &HttpServer) -> Self {
        let started = Instant::now();
        loop {
            let now = Self::of(server).await;
            let back = now.descriptors <= before.descriptors
                && now.threads <= before.threads + idle
                && (now.connections, now.streams, now.sessions) == (0, 0, 0);
            if back {
                return now;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "{now} is left, not {before}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl fmt::Display for ServerVitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { descriptors, threads, memory, connections, streams, sessions } = self;
        write!(
            f,
            "{descriptors:5} descriptors {threads:3} threads {memory:7} KiB {connections:5} connections \
             {streams:5} streams {sessions:5} sessions"
        )
    }
}

/// Open descriptors, threads and resident memory of a process.
pub(super) fn of_process(id: u32) -> (usize, usize, usize) {
    let descriptors = fs::read_dir(format!("/proc/{id}/fd")).unwrap().count();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (descriptors, number("Threads:"), number("VmRSS:"))
}

/// How many files this process and each process that it starts may have open.
pub(super) fn open_files_limit() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX)
}
