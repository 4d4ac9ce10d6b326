//! Errors of the machine or the root, which say nothing about a skill.

use std::io;

use crate::source::SourceUnavailable;

/// Why a scan could not be completed.
///
/// A scan stops at these errors instead of refusing skills. So a server keeps what it has, and the
/// next scan finds the skills as they are.
#[derive(Debug)]
pub(super) enum ScanStopped {
    /// The process or the machine ran out of open files or memory.
    Exhausted(io::Error),
    /// The root itself cannot be listed.
    Root(io::Error),
    /// The root is not where it was.
    Moved(SourceUnavailable),
    /// Another folder was put in the place of the root during the scan.
    Replaced,
}

impl ScanStopped {
    /// Returns an error that is about a file, and stops the scan at any other.
    pub(super) fn unless(error: io::Error) -> Result<io::Error, Self> {
        if is_exhaustion(&error) { Err(Self::Exhausted(error)) } else { Ok(error) }
    }

    /// The error of the source, with the next step for the operator.
    pub(super) fn unavailable(self, label: &str) -> SourceUnavailable {
        let (error, next_step) = match self {
            Self::Replaced => {
                let reason = "The folder was replaced each time it was read. It is read again \
                              when it changes.";
                return SourceUnavailable::new(label, reason);
            }
            Self::Exhausted(error) => {
                (error, "Raise the limit of open files (`ulimit -n`) if this stays so.")
            }
            Self::Root(error) => (error, "Let the server's user read the folder."),
            Self::Moved(unavailable) => return unavailable,
        };
        SourceUnavailable::new(label, format!("{error}. {next_step}")).caused_by(error)
    }
}

fn is_exhaustion(error: &io::Error) -> bool {
    // ENFILE and EMFILE have these numbers on Linux, macOS and the BSDs.
    let files = cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
    // ERROR_TOO_MANY_OPEN_FILES.
    let handles = cfg!(windows) && error.raw_os_error() == Some(4);
    files || handles || error.kind() == io::ErrorKind::OutOfMemory
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn running_out_of_files_stops_a_scan_and_a_bad_disk_does_not_v_64() {
        assert!(ScanStopped::unless(io::Error::from_raw_os_error(24)).is_err());
        assert!(ScanStopped::unless(io::Error::from_raw_os_error(23)).is_err());
        let eio = io::Error::from_raw_os_error(5);
        assert!(ScanStopped::unless(eio).is_ok());
    }
}
