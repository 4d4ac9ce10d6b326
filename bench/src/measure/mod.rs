//! The measurements, one file for each kind.

use std::{collections::HashSet, io::Write as _, path::PathBuf};

use tempfile::TempDir;

use self::host::Inspector;
use crate::{
    broken::{Broken, Result},
    corpus::{Corpus, Kind},
    plan::Plan,
    program::Program,
    reference,
    report::{Peer, Report},
    stats::Summary,
};

mod change;
mod check;
mod contest;
mod cost;
mod dialects;
mod first_answer;
mod gateway;
pub(crate) mod host;
mod hub;
mod listing;
mod pages;
mod reads;
mod scripts;
mod upstream;

/// A part of the benchmark that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Spawn to the first answer.
    FirstAnswer,
    /// Spawn to a complete listing, with and without an index, and the memory after it.
    Listing,
    /// `resources/read` under load.
    Reads,
    /// Pages of `skills/list` under load.
    Pages,
    /// One file changed while the server runs.
    Change,
    /// Listing, loading and verifying as a host.
    Host,
    /// Checking skills as an author.
    Check,
    /// The extension with every older dialect on and off; only on request.
    Dialects,
    /// Servers behind a server.
    Upstream,
    /// Scripts in isolation.
    Scripts,
    /// A hub, on SQLite and on PostgreSQL with S3; only on request, as the binary needs its feature.
    Hub,
    /// A hub with upstreams and policies; only on request, as the binary needs its features.
    Gateway,
}

impl Part {
    /// The parts that are measured by default.
    pub(crate) const ALL: [Self; 9] = [
        Self::FirstAnswer,
        Self::Listing,
        Self::Reads,
        Self::Pages,
        Self::Change,
        Self::Host,
        Self::Check,
        Self::Upstream,
        Self::Scripts,
    ];
}

/// The programs, corpora and report that every measurement shares.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) plan: Plan,
    pub(crate) scratch: PathBuf,
    pub(crate) skillwire: Program,
    pub(crate) peers: Vec<Program>,
    /// The Inspector, or why it is not used.
    pub(crate) inspector: Result<Inspector, String>,
    pub(crate) report: Report,
    /// The sizes of corpora that are in the page cache.
    pub(crate) read: HashSet<usize>,
}

impl Bench {
    /// Runs one part; an error is added to the report, and the other parts go on.
    pub(crate) async fn measure(&mut self, part: Part) {
        let measured = match part {
            Part::FirstAnswer => first_answer::measure(self).await,
            Part::Listing => listing::measure(self).await,
            Part::Reads => reads::measure(self).await,
            Part::Pages => pages::measure(self).await,
            Part::Change => change::measure(self).await,
            Part::Host => host::measure(self).await,
            Part::Check => check::measure(self).await,
            Part::Dialects => dialects::measure(self).await,
            Part::Upstream => upstream::measure(self).await,
            Part::Scripts => scripts::measure(self),
            Part::Hub => hub::measure(self).await,
            Part::Gateway => gateway::measure(self).await,
        };
        if let Err(broken) = measured {
            self.report.broken.push(format!("**{part:?} could not be measured:** {broken}"));
        }
    }

    /// The corpus of that size, all of it in the page cache.
    fn corpus(&mut self, count: usize) -> Result<Corpus> {
        let corpus = Corpus::at(&self.scratch, count, Kind::Sound)?;
        if !self.read.insert(count) {
            return Ok(corpus);
        }
        progress(&format!("{count} skills"));
        let met = reference::warm_up(&corpus.folder)?;
        if met.files == count * 4 {
            return Ok(corpus);
        }
        Err(Broken::new(format!("{} has {} files.", corpus.folder.display(), met.files)))
    }

    /// An unused state folder.
    fn new_home(&self) -> Result<TempDir> {
        std::fs::create_dir_all(&self.scratch).map_err(Broken::at(&self.scratch))?;
        Ok(tempfile::Builder::new().prefix("home-").tempdir_in(&self.scratch)?)
    }
}

/// Prints the progress to standard error.
fn progress(what: &str) {
    let _ = writeln!(std::io::stderr(), "  {what}");
}

/// A number of connections in words.
fn connected(connections: usize) -> String {
    format!("{connections} connection{}", if connections == 1 { "" } else { "s" })
}

/// Measurements that were made, as a summary.
fn summary(values: impl IntoIterator<Item = f64>) -> Result<Summary> {
    Summary::of(values).ok_or_else(|| Broken::new("Nothing was measured."))
}

/// A peer's measurements, or the error for the table.
fn peer(name: &'static str, values: Result<Vec<f64>>) -> Peer {
    let value = values.and_then(summary).map_err(|broken| broken.0);
    Peer { name, value }
}
