//! The commands around signatures, as they were typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::completion::paths_or_handles;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key to sign skills with, and print its public part.
    ///
    /// The private key is written to a file that only you can read; it has no password. Anyone who
    /// reads it can sign as you. Give the public key to those who should trust you.
    New(KeyNewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeyNewArgs {
    /// The file for the private key; the public one is put beside it, with the ending `.pub`
    /// [default: the file that `sign` uses].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the files and the public key as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// The folder of one skill.
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) skill: String,
    /// The private key, as `key new` or `openssl genpkey -algorithm ed25519` writes it [default: the
    /// key that `key new` made].
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Write the signature to this file instead of `skill.dsse.sig` in the skill.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add the signature to those in the file, which must be for the same content.
    #[arg(long, conflicts_with = "force")]
    pub(crate) add: bool,
    /// Replace the file if it holds another signature.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the statement that would be signed, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was signed as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifySignatureArgs {
    /// Folders of skills, or handles such as `acme:refunds`.
    #[arg(required = true, value_name = "PATH|HANDLE", add = paths_or_handles())]
    pub(crate) skills: Vec<String>,
    #[command(flatten)]
    pub(crate) trusted: TrustedSignerArgs,
    /// The file that holds the signature [default: `skill.dsse.sig`, `skill.sigstore.json` or
    /// `skill.oms.sig` in the skill].
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Option<PathBuf>,
    /// Check certificates as of this time instead of now, such as `2026-06-01T00:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Print a list with one object for each skill.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The signers that the user trusts for one run.
#[derive(Debug, Args)]
pub(crate) struct TrustedSignerArgs {
    /// A trusted key: a file in PEM form, or `ed25519:…`; may be repeated.
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Vec<String>,
    /// A trusted root: certificates in PEM form, or the `trusted_root.json` of a Sigstore instance;
    /// may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) root: Vec<PathBuf>,
    /// The only identity that is trusted below `--root`: a certificate's subject, common name, mail
    /// address or URI.
    #[arg(long, value_name = "NAME", requires = "root")]
    pub(crate) identity: Option<String>,
    /// The issuer that proved the identity to a Sigstore instance.
    #[arg(long, value_name = "URL", requires = "identity")]
    pub(crate) issuer: Option<String>,
}
