//! `skillwire convert`: converts a document of one dialect into another.

use std::{
    fs,
    io::{self, Read as _},
};

use skillwire_dialects::{DOCUMENTS, Dialect};

use super::Outcome;
use crate::{args::ConvertArgs, exit::Exit, failure::Failure, report};

/// The largest document that is read.
const MOST_BYTES: u64 = 16 << 20;

pub(super) fn run(args: &ConvertArgs) -> Outcome {
    let from = parse(&args.from, "--from")?;
    let to = parse(&args.to, "--to")?;
    let mut text = String::new();
    let path = args.file.display();
    let read = fs::File::open(&args.file)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| {
        Failure::usage(format!("`{path}` cannot be read."))
            .because(error)
            .hint("Name a file that holds the document.")
    })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Failure::usage(format!("`{path}` has more than {MOST_BYTES} bytes.")));
    }
    let converted = skillwire_dialects::convert(from, to, &text).map_err(|error| {
        Failure::caused(Exit::Findings, error)
            .hint("Convert from a document that holds what is missing.")
    })?;
    report::json(&mut io::stdout().lock(), &converted)?;
    Ok(Exit::Ok)
}

fn parse(code: &str, option: &str) -> Result<Dialect, Failure> {
    let known = DOCUMENTS;
    let found = known.into_iter().find(|dialect| dialect.code().eq_ignore_ascii_case(code));
    found.ok_or_else(|| {
        let codes: Vec<_> = known.iter().map(|dialect| format!("`{}`", dialect.code())).collect();
        Failure::usage(format!(
            "`{option} {}` is not a dialect that has a document.",
            code.escape_debug()
        ))
        .hint(format!("The dialects with documents are {}.", codes.join(", ")))
    })
}
