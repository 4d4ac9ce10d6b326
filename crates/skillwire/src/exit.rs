//! The exit codes of the program, and the table of them that `--help` shows.

use std::process::ExitCode;

/// The exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Ok = 0,
    /// The answer is no: there are findings.
    Findings = 1,
    /// The command line or configuration cannot be understood.
    Usage = 2,
    /// Verification failed, a path leaves the skill or is not in its manifest, or an archive was
    /// refused.
    Verification = 3,
    /// Approval is needed or was revoked.
    Approval = 4,
    /// There is no such skill or server.
    NotFound = 5,
    /// A name fits more than one skill.
    Ambiguous = 6,
    /// A server cannot be reached or breaks the protocol.
    Unreachable = 7,
    /// A limit or a policy declines.
    Declined = 8,
    /// The program itself failed.
    Internal = 70,
}

/// The table for `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
   0  ok
   1  the answer is no (findings)
   2  usage
   3  verification failed, a path outside the skill or its manifest, a refused archive
   4  approval needed or revoked
   5  not found (skill or server)
   6  ambiguous name
   7  server unreachable or protocol error
   8  declined by limit or policy
  70  internal error";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
