//! The commands around archives, as they were typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The folder of one skill.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) skill: String,
    /// The archive to write; its ending says which kind [default: `NAME.tar.gz`].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the archive if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print path, digest and size of the archive as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpackArgs {
    /// A `.tar.gz` or `.zip` file that holds one skill.
    pub(crate) archive: PathBuf,
    /// The folder to put the files in, new or empty [default: the archive's name without ending].
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Print what was written, or why nothing was, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The dialect of the document.
    #[arg(long, value_name = "DIALECT")]
    pub(crate) from: String,
    /// The dialect to write.
    #[arg(long, value_name = "DIALECT")]
    pub(crate) to: String,
    /// A JSON file.
    pub(crate) file: PathBuf,
}
