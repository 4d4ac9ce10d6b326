//! The limits of one server whose tools and prompts are passed on.

use std::time::Duration;

use skillwire_protocol::PageLimits;

/// The limits of one server whose tools and prompts are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferLimits {
    /// The most tools, and the most prompts.
    pub items: usize,
    /// The most pages of one list.
    pub pages: usize,
    /// The most bytes of one page of a list.
    pub page_bytes: usize,
    /// The most bytes of all tools together, and of all prompts together.
    pub list_bytes: usize,
    /// The most bytes of one result, progress included.
    pub result_bytes: usize,
    /// How long a call may take without a report of progress.
    pub silence: Duration,
    /// How long reading a resource may take without a report of progress.
    pub read_time: Duration,
    /// How long a call may take in all, questions to the user included.
    pub call_time: Duration,
    /// The most calls that the server gets at the same time.
    pub calls: usize,
    /// The time between two listings of a server that announces no changes.
    pub pause: Duration,
}

impl Default for OfferLimits {
    fn default() -> Self {
        Self {
            items: 1_000,
            pages: 50,
            page_bytes: 4 * 1024 * 1024,
            list_bytes: 8 * 1024 * 1024,
            result_bytes: 8 * 1024 * 1024,
            silence: Duration::from_mins(2),
            read_time: Duration::from_secs(30),
            call_time: Duration::from_mins(30),
            calls: 32,
            pause: Duration::from_mins(1),
        }
    }
}

impl OfferLimits {
    /// Sets how long a call may take without progress, and in all.
    #[must_use]
    pub fn times(self, silence: Duration, call_time: Duration) -> Self {
        Self { silence, call_time, ..self }
    }

    /// Sets the most bytes of one result.
    #[must_use]
    pub fn result_bytes(self, result_bytes: usize) -> Self {
        Self { result_bytes, ..self }
    }

    /// Sets the most tools, and the most prompts.
    #[must_use]
    pub fn items(self, items: usize) -> Self {
        Self { items, ..self }
    }

    pub(crate) fn pages(&self) -> PageLimits {
        PageLimits::new(self.pages, self.items)
    }
}
