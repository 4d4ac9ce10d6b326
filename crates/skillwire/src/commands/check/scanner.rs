//! What `check --scan` adds: the findings of the scanner beside those of the check.

use std::io::{self, Write};

use serde_json::Value;

use super::CheckResult;
use crate::{exit::Exit, failure::Failure};

#[cfg(feature = "scan")]
impl CheckResult {
    /// Scans the skills below the same paths.
    pub(super) fn scan(&mut self, paths: &[String]) -> Result<(), Failure> {
        self.scanned = Some(super::super::scan::scan_paths(paths)?);
        Ok(())
    }

    /// The exit code for what the scanner found.
    pub(super) fn scan_exit(&self) -> Exit {
        let scanned = self.scanned.as_ref();
        scanned.map_or(Exit::Ok, |scanned| scanned.exit(skillwire_scan::Severity::High))
    }

    pub(super) fn scan_json(&self) -> Option<Value> {
        self.scanned.as_ref().map(super::ScanOutput::json)
    }

    /// Adds rules and results to a log.
    pub(super) fn add_scan_sarif(&self, log: &mut Value) {
        let Some(scanned) = &self.scanned else { return };
        let run = &mut log["runs"][0];
        for (list, more) in
            [("/tool/driver/rules", scanned.sarif_rules()), ("/results", scanned.sarif_results())]
        {
            if let Some(list) = run.pointer_mut(list).and_then(Value::as_array_mut) {
                list.extend(more);
            }
        }
    }

    pub(super) fn scan_github(&self, out: &mut impl Write) -> io::Result<()> {
        let scanned = self.scanned.as_ref();
        scanned.map_or(Ok(()), |it| it.github(out, skillwire_scan::Severity::Medium))
    }

    pub(super) fn scan_human(&self, out: &mut impl Write) -> io::Result<()> {
        let scanned = self.scanned.as_ref();
        scanned.map_or(Ok(()), |it| it.human(out, skillwire_scan::Severity::Medium, false))
    }
}

#[cfg(not(feature = "scan"))]
#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the other build uses them")]
impl CheckResult {
    pub(super) fn scan(&mut self, _: &[String]) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn scan_exit(&self) -> Exit {
        Exit::Ok
    }

    pub(super) fn scan_json(&self) -> Option<Value> {
        None
    }

    pub(super) fn add_scan_sarif(&self, _: &mut Value) {}

    pub(super) fn scan_github(&self, _: &mut impl Write) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn scan_human(&self, _: &mut impl Write) -> io::Result<()> {
        Ok(())
    }
}
