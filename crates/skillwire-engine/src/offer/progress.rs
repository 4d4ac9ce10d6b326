//! Reports to a client how far one of its requests has come.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;
use skillwire_protocol::{RequestId, meta, method};
use tokio::sync::mpsc;

use super::link::Link;
use crate::payload::OutgoingMessage;

/// Reports progress to a client, if the client wants that and the transport allows it.
#[derive(Debug)]
pub struct Progress {
    way: Option<(RequestId, mpsc::Sender<OutgoingMessage>)>,
    told: AtomicU64,
}

impl Progress {
    /// Creates the progress of a request from its metadata and its link.
    pub(crate) fn of(meta: Option<&RawValue>, link: &Link) -> Self {
        let way = meta::progress_token(meta).zip(link.messages.clone());
        Self { way, told: AtomicU64::new(0) }
    }

    /// Reports to the client how far the call has come, if it wants to know.
    ///
    /// A client that does not read misses the report. A number that is not larger than the last one
    /// is not sent.
    pub fn tell(&self, done: u64, total: Option<u64>, text: &str) {
        let Some((token, messages)) = &self.way else { return };
        if self.told.fetch_max(done, Ordering::Relaxed) >= done {
            return;
        }
        let total = total.map(|total| format!(r#","total":{total}"#)).unwrap_or_default();
        let text = serde_json::Value::from(text);
        // The token is inserted as text, because an integer may be larger than a JSON value can
        // hold.
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"{}","params":{{"progressToken":{token},"progress":{done}{total},"message":{text}}}}}"#,
            method::PROGRESS
        );
        let _ = messages.try_send(message.into());
    }
}
