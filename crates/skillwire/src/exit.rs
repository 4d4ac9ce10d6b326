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

/// What `run` adds to its own exit codes, so that they can be told from most of a script's.
const BESIDE_SCRIPTS: u8 = 100;

/// The exit code of a process: one of the program's own, or that of a script which it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitStatus(u8);

impl ExitStatus {
    /// The exit code of a script.
    pub(crate) fn of_script(code: u8) -> Self {
        Self(code)
    }

    /// The exit code of `run` itself, if the script was not run or has no exit code of its own.
    pub(crate) fn beside_scripts(exit: Exit) -> Self {
        Self(if exit == Exit::Ok { 0 } else { exit as u8 + BESIDE_SCRIPTS })
    }
}

impl From<Exit> for ExitStatus {
    fn from(exit: Exit) -> Self {
        Self(exit as u8)
    }
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
  70  internal error
`run` ends with the exit code of the script, or with 128 plus N if signal N ended it. If it did not
run the script, it ends with 100 plus a code of this list, such as 104.";

impl From<ExitStatus> for ExitCode {
    fn from(ExitStatus(code): ExitStatus) -> Self {
        Self::from(code)
    }
}
