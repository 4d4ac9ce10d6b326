//! Decides whose script runs next: callers take turns, and none of them holds every slot.
//!
//! A request waits here before anything is read for it. What waits is its arguments alone, and these
//! are counted.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How many runs there are at once, and how many requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueLimits {
    /// Scripts that run at once.
    pub running: usize,
    /// Scripts of one named caller that run at once, so that others find a free slot. Callers of a
    /// server without tokens have no names and share all slots.
    pub running_per_caller: usize,
    /// Requests that wait, of all callers together.
    pub waiting: usize,
    /// Requests of one caller that wait.
    pub waiting_per_caller: usize,
    /// Bytes of arguments that wait, of all callers together.
    pub waiting_bytes: usize,
}

impl QueueLimits {
    /// Sets how many scripts run at once. One named caller gets half of these slots.
    #[must_use]
    pub fn with_running(mut self, running: usize) -> Self {
        self.running = running.max(1);
        self.running_per_caller = (self.running / 2).max(1);
        self
    }

    /// Sets how many requests wait: of all callers together, and of one.
    #[must_use]
    pub fn with_waiting(mut self, all: usize, per_caller: usize) -> Self {
        self.waiting = all;
        self.waiting_per_caller = per_caller;
        self
    }

    /// Sets how many bytes of arguments wait.
    #[must_use]
    pub fn with_waiting_bytes(mut self, bytes: usize) -> Self {
        self.waiting_bytes = bytes;
        self
    }

    fn running_of(&self, caller: &str) -> usize {
        if caller.is_empty() { self.running } else { self.running_per_caller }
    }
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            running: 8,
            running_per_caller: 4,
            waiting: 512,
            waiting_per_caller: 128,
            waiting_bytes: 64 * 1024 * 1024,
        }
    }
}

/// The error for a request that finds no place to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests to run scripts wait already")]
pub struct QueueFull;

/// Requests that wait for a slot, and the runs that hold one. Clones share one queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunQueue(Arc<QueueShared>);

#[derive(Debug, Default)]
struct QueueShared {
    limits: QueueLimits,
    state: Mutex<RunQueueState>,
}

#[derive(Debug, Default)]
struct RunQueueState {
    running: usize,
    /// Callers with a run or a waiting request.
    callers: HashMap<Arc<str>, CallerRuns>,
    /// Callers with a waiting request; the first of them that may run another script is next.
    turns: VecDeque<Arc<str>>,
    waiting: usize,
    waiting_bytes: usize,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct CallerRuns {
    running: usize,
    waiting: VecDeque<WaitingRun>,
}

#[derive(Debug)]
struct WaitingRun {
    ticket: u64,
    bytes: usize,
    turn: oneshot::Sender<RunSlot>,
}

/// A request that waits for its turn. Dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct QueuedRun {
    shared: Arc<QueueShared>,
    caller: Arc<str>,
    ticket: u64,
    turn: oneshot::Receiver<RunSlot>,
}

/// A slot that a run holds. Dropping it lets the next one run.
#[derive(Debug)]
pub(crate) struct RunSlot {
    shared: Arc<QueueShared>,
    caller: Arc<str>,
}

impl RunQueue {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self(Arc::new(QueueShared { limits, state: Mutex::default() }))
    }

    /// Takes the last place of a caller. `bytes` is what the request holds while it waits.
    pub(crate) fn enter(&self, caller: &str, bytes: usize) -> Result<QueuedRun, QueueFull> {
        let shared = &self.0;
        let limits = &shared.limits;
        let (sender, turn) = oneshot::channel();
        let queued = {
            let mut state = shared.state.lock();
            let of_caller = state.callers.get(caller).map_or(0, |runs| runs.waiting.len());
            if state.waiting >= limits.waiting
                || of_caller >= limits.waiting_per_caller
                || state.waiting_bytes.saturating_add(bytes) > limits.waiting_bytes
            {
                return Err(QueueFull);
            }
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.waiting += 1;
            state.waiting_bytes += bytes;
            let caller: Arc<str> = caller.into();
            let runs = state.callers.entry(Arc::clone(&caller)).or_default();
            let is_first = runs.waiting.is_empty();
            runs.waiting.push_back(WaitingRun { ticket, bytes, turn: sender });
            if is_first {
                state.turns.push_back(Arc::clone(&caller));
            }
            QueuedRun { shared: Arc::clone(shared), caller, ticket, turn }
        };
        QueueShared::fill_slots(shared);
        Ok(queued)
    }
}

impl QueueShared {
    /// Gives free slots to those whose turn it is.
    fn fill_slots(shared: &Arc<Self>) {
        loop {
            let Some((caller, turn)) = shared.state.lock().next(&shared.limits) else { return };
            let slot = RunSlot { shared: Arc::clone(shared), caller };
            // The lock is free here: a request that has gone away returns the slot, and dropping a
            // slot locks the queue and fills it again.
            drop(turn.send(slot));
        }
    }
}

impl RunQueueState {
    /// Takes the next waiting run out, if there is a slot for it.
    fn next(&mut self, limits: &QueueLimits) -> Option<(Arc<str>, oneshot::Sender<RunSlot>)> {
        if self.running >= limits.running {
            return None;
        }
        let may_run = |caller: &Arc<str>| {
            self.callers.get(caller).is_some_and(|runs| runs.running < limits.running_of(caller))
        };
        let at = self.turns.iter().position(may_run)?;
        let caller = self.turns.remove(at)?;
        let runs = self.callers.get_mut(&caller)?;
        let run = runs.waiting.pop_front()?;
        runs.running += 1;
        if !runs.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&caller));
        }
        self.running += 1;
        self.waiting -= 1;
        self.waiting_bytes -= run.bytes;
        Some((caller, run.turn))
    }

    /// Removes a caller that has neither runs nor requests.
    fn forget_idle(&mut self, caller: &str) {
        let is_idle = |runs: &CallerRuns| runs.running == 0 && runs.waiting.is_empty();
        if self.callers.get(caller).is_some_and(is_idle) {
            self.callers.remove(caller);
        }
    }
}

impl QueuedRun {
    /// Waits for the turn of this request. Waiting may be given up and begun again.
    pub(crate) async fn turn(&mut self) -> Option<RunSlot> {
        (&mut self.turn).await.ok()
    }

    /// Returns how many waiting requests have their turn before this one.
    pub(crate) fn ahead(&self) -> usize {
        let state = self.shared.state.lock();
        let place =
            |runs: &CallerRuns| runs.waiting.iter().position(|run| run.ticket == self.ticket);
        let Some(own) = state.callers.get(&self.caller).and_then(place) else { return 0 };
        let before = state.turns.iter().take_while(|caller| **caller != self.caller).count();
        let others = state.turns.iter().enumerate().filter(|(_, caller)| **caller != self.caller);
        let ahead_of_others = others.map(|(at, caller)| {
            // Callers that come first in this round have one turn more.
            let turns = own + usize::from(at < before);
            state.callers.get(caller).map_or(0, |runs| runs.waiting.len().min(turns))
        });
        own + ahead_of_others.sum::<usize>()
    }
}

impl Drop for QueuedRun {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        let state = &mut *state;
        let Some(runs) = state.callers.get_mut(&self.caller) else { return };
        let at = runs.waiting.iter().position(|run| run.ticket == self.ticket);
        let Some(gone) = at.and_then(|at| runs.waiting.remove(at)) else { return };
        state.waiting -= 1;
        state.waiting_bytes -= gone.bytes;
        if runs.waiting.is_empty() {
            state.turns.retain(|caller| *caller != self.caller);
        }
        state.forget_idle(&self.caller);
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.running -= 1;
            if let Some(runs) = state.callers.get_mut(&self.caller) {
                runs.running -= 1;
            }
            state.forget_idle(&self.caller);
        }
        QueueShared::fill_slots(&self.shared);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn queue(limits: QueueLimits) -> RunQueue {
        RunQueue::new(limits)
    }

    /// The slot, if it is the request's turn now.
    fn slot(queued: &mut QueuedRun) -> Option<RunSlot> {
        queued.turn().now_or_never().flatten()
    }

    #[test]
    fn callers_take_turns_whoever_came_first_with_many_b_09() {
        let queue = queue(QueueLimits::default().with_running(1));
        let mut first = queue.enter("ann", 0).unwrap();
        let mut ann: Vec<_> = (0..100).map(|_| queue.enter("ann", 0).unwrap()).collect();
        let mut bob: Vec<_> = (0..2).map(|_| queue.enter("bob", 0).unwrap()).collect();
        let held = slot(&mut first).expect("the slot was free");
        assert_eq!((ann[0].ahead(), bob[0].ahead(), bob[1].ahead()), (0, 1, 3));
        drop(held);
        // One of Ann's, then one of Bob's, and so on.
        let held = slot(&mut ann[0]).expect("hers was next");
        assert!(slot(&mut bob[0]).is_none());
        drop(held);
        let held = slot(&mut bob[0]).expect("his comes before her second");
        assert!(slot(&mut ann[1]).is_none());
        drop(held);
        drop(slot(&mut ann[1]).expect("hers again"));
        assert!(slot(&mut bob[1]).is_some());
    }

    #[test]
    fn one_token_cannot_hold_every_slot_b_09() {
        let queue = queue(QueueLimits::default());
        let mut ann: Vec<_> = (0..100).map(|_| queue.enter("ann", 0).unwrap()).collect();
        let held: Vec<_> = ann.iter_mut().filter_map(slot).collect();
        assert_eq!(held.len(), 4);
        let mut bob = queue.enter("bob", 0).unwrap();
        assert_eq!(bob.ahead(), 0);
        assert!(slot(&mut bob).is_some(), "a slot is free for another caller");
        // Callers without names cannot be told apart, and share all slots.
        let queue = RunQueue::default();
        let mut all: Vec<_> = (0..100).map(|_| queue.enter("", 0).unwrap()).collect();
        assert_eq!(all.iter_mut().filter_map(slot).collect::<Vec<_>>().len(), 8);
    }

    #[test]
    fn waiting_requests_and_their_bytes_are_bounded_b_09() {
        let limits =
            QueueLimits::default().with_running(1).with_waiting(4, 2).with_waiting_bytes(100);
        let queue = queue(limits);
        let mut running = queue.enter("ann", 60).unwrap();
        let slot = slot(&mut running);
        assert!(slot.is_some());
        let waiting = queue.enter("ann", 60).unwrap();
        assert_eq!(queue.enter("bob", 60).unwrap_err(), QueueFull, "bytes of all callers count");
        drop(waiting);
        let mut waiting = vec![queue.enter("bob", 60).unwrap(), queue.enter("bob", 0).unwrap()];
        assert_eq!(queue.enter("bob", 0).unwrap_err(), QueueFull);
        waiting.extend([queue.enter("cy", 0).unwrap(), queue.enter("cy", 0).unwrap()]);
        assert_eq!(queue.enter("dee", 0).unwrap_err(), QueueFull);
        drop((slot, waiting, running));
        let state = queue.0.state.lock();
        assert_eq!((state.running, state.waiting, state.waiting_bytes), (0, 0, 0));
        assert!(state.callers.is_empty() && state.turns.is_empty(), "nothing is kept");
    }

    #[test]
    fn a_request_that_goes_away_frees_its_place_or_its_slot() {
        let queue = queue(QueueLimits::default().with_running(1));
        let mut first = queue.enter("", 0).unwrap();
        let second = queue.enter("", 0).unwrap();
        let mut third = queue.enter("", 0).unwrap();
        let held = slot(&mut first);
        // The second gets the slot and goes away before it looks.
        drop(held);
        assert!(slot(&mut third).is_none());
        drop(second);
        assert!(slot(&mut third).is_some());
    }
}
