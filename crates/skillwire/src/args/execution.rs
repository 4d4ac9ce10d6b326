//! The commands that run scripts, as they were typed.

use std::{ops::RangeInclusive, path::PathBuf};

use clap::{Args, ValueHint, value_parser};
use serde::Deserialize;
use skillwire_trust::{NetworkGrant, VariableName};

use crate::completion::{files_after_name, handles, scripts_and_paths};

/// Which isolation is good enough.
#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct IsolationArgs {
    /// Run scripts as confined processes among your own where namespaces are not allowed.
    #[arg(long)]
    pub(crate) accept_restricted: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArgs {
    /// `LABEL:NAME`, `LABEL:PATH/NAME`, `LABEL:URI`, or a name that only one skill has.
    #[arg(add = handles())]
    pub(crate) handle: String,
    /// The script's path in the skill, such as `scripts/report.py`, and the script's own arguments.
    ///
    /// Nothing after the script's path is an option of this command. An argument that names a file
    /// of yours gives the script a copy of it. Without a script, the command names those of the skill.
    // One list: clap would otherwise take options between the script and its first word.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SCRIPT [ARGS]", add = scripts_and_paths())]
    command: Vec<String>,
    /// Give the script a copy of this file or folder in its working folder, called NAME or as you
    /// wrote it; may be repeated.
    #[arg(long, value_name = "PATH[:NAME]", value_hint = ValueHint::AnyPath, help_heading = FILES)]
    pub(crate) input: Vec<String>,
    /// Let the script change this file: it works on a copy, which replaces the file when the script
    /// succeeds; may be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = FILES)]
    pub(crate) edit: Vec<String>,
    /// Copy no file only because an argument names it.
    #[arg(long, help_heading = FILES)]
    pub(crate) no_auto_input: bool,
    /// Put the files that the script leaves in its working folder into this folder, new or empty.
    #[arg(long, value_name = "DIR", help_heading = FILES)]
    pub(crate) output: Option<PathBuf>,
    /// Pass standard input on to the script, up to a megabyte.
    #[arg(long, help_heading = FILES)]
    pub(crate) stdin: bool,
    /// Let the script see only this variable of those that you granted the skill; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = GRANTS)]
    pub(crate) env: Vec<VariableName>,
    /// Let the script connect only to this destination of those that you granted the skill; may be
    /// repeated.
    #[arg(long, value_name = "HOST:PORT", help_heading = GRANTS)]
    pub(crate) network: Vec<NetworkGrant>,
    /// How long the script may take, in seconds; at most what you granted [default: 30].
    #[arg(long, alias = "timeout", value_name = "SECONDS", help_heading = LIMITS)]
    pub(crate) time: Option<u64>,
    /// How much processor time its processes may use together, in seconds [default: 20].
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400), help_heading = LIMITS)]
    pub(crate) cpu: Option<u64>,
    /// How much memory its processes may hold together, such as `2G`, at most what you granted; a
    /// plain number is in MiB [default: 512M].
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = LIMITS)]
    pub(crate) memory: Option<u64>,
    /// How much it may write to its working folder, and to its temporary folder [default: 32M].
    #[arg(long, value_name = "SIZE", value_parser = disk, help_heading = LIMITS)]
    pub(crate) disk: Option<u64>,
    /// How many files it may make in each of them [default: 1024].
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1..=MAX_FILES), help_heading = LIMITS)]
    pub(crate) files: Option<u64>,
    /// Use this program for a language: `python`, `bash`, `sh` or `node`; may be repeated.
    #[arg(long, value_name = "LANGUAGE=PROGRAM", add = files_after_name(), help_heading = ENVIRONMENT)]
    pub(crate) interpreter: Vec<String>,
    /// Run Python scripts in this virtual environment [default: the script's own packages, else
    /// `.venv` if there is one].
    #[arg(long, value_name = "DIR", help_heading = ENVIRONMENT)]
    pub(crate) venv: Option<PathBuf>,
    /// Install the packages that the skill lists for the script without asking, if they are not
    /// installed yet.
    #[arg(long, help_heading = ENVIRONMENT)]
    pub(crate) install: bool,
    /// Run the script without the packages that the skill lists, and without `.venv`.
    #[arg(long, conflicts_with_all = ["install", "venv"], help_heading = ENVIRONMENT)]
    pub(crate) no_packages: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Have the skill's server run the script, where a server offers that: it sees the arguments, and
    /// nothing isolates the script there.
    #[arg(
        long,
        conflicts_with_all = ["input", "edit", "output", "stdin", "env", "network", "venv", "install"]
    )]
    pub(crate) remote: bool,
    /// Print nothing but what the script writes, and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: super::OriginArgs,
}

const FILES: &str = "Files";
const GRANTS: &str = "Grants";
const LIMITS: &str = "Limits";
const ENVIRONMENT: &str = "Interpreters and packages";

impl RunArgs {
    /// The script's path in the skill.
    pub(crate) fn script(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The script's own arguments.
    pub(crate) fn words(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }
}

/// The most files that a folder of a run may hold.
const MAX_FILES: u64 = 1 << 20;

/// What the folders of a run may hold, in bytes.
const DISK: RangeInclusive<u64> = 1 << 20..=1 << 36;

fn disk(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if DISK.contains(&bytes) {
        return Ok(bytes);
    }
    Err("a script may write 1 MiB to 64 GiB".to_owned())
}

/// Reads a size in bytes; a plain number is in MiB.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let unit = text.trim_end_matches(['B', 'b']).trim_end_matches(['i', 'I']);
    let (number, unit) = match unit.chars().next_back() {
        Some('k' | 'K') => (&unit[..unit.len() - 1], 1 << 10),
        Some('m' | 'M') => (&unit[..unit.len() - 1], 1 << 20),
        Some('g' | 'G') => (&unit[..unit.len() - 1], 1 << 30),
        _ => (unit, 1 << 20),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.ok_or_else(|| "write a number of MiB, or a size such as 512M or 2G".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A `[[script]]` table of the configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ScriptRule {
    /// Patterns over the path of a skill and its script, such as `refunds/scripts/*.py`.
    pub(crate) allow: Vec<String>,
    /// Variables of the server's environment that they see.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Destinations they may connect to, each as `HOST:PORT`.
    #[serde(default)]
    pub(crate) network: Vec<String>,
    /// How long they may take, in seconds.
    pub(crate) timeout: Option<u64>,
    /// How much memory they may hold, in MiB.
    pub(crate) memory: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_run_have_ranges() {
        use clap::Parser as _;

        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            _run: RunArgs,
        }
        let parse = |options: &[&str]| {
            let line = [&["run"][..], options, &["h", "s"]].concat();
            Line::try_parse_from(line).map(drop).map_err(|error| error.to_string())
        };
        for fits in [["--files", "1048576"], ["--disk", "64G"], ["--cpu", "86400"]] {
            assert_eq!(parse(&fits), Ok(()), "{fits:?}");
        }
        for (option, said) in [
            (["--files", "99999999999"], "99999999999 is not in 1..=1048576"),
            (["--files", "0"], "0 is not in 1..=1048576"),
            (["--disk", "65G"], "a script may write 1 MiB to 64 GiB"),
            (["--disk", "1k"], "a script may write 1 MiB to 64 GiB"),
            (["--cpu", "86401"], "86401 is not in 1..=86400"),
        ] {
            let refused = parse(&option).unwrap_err();
            assert!(refused.contains(said), "{option:?}: {refused}");
        }
    }

    #[test]
    fn sizes_are_in_mebibytes_or_in_the_unit_that_was_written() {
        for (text, bytes) in [
            ("512", 512 << 20),
            ("512M", 512 << 20),
            ("2G", 2 << 30),
            ("2GiB", 2 << 30),
            ("64k", 64 << 10),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1T", "1.5G", "99999999999999999999", "18446744073709551615G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
