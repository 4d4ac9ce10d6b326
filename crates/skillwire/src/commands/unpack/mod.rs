//! `skillwire unpack`: writes the files of an archive, after checking all of them.

mod staging;

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;
use skillwire_archive::{ArchiveFile, ArchiveFormat, ArchiveLimits, unpack};
use skillwire_trust::{Reason, Refusal};

use self::staging::StagingFolder;
use super::{
    Outcome,
    output_folder::{cannot_write, check_empty},
};
use crate::{
    args::UnpackArgs, exit::Exit, failure::Failure, output::counted, prose, refusals, report,
};

/// The largest archive that is read. A skill within the limits does not need a larger one.
const MOST_BYTES: u64 = 32 << 20;

pub(super) fn run(args: &UnpackArgs) -> Outcome {
    refusals::answer(args.json, unpack_into(args))
}

fn unpack_into(args: &UnpackArgs) -> Outcome {
    // A missing archive is the first thing to say, whatever its name.
    let bytes = read(&args.archive)?;
    let dir = match &args.to {
        Some(dir) => dir.clone(),
        None => default_folder(&args.archive)?,
    };
    check_empty(&dir, "Name a new folder with `--to DIR`")?;
    let files = open(&args.archive, &bytes)?;
    write(&dir, &files)?;
    if args.json {
        let written = json!({
            "directory": dir,
            "files": files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        });
        report::json(&mut io::stdout().lock(), &written)?;
    } else {
        let count = counted(files.len(), "file");
        writeln!(prose::stdout(), "Unpacked {count} into `{}`.", dir.display())?;
    }
    Ok(Exit::Ok)
}

/// The archive's name without its ending, in the folder where the command was called.
fn default_folder(archive: &Path) -> Result<PathBuf, Failure> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = [".tar.gz", ".tgz", ".zip"].into_iter().find_map(|ending| {
        let at = name.len().checked_sub(ending.len()).filter(|at| name.is_char_boundary(*at))?;
        name[at..].eq_ignore_ascii_case(ending).then(|| PathBuf::from(&name[..at]))
    });
    stem.filter(|stem| !stem.as_os_str().is_empty()).ok_or_else(|| {
        Failure::usage(format!(
            "The name `{}` does not end like an archive's, so no folder follows from it.",
            archive.display()
        ))
        .hint("Name a folder with `--to DIR`.")
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        Failure::usage(format!("`{}` cannot be read.", path.display()))
            .because(error)
            .hint("Name an archive that `skillwire pack` made, or another `.tar.gz` or `.zip` of a skill.")
    })?;
    Ok(bytes)
}

/// Opens the archive in memory, so that nothing of a refused archive is written to disk.
fn open(path: &Path, bytes: &[u8]) -> Result<Vec<ArchiveFile>, Failure> {
    let format = ArchiveFormat::sniff(bytes).ok_or_else(|| {
        Refusal::new(Reason::ArchiveFormat)
            .file(path.display())
            .expected("a `.tar.gz` or `.zip` file")
            .actual("something that begins like neither")
    })?;
    let opened = unpack(format, bytes, &ArchiveLimits::default());
    opened.map_err(|refused| {
        let file = refused.entry_name().map_or_else(
            || path.display().to_string(),
            |entry| format!("{} in {}", entry.escape_debug(), path.display()),
        );
        let refusal = Refusal::new(refused.reason().into()).file(file).actual(refused.detail());
        refusal.hint("Nothing was written. Ask the author of the archive for another one.").into()
    })
}

fn write(dir: &Path, files: &[ArchiveFile]) -> Result<(), Failure> {
    let written = StagingFolder::new(dir).and_then(|staging| {
        for file in files {
            staging.add(file)?;
        }
        staging.finish()
    });
    written.map_err(|error| cannot_write(dir, error))
}
