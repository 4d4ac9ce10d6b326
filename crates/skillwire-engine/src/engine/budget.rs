//! Bounds the memory that large answers occupy until their clients have taken them.
//!
//! A client may ask for a large file and never read the answer. The answer then waits in memory until
//! the transport gives up on the client, so without a bound the memory of the server would be the
//! number of connections times the size of the largest file.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use skillwire_protocol::{ErrorCode, RpcError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Outcome;

/// Smaller answers reserve no memory: at most one for each connection is there at a time.
pub(crate) const LARGE_ANSWER: usize = 256 * 1024;

/// The bytes that one permit stands for.
const UNIT: u64 = 4 * 1024;

/// The most answers that wait for memory when their bytes are in memory already.
const WAITING_WITH_BYTES: usize = 16;

/// The memory for large answers; requests that find none left wait, first come, first served.
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    memory: Arc<Semaphore>,
    /// All permits there are. An answer larger than everything takes all of it and is sent alone.
    all: u32,
    waiting_with_bytes: Semaphore,
    patience: Duration,
}

/// Memory reserved for the bytes of a large answer; others may reserve it when this is dropped.
#[derive(Debug)]
pub struct ReservedMemory {
    permit: OwnedSemaphorePermit,
    /// All permits there are.
    all: u32,
}

/// The error when there was no memory for an answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoAnswerMemory;

impl From<NoAnswerMemory> for RpcError {
    fn from(NoAnswerMemory: NoAnswerMemory) -> Self {
        Self::new(
            ErrorCode::Internal,
            "The server is sending as many large answers as its memory allows. Try again in a \
             moment.",
        )
    }
}

impl AnswerBudget {
    /// Creates a budget of `bytes`, for which a request waits at most `patience`.
    pub(super) fn new(bytes: u64, patience: Duration) -> Self {
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let all = u32::try_from(bytes / UNIT).unwrap_or(most).clamp(1, most);
        Self {
            memory: Arc::new(Semaphore::new(all as usize)),
            all,
            waiting_with_bytes: Semaphore::new(WAITING_WITH_BYTES),
            patience,
        }
    }

    /// Waits for memory for `bytes` that are not in memory yet.
    pub(crate) async fn take(&self, bytes: u64) -> Result<ReservedMemory, NoAnswerMemory> {
        if let Some(memory) = self.try_take(bytes) {
            return Ok(memory);
        }
        let permit = Arc::clone(&self.memory).acquire_many_owned(self.units(bytes));
        // The semaphore is never closed, so anything else than a permit is the time limit.
        if let Ok(Ok(permit)) = tokio::time::timeout(self.patience, permit).await {
            return Ok(ReservedMemory { permit, all: self.all });
        }
        tracing::warn!(bytes, "there was no memory for a large answer in time");
        Err(NoAnswerMemory)
    }

    /// Takes memory for `bytes` if it is free and no other request waits for it.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<ReservedMemory> {
        let permit = Arc::clone(&self.memory).try_acquire_many_owned(self.units(bytes)).ok()?;
        Some(ReservedMemory { permit, all: self.all })
    }

    /// Gives an answer that is ready the memory it needs, or refuses it.
    pub(super) fn admit_now(&self, outcome: Outcome) -> Outcome {
        let mut payload = outcome?;
        if let Some(bytes) = payload.needs_memory() {
            payload.hold(self.try_take(bytes).ok_or(NoAnswerMemory)?);
        }
        Ok(payload)
    }

    /// Waits until an answer has the memory it needs.
    ///
    /// Only answers whose size is not known beforehand come here without reserved memory. They are in
    /// memory while they wait, so only a few may.
    pub(super) async fn admit(&self, outcome: Outcome) -> Outcome {
        let mut payload = outcome?;
        if let Some(bytes) = payload.needs_memory() {
            let memory = if let Some(memory) = self.try_take(bytes) {
                memory
            } else {
                let _turn = self.waiting_with_bytes.try_acquire().map_err(|_| NoAnswerMemory)?;
                self.take(bytes).await?
            };
            payload.hold(memory);
        }
        Ok(payload)
    }

    fn units(&self, bytes: u64) -> u32 {
        units(bytes, self.all)
    }
}

/// Returns the permits for `bytes`, but never more than there are.
fn units(bytes: u64, all: u32) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(all).min(all)
}

impl ReservedMemory {
    /// Changes the size; returns `false` if more is needed than is free.
    ///
    /// This never waits: requests that each hold memory and wait for more would wait for each other.
    pub(crate) fn resize(&mut self, bytes: u64) -> bool {
        let wanted = units(bytes, self.all) as usize;
        let held = self.permit.num_permits();
        if wanted <= held {
            drop(self.permit.split(held - wanted));
            return true;
        }
        let more = u32::try_from(wanted - held).unwrap_or(u32::MAX);
        let more = Arc::clone(self.permit.semaphore()).try_acquire_many_owned(more);
        more.map(|more| self.permit.merge(more)).is_ok()
    }

    /// Ties the memory to bytes: it is held until the last reference to them is dropped.
    pub(crate) fn tie_to(mut self, bytes: Vec<u8>) -> Bytes {
        self.resize(bytes.len() as u64);
        Bytes::from_owner(OwnedBytes { bytes, _memory: self })
    }
}

struct OwnedBytes {
    bytes: Vec<u8>,
    _memory: ReservedMemory,
}

impl AsRef<[u8]> for OwnedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Payload;

    const KIB: u64 = 1024;

    fn large() -> Payload {
        Bytes::from(vec![b' '; 2 * LARGE_ANSWER]).into()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_for_memory_are_served_in_turn_and_not_for_ever_sec_01() {
        let budget = Arc::new(AnswerBudget::new(100 * KIB, Duration::from_secs(20)));
        let first = budget.take(60 * KIB).await.unwrap();
        let waits = |bytes: u64| {
            let budget = Arc::clone(&budget);
            tokio::spawn(async move { budget.take(bytes).await })
        };
        let large = waits(90 * KIB);
        tokio::task::yield_now().await;
        // There would be memory for a small one, but the large one came first.
        assert!(budget.try_take(8 * KIB).is_none());
        drop(first);
        let large = large.await.unwrap().unwrap();
        let started = tokio::time::Instant::now();
        assert_eq!(budget.take(20 * KIB).await.unwrap_err(), NoAnswerMemory);
        assert_eq!(started.elapsed(), Duration::from_secs(20));
        drop(large);
        assert!(budget.try_take(100 * KIB).is_some());
    }

    #[tokio::test]
    async fn an_answer_larger_than_the_budget_is_sent_alone_sec_01() {
        for bytes in [0, 100 * KIB] {
            let budget = AnswerBudget::new(bytes, Duration::ZERO);
            let whole = budget.take(u64::MAX).await.unwrap();
            assert_eq!(budget.take(1).await.unwrap_err(), NoAnswerMemory);
            drop(whole);
            assert!(budget.take(1).await.is_ok());
        }
    }

    #[tokio::test]
    async fn memory_is_held_until_the_last_reference_to_the_bytes_is_gone_sec_01() {
        let budget = AnswerBudget::new(100 * KIB, Duration::ZERO);
        let bytes = budget.take(80 * KIB).await.unwrap().tie_to(vec![0; 40 * 1024]);
        assert!(budget.try_take(64 * KIB).is_none());
        assert!(budget.try_take(60 * KIB).is_some(), "what the bytes do not need is free");
        let part = bytes.slice(..1);
        drop(bytes);
        assert!(budget.try_take(64 * KIB).is_none());
        drop(part);
        assert!(budget.try_take(100 * KIB).is_some());
    }

    #[tokio::test]
    async fn answers_of_unknown_size_need_memory_too_sec_01() {
        let budget = AnswerBudget::new(3 * LARGE_ANSWER as u64, Duration::ZERO);
        let first = budget.admit_now(Ok(large())).unwrap();
        let refused = budget.admit_now(Ok(large())).unwrap_err();
        assert!(refused.message.contains("Try again"), "{refused}");
        assert_eq!(budget.admit(Ok(large())).await.unwrap_err(), refused);
        let small: Payload = Bytes::from_static(b"{}").into();
        assert!(budget.admit_now(Ok(small)).is_ok(), "small answers need none");
        assert!(budget.admit_now(Ok(large().counted())).is_ok(), "it is counted elsewhere");
        drop(first);
        assert!(budget.admit(Ok(large())).await.is_ok());
    }
}
