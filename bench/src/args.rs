//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{faulty::Misbehaviour, http::bare::Kind, measure::Part};

/// Measures skillwire against the machine's limit and against other servers.
#[derive(Debug, Parser)]
#[command(name = "skillwire-bench")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// The binary to measure; the one built beside this program when not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) skillwire: Option<PathBuf>,
    /// Where corpora are kept (about 6 GB for all of them); below the system's temporary folder
    /// when not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Small corpora, short rounds, no peers: shows that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measures only this; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<Part>,
    /// Measures a hub, and nothing else.
    #[arg(long, conflicts_with = "only")]
    pub(crate) hub: bool,
    /// Measures a hub with upstreams and policies, and nothing else.
    #[arg(long, conflicts_with_all = ["only", "hub"])]
    pub(crate) gateway: bool,
    /// Does not measure other servers.
    #[arg(long)]
    pub(crate) no_peers: bool,
    /// The repetitions of each measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) rounds: Option<u8>,
    /// Leaves out the largest corpus, which needs disk and minutes.
    #[arg(long)]
    pub(crate) no_huge: bool,
    /// Prints everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) helper: Option<Helper>,
}

/// What this program starts of itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Helper {
    /// Serves prepared bodies until standard input ends.
    #[command(hide = true)]
    Bare {
        /// The kind of server.
        kind: Kind,
        /// The file of bodies.
        bodies: PathBuf,
    },
    /// Serves some skills, and misbehaves from the first line of standard input on.
    #[command(hide = true)]
    Faulty {
        /// What it does wrong.
        how: Misbehaviour,
    },
    /// Lists a server into a registry and prints the bytes this process holds then.
    #[command(hide = true)]
    Registry {
        /// Where the server is.
        url: String,
        /// How many skills it has.
        count: usize,
    },
}
