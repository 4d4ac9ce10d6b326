//! What a server was sent.

use std::{sync::Mutex, time::Duration};

use serde_json::Value;
use tokio::{sync::watch, time::timeout};

use super::lock;

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// One message that came.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The method; `(response)` for an answer, `(disconnected)` for a request nobody waits for.
    pub method: String,
    /// The parameters, or the whole message of an answer.
    pub params: Value,
    /// The headers it came with, names in lower case; none over pipes.
    pub headers: Vec<(String, String)>,
    /// What it lacks that the protocol asks for.
    pub complaints: Vec<String>,
}

impl Logged {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
pub(super) struct Log {
    entries: Mutex<Vec<Logged>>,
    grown: watch::Sender<()>,
}

impl Log {
    pub(super) fn push(&self, logged: Logged) {
        lock(&self.entries).push(logged);
        self.grown.send_replace(());
    }

    pub(super) fn all(&self) -> Vec<Logged> {
        lock(&self.entries).clone()
    }

    pub(super) fn clear(&self) {
        lock(&self.entries).clear();
    }

    pub(super) async fn wait_for(&self, method: &str, count: usize) {
        let mut grown = self.grown.subscribe();
        let reached = || lock(&self.entries).iter().filter(|l| l.method == method).count() >= count;
        let waited = async {
            while !reached() {
                let _ = grown.changed().await;
            }
        };
        let came = timeout(PATIENCE, waited).await;
        assert!(came.is_ok(), "{count} of {method} never came: {:?}", self.all());
    }
}
