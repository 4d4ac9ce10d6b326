//! Which caller called which tool of an upstream: collected in memory until it is in the audit log.

use parking_lot::Mutex;
use skillwire_gateway::{CallAudit, CallOutcome, CallRecord as EndedCall};
use skillwire_hub_store::{CallRecord, HubStore, StoreError};
use skillwire_server::metrics::{LabelledCounter, Metrics};

use crate::reads::subject_of;

/// The most calls that wait. Further ones are counted, and the log says how many are missing.
const MOST_WAITING: usize = 20_000;

/// Entries of one transaction. Writers take turns, and a publication must not wait long for its own.
const ENTRIES_AT_ONCE: usize = 256;

/// Collects calls until they are written to the audit log.
pub(crate) struct CallLog {
    store: HubStore,
    waiting: Mutex<WaitingCalls>,
    counted: LabelledCounter,
}

#[derive(Default)]
struct WaitingCalls {
    calls: Vec<CallRecord>,
    lost: u64,
}

impl WaitingCalls {
    fn add(&mut self, call: CallRecord) {
        if self.calls.len() < MOST_WAITING {
            self.calls.push(call);
        } else {
            self.lost += 1;
        }
    }
}

impl std::fmt::Debug for CallLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallLog").finish_non_exhaustive()
    }
}

impl CallLog {
    pub(crate) fn new(store: HubStore, metrics: &Metrics) -> Self {
        let counted = metrics.labelled_counter(
            "upstream_calls",
            "Calls of tools and prompts that were passed on to upstreams",
            &["upstream", "method", "outcome"],
        );
        Self { store, waiting: Mutex::default(), counted }
    }

    /// Writes what waits now. What could not be written goes on to wait. Only one task at a time may do so.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let WaitingCalls { calls: mut rest, mut lost } = std::mem::take(&mut *self.waiting.lock());
        while !rest.is_empty() || lost > 0 {
            let later = rest.split_off(rest.len().min(ENTRIES_AT_ONCE));
            if let Err(error) = self.store.record_calls(&rest, lost).await {
                let mut waiting = self.waiting.lock();
                let meanwhile = std::mem::take(&mut waiting.calls);
                rest.into_iter().chain(later).chain(meanwhile).for_each(|call| waiting.add(call));
                waiting.lost += lost;
                return Err(error);
            }
            (rest, lost) = (later, 0);
        }
        Ok(())
    }
}

impl CallAudit for CallLog {
    fn called(&self, record: &EndedCall<'_>) {
        let EndedCall { caller, upstream, method, name, outcome, took } = record;
        let word = match outcome {
            CallOutcome::Answered => "answered",
            CallOutcome::Failed(_) => "failed",
            CallOutcome::Asked => "asked",
            CallOutcome::Cancelled => "cancelled",
        };
        self.counted.with(&[upstream.as_str(), method, word]).inc();
        let outcome = match outcome {
            CallOutcome::Failed(code) => format!("{word} ({code})"),
            _ => word.to_owned(),
        };
        let actor = match subject_of(&caller.name) {
            "" => "anonymous",
            subject => subject,
        };
        self.waiting.lock().add(CallRecord {
            actor: actor.to_owned(),
            upstream: upstream.to_string(),
            method,
            name: (*name).to_owned(),
            outcome,
            ended_at: self.store.now(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

#[cfg(test)]
mod tests {
    use skillwire_hub::Timestamp;

    use super::*;

    #[test]
    fn waiting_calls_are_bounded_and_what_is_lost_is_counted() {
        let mut waiting = WaitingCalls::default();
        for number in 0..MOST_WAITING + 3 {
            waiting.add(CallRecord {
                actor: "ana".to_owned(),
                upstream: "docs".to_owned(),
                method: "tools/call",
                name: number.to_string(),
                outcome: "answered".to_owned(),
                ended_at: Timestamp::from_millis(0),
                took_ms: 1,
            });
        }
        assert_eq!((waiting.calls.len(), waiting.lost), (MOST_WAITING, 3));
    }
}
