//! The messages that the server received.

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{sync::watch, time::timeout};

/// A test that waits longer than this has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One message that the server received.
#[derive(Debug, Clone)]
pub struct LoggedMessage {
    /// The method; `(response)` for an answer, `(disconnected)` when the client gave up a request.
    pub method: String,
    /// The parameters, or the whole message of an answer.
    pub params: Value,
    /// The headers it came with, names in lower case; none over pipes.
    pub headers: Vec<(String, String)>,
    /// What the protocol requires and the message lacks.
    pub complaints: Vec<String>,
}

impl LoggedMessage {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
pub(super) struct MessageLog {
    entries: Mutex<Vec<LoggedMessage>>,
    grown: watch::Sender<()>,
}

impl MessageLog {
    pub(super) fn push(&self, logged: LoggedMessage) {
        self.entries.lock().push(logged);
        self.grown.send_replace(());
    }

    pub(super) fn all(&self) -> Vec<LoggedMessage> {
        self.entries.lock().clone()
    }

    pub(super) fn clear(&self) {
        self.entries.lock().clear();
    }

    pub(super) async fn wait_for(&self, method: &str, count: usize) {
        let mut grown = self.grown.subscribe();
        let is_reached =
            || self.entries.lock().iter().filter(|l| l.method == method).count() >= count;
        let waited = async {
            while !is_reached() {
                let _ = grown.changed().await;
            }
        };
        let reached = timeout(TIMEOUT, waited).await;
        assert!(reached.is_ok(), "{count} of {method} never came: {:?}", self.all());
    }
}
