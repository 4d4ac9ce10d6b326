//! The most that an upstream may cost the hub and its clients.

use serde::{Deserialize, Serialize};
use skillwire_core::limits;

use crate::refusal::Refusal;

/// The most that an upstream may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct UpstreamLimits {
    /// The milliseconds that one answer may take.
    pub answer_ms: u64,
    /// The milliseconds that a whole listing may take.
    pub listing_ms: u64,
    /// The pages of one listing.
    pub pages: u64,
    /// The skills of one listing.
    pub skills: u64,
    /// The bytes of one listing.
    pub listing_bytes: u64,
    /// The bytes of one skill that is fetched for its review.
    pub skill_bytes: u64,
    /// The requests of clients that are under way at the same time.
    pub concurrency: u64,
    /// How many requests in a row fail before the upstream is left alone for a while.
    pub failures: u64,
    /// The milliseconds for which it is left alone.
    pub pause_ms: u64,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            answer_ms: 10_000,
            listing_ms: 60_000,
            pages: 1_000,
            skills: 10_000,
            listing_bytes: 64 << 20,
            skill_bytes: limits::MAX_BYTES,
            concurrency: 16,
            failures: 5,
            pause_ms: 5_000,
        }
    }
}

impl UpstreamLimits {
    /// The name, the value and the range of each limit.
    fn all(&self) -> [(&'static str, u64, u64, u64); 9] {
        [
            ("answer-ms", self.answer_ms, 50, 120_000),
            ("listing-ms", self.listing_ms, 50, 600_000),
            ("pages", self.pages, 1, 20_000),
            ("skills", self.skills, 1, 250_000),
            ("listing-bytes", self.listing_bytes, 1 << 10, 1 << 30),
            ("skill-bytes", self.skill_bytes, 1 << 10, limits::MAX_BYTES),
            ("concurrency", self.concurrency, 1, 256),
            ("failures", self.failures, 1, 1_000),
            ("pause-ms", self.pause_ms, 10, 600_000),
        ]
    }

    /// Refuses limits that allow nothing or anything.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        for (name, value, least, most) in self.all() {
            if !(least..=most).contains(&value) {
                let reason = format!("`{name}` is {value}, and must be between {least} and {most}");
                return Err(Refusal::BadUpstream(reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_allow_nothing_or_anything_are_refused_gw_23() {
        let usual = UpstreamLimits::default();
        usual.check().unwrap();
        for bad in [
            UpstreamLimits { concurrency: 0, ..usual },
            UpstreamLimits { answer_ms: 0, ..usual },
            UpstreamLimits { pages: u64::MAX, ..usual },
        ] {
            assert!(matches!(bad.check(), Err(Refusal::BadUpstream(_))), "{bad:?}");
        }
    }
}
