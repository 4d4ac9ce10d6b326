//! Reports to a client how far one of its requests has come.

use parking_lot::Mutex;
use serde_json::{Number, value::RawValue};
use skillwire_protocol::{RequestId, meta, method};
use tokio::sync::mpsc;

use super::link::Link;
use crate::payload::OutgoingMessage;

/// Reports progress to a client, if the client wants that and the transport allows it.
#[derive(Debug)]
pub struct Progress {
    way: Option<(RequestId, mpsc::Sender<OutgoingMessage>)>,
    told: Mutex<f64>,
}

impl Progress {
    /// Creates the progress of a request from its metadata and its link.
    pub(crate) fn of(meta: Option<&RawValue>, link: &Link) -> Self {
        let way = meta::progress_token(meta).zip(link.messages.clone());
        Self { way, told: Mutex::new(f64::NEG_INFINITY) }
    }

    /// Reports to the client how far the call has come, if it wants to know.
    ///
    /// A client that does not read misses the report. A number that is not larger than the last one
    /// is not sent.
    pub fn tell(&self, done: u64, total: Option<u64>, text: &str) {
        self.pass_on(&done.into(), total.map(Number::from).as_ref(), Some(text));
    }

    /// Tells whether the client wants reports.
    pub fn is_wanted(&self) -> bool {
        self.way.is_some()
    }

    /// Passes on what another server reports, under the same rules as [`Self::tell`].
    pub fn pass_on(&self, done: &Number, total: Option<&Number>, text: Option<&str>) {
        let Some((token, messages)) = &self.way else { return };
        {
            let mut told = self.told.lock();
            let now = done.as_f64().unwrap_or(f64::NEG_INFINITY);
            if now <= *told {
                return;
            }
            *told = now;
        }
        let total = total.map(|total| format!(r#","total":{total}"#)).unwrap_or_default();
        let text = text.map(serde_json::Value::from);
        let text = text.map(|text| format!(r#","message":{text}"#)).unwrap_or_default();
        // The token is inserted as text, because an integer may be larger than a JSON value can
        // hold.
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"{}","params":{{"progressToken":{token},"progress":{done}{total}{text}}}}}"#,
            method::PROGRESS
        );
        let _ = messages.try_send(message.into());
    }
}
