//! The moments between the steps of a scan, at which a file system may change.

/// Is told when a scan passes a moment that matters; tests change files there.
pub(super) trait Steps: Send + Sync + std::fmt::Debug {
    /// The directory of a skill has been listed and nothing of it has been read.
    fn listed(&self) {}

    /// A file has been opened and nothing of it has been read.
    fn opened(&self, _path: &str) {}

    /// A file has been read and has not been looked at again.
    fn read(&self, _path: &str) {}
}

/// Lets every moment pass.
#[derive(Debug)]
pub(super) struct Undisturbed;

impl Steps for Undisturbed {}
