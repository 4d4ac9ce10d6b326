//! Calls of modern clients that wait for the user's answer to a question of a legacy server.
//!
//! A modern client ends its request to ask its user, and sends it again with the answer. A legacy
//! server keeps its call open meanwhile. The gateway therefore holds the call at the server until
//! the client comes back; the sealed state of the client names it.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;
use skillwire_client::Question;
use tokio::time::Instant;

use super::running::RunningCall;

/// The most calls of one server that wait. When there are more, the oldest is cancelled.
const MAX_PARKED: usize = 16;

/// How long a user may take to answer.
const PATIENCE: Duration = Duration::from_mins(10);

/// A call that waits for an answer.
pub(super) struct ParkedCall {
    pub(super) call: RunningCall,
    pub(super) question: Question,
}

/// The calls of one server that wait for answers, in the order in which they began to wait.
#[derive(Default)]
pub(super) struct ParkedCalls(Mutex<ParkedState>);

#[derive(Default)]
struct ParkedState {
    next: u64,
    waiting: BTreeMap<u64, (Instant, ParkedCall)>,
}

impl ParkedCalls {
    /// Holds a call, and returns the number that names it.
    pub(super) fn park(&self, call: ParkedCall) -> u64 {
        let mut state = self.0.lock();
        let now = Instant::now();
        state.waiting.retain(|_, (since, _)| now.duration_since(*since) < PATIENCE);
        if state.waiting.len() >= MAX_PARKED {
            state.waiting.pop_first();
        }
        state.next += 1;
        let number = state.next;
        state.waiting.insert(number, (now, call));
        number
    }

    /// Takes a call that still waits.
    pub(super) fn take(&self, number: u64) -> Option<ParkedCall> {
        let (since, call) = self.0.lock().waiting.remove(&number)?;
        (since.elapsed() < PATIENCE).then_some(call)
    }
}
