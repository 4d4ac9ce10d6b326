//! What a server tells a program about the files that it sends.

use std::sync::Arc;

use skillwire_core::RelPath;
use skillwire_source::Skill;

use crate::caller::Caller;

/// Is told of each file of a skill that a caller gets.
///
/// It is called while a request is answered, also for files that the server had in memory. So it must
/// neither block nor take long.
pub trait ReadObserver: Send + Sync {
    /// A caller gets a file: whole, as the text of a tool, or over the well-known address.
    fn file_read(&self, caller: &Caller, skill: &Arc<Skill>, path: &RelPath);
}
