//! Channels: movable pointers to versions, with a way back.

use semver::Version;
use serde::{Deserialize, Serialize};

/// The most earlier versions a channel remembers to roll back to. The audit log keeps every move.
pub const MAX_CHANNEL_HISTORY: usize = 64;

/// A pointer to one version, and the versions it pointed to before.
///
/// A promotion puts a version on top; a roll-back takes versions off until one can be served. Two
/// roll-backs in a row therefore go two versions back, and not forth again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Channel {
    /// Earlier versions, the current one last.
    stack: Vec<Version>,
}

impl Channel {
    /// Returns the version the channel points to.
    pub fn version(&self) -> Option<&Version> {
        self.stack.last()
    }

    /// Returns earlier versions, the most recent first.
    pub fn earlier(&self) -> impl Iterator<Item = &Version> {
        self.stack.iter().rev().skip(1)
    }

    /// Points to a version and remembers the one before.
    pub(crate) fn push(&mut self, version: Version) {
        if self.version() == Some(&version) {
            return;
        }
        self.stack.push(version);
        if self.stack.len() > MAX_CHANNEL_HISTORY {
            self.stack.remove(0);
        }
    }

    /// Points to the most recent earlier occurrence of a version and forgets what came after.
    pub(crate) fn pop_to(&mut self, version: &Version) {
        let last = self.stack.len().saturating_sub(1);
        if let Some(index) = self.stack[..last].iter().rposition(|earlier| earlier == version) {
            self.stack.truncate(index + 1);
        }
    }
}
