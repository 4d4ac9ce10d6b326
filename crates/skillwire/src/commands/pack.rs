//! `skillwire pack`: packs a skill into an archive with the same bytes every time.

use std::{fs, io::Write as _, path::PathBuf};

use bytes::Bytes;
use serde_json::json;
use skillwire_archive::{ArchiveFormat, NotPacked, pack};
use skillwire_core::{Digest, RelPath};
use skillwire_source::{Skill, SkillContent};

use super::{Outcome, one_skill};
use crate::{
    args::{PackArgs, ReadingArgs},
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, report,
};

pub(super) fn run(args: &PackArgs) -> Outcome {
    let skill = one_skill::read(&args.skill, &ReadingArgs::default())?;
    let out = args.out.clone().unwrap_or_else(|| {
        PathBuf::from(format!("{}{}", skill.name(), ArchiveFormat::TarGz.suffix()))
    });
    let format = ArchiveFormat::of_name(&out.to_string_lossy()).ok_or_else(|| {
        Failure::usage(format!("`{}` ends in neither `.tar.gz` nor `.zip`.", out.display()))
            .hint("Give the file one of these endings.")
    })?;
    if out.exists() && !args.force {
        return Err(Failure::usage(format!("`{}` exists already.", out.display()))
            .hint("Name another file with `--out FILE`, or overwrite it with `--force`."));
    }
    let files = files_of(&skill)?;
    let archive = pack(format, files.iter().map(|(path, bytes)| (path, &bytes[..])));
    let archive = archive.map_err(|error| not_packed(&args.skill, error))?;
    write(&out, &archive)?;
    let digest = Digest::of(&archive);
    if args.json {
        let packed = json!({
            "archive": out,
            "digest": digest,
            "size": archive.len(),
            "files": files.len(),
        });
        report::json(&mut std::io::stdout().lock(), &packed)?;
    } else {
        let count = counted(files.len(), "file");
        let size = counted(archive.len(), "byte");
        writeln!(prose::stdout(), "Packed {count} into `{}`, {size}.\n{digest}", out.display())?;
    }
    Ok(Exit::Ok)
}

pub(super) fn files_of(skill: &Skill) -> Result<Vec<(RelPath, Bytes)>, Failure> {
    let SkillContent::Files(tree) = &skill.content else {
        return Err(Failure::usage("A skill made on request has no files to pack."));
    };
    let read = tree.files.iter().map(|file| {
        let bytes = tree.store.read(&file.path, file.size).ok();
        let bytes = bytes.filter(|bytes| Digest::of(bytes) == file.digest);
        let bytes = bytes.ok_or_else(|| {
            Failure::usage(format!("`{}` changed while it was read.", file.path))
                .hint("Pack again when no other program writes to the skill.")
        })?;
        Ok((file.path.clone(), bytes))
    });
    read.collect()
}

/// Writes a new file and renames it, so that no reader ever sees half an archive.
fn write(out: &std::path::Path, archive: &[u8]) -> Result<(), Failure> {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let new = out.with_file_name(name);
    fs::write(&new, archive).and_then(|()| fs::rename(&new, out)).map_err(|error| {
        // An incomplete archive must not stay behind.
        let _ = fs::remove_file(&new);
        Failure::usage(format!("`{}` cannot be written.", out.display())).because(error)
    })
}

pub(super) fn not_packed(folder: &str, error: NotPacked) -> Failure {
    Failure::new(Exit::Findings, format!("`{folder}` cannot be packed."))
        .because(error)
        .hint("Rename the file; an archive must mean the same on every system.")
}
