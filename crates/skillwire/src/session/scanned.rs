//! Writes what the scanner says about a skill that the user is asked about.

use std::io::{self, Write};

use skillwire_trust::ApprovalCard;

use super::Session;
use crate::{
    output::{FAINT, WARNING},
    refusals::argument,
};

/// What the scanner says about the files of a skill that were read already.
#[derive(Debug, Default)]
pub(crate) struct ScannedFiles {
    /// What stands out, each a sentence.
    notes: Vec<String>,
    /// Which files were not looked at, if any: a sentence without its end.
    unseen: Option<String>,
}

impl ScannedFiles {
    /// What stands out, without the note that nothing does.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str).filter(|note| note.contains(": "))
    }

    /// Writes what stands out, and which files were not looked at.
    pub(crate) fn write(&self, out: &mut impl Write, handle: &str) -> io::Result<()> {
        for note in &self.notes {
            match note.split_once(": ") {
                Some((since, rest)) => writeln!(out, "{WARNING}{since}{WARNING:#}: {rest}")?,
                None => writeln!(out, "{note}")?,
            }
        }
        if let Some(unseen) = &self.unseen {
            write!(out, "{FAINT}{unseen}")?;
            if cfg!(feature = "scan") {
                let handle = argument(handle);
                write!(out, "; `skillwire scan {handle}` fetches and scans the skill")?;
            }
            writeln!(out, ".{FAINT:#}")?;
        }
        Ok(())
    }
}

/// Scans what was read of a skill, and writes what stands out.
pub(crate) fn write(
    out: &mut impl Write,
    session: &Session,
    handle: &str,
    card: &ApprovalCard,
) -> io::Result<()> {
    look(session, card).write(out, handle)
}

/// Scans what was read of a skill.
#[cfg(feature = "scan")]
pub(crate) fn look(session: &Session, card: &ApprovalCard) -> ScannedFiles {
    let super::card_scan::CardScan { notes, unseen } =
        super::card_scan::CardScan::of(session.host(), card);
    ScannedFiles { notes, unseen }
}

/// Finds nothing: this build has no scanner.
#[cfg(not(feature = "scan"))]
pub(crate) fn look(_: &Session, _: &ApprovalCard) -> ScannedFiles {
    ScannedFiles::default()
}
