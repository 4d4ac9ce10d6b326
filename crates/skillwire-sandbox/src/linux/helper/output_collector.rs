//! Collects the files that a script left in its output folder.
//!
//! Called when no process of the script is left. Otherwise a script could exchange a file for a
//! link between the check and the read, and have the helper read a file in its place. The script
//! still chose every name and every kind of file, so links are never followed, and pipes and
//! devices are never read.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat},
    process::WaitStatus,
};
use skillwire_core::RelPath;

use super::{
    super::helper_protocol::{FileSpec, HelperReport, KernelUsage, send},
    ReceivedJob,
};
use crate::limits::RunLimits;

/// How deep folders are followed.
const MAX_DEPTH: usize = 16;

/// The longest path of a file.
const MAX_PATH: usize = 1024;

/// Files that were collected, and how many entries were not.
#[derive(Default)]
struct CollectedFiles<'a> {
    /// The inputs by their paths. Those that are unchanged are not collected.
    inputs: HashMap<&'a str, &'a [u8]>,
    files: Vec<(String, Vec<u8>)>,
    bytes: u64,
    skipped: u64,
}

/// Reports how the script ended, with the files that it left.
pub(super) fn report_end(
    control: &UnixStream,
    output: &Path,
    job: &ReceivedJob,
    status: WaitStatus,
    file_systems: &[&Path],
) -> io::Result<()> {
    let limits = &job.spec.limits;
    let inputs = job.spec.inputs.iter().map(|input| input.path.as_str());
    let mut collected = CollectedFiles {
        inputs: inputs.zip(job.inputs.iter().map(Vec::as_slice)).collect(),
        ..CollectedFiles::default()
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, output, flags, Mode::empty()) {
        Ok(folder) => collected.add_folder(&File::from(folder), "", 0, limits),
        Err(_) => collected.skipped += 1,
    }
    let CollectedFiles { mut files, skipped, .. } = collected;
    files.sort();
    let specs =
        files.iter().map(|(path, bytes)| FileSpec { path: path.clone(), size: bytes.len() });
    let report = HelperReport::Ended {
        exit: status.exit_status(),
        signal: status.terminating_signal(),
        files: specs.collect(),
        skipped_files: skipped,
        usage: kernel_usage(file_systems),
    };
    send(control, &report, &[])?;
    let mut control = control;
    files.iter().try_for_each(|(_, bytes)| control.write_all(bytes))
}

impl CollectedFiles<'_> {
    fn add_folder(&mut self, folder: &File, prefix: &str, depth: usize, limits: &RunLimits) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.skipped += 1;
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // Paths are shown to users and become URIs and files of the caller, so only those that
            // are safe relative paths are taken.
            let path = name.to_str().ok().map(|name| format!("{prefix}{name}"));
            let path = path.filter(|path| RelPath::parse(path).is_ok() && path.len() <= MAX_PATH);
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            let (Some(path), Ok(stat)) = (path, stat) else {
                self.skipped += 1;
                continue;
            };
            // Opening a pipe without `NONBLOCK` would wait for a writer that never comes.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let open = || openat(folder.as_fd(), name, flags, Mode::empty()).map(File::from);
            match (FileType::from_raw_mode(stat.st_mode), open()) {
                (FileType::Directory, Ok(inner)) if depth < MAX_DEPTH => {
                    self.add_folder(&inner, &format!("{path}/"), depth + 1, limits);
                }
                // A file with a second name may be a hard link to a file outside of the folder.
                (FileType::RegularFile, Ok(file)) if stat.st_nlink == 1 => {
                    self.add_file(file, path, limits);
                }
                _ => self.skipped += 1,
            }
        }
    }

    fn add_file(&mut self, file: File, path: String, limits: &RunLimits) {
        if self.inputs.get(path.as_str()).is_some_and(|input| has_content(&file, input)) {
            return;
        }
        let room = limits.folder_bytes.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        let fits = self.files.len() < limits.output_files
            && file.take(room.saturating_add(1)).read_to_end(&mut bytes).is_ok()
            && bytes.len() as u64 <= room;
        if fits {
            self.bytes += bytes.len() as u64;
            self.files.push((path, bytes));
        } else {
            self.skipped += 1;
        }
    }
}

/// Whether a file has exactly this content. Reads it from its beginning, and leaves it there.
fn has_content(mut file: &File, content: &[u8]) -> bool {
    let mut bytes = Vec::new();
    let most = content.len() as u64 + 1;
    let same = file.take(most).read_to_end(&mut bytes).is_ok() && bytes == content;
    file.rewind().is_ok() && same
}

/// What the kernel counted for the children that are gone, and for file systems of the run's own.
fn kernel_usage(file_systems: &[&Path]) -> KernelUsage {
    // SAFETY: the structure consists of numbers, for which zeros are valid values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the right type that lives through the call.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return KernelUsage::default();
    }
    let micros =
        |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    let found = || file_systems.iter().filter_map(|folder| rustix::fs::statvfs(*folder).ok());
    KernelUsage {
        folder_bytes: found()
            .map(|found| (found.f_blocks - found.f_bfree) * found.f_frsize)
            .max()
            .unwrap_or(0),
        // The folder itself is the first of its files.
        folder_files: found()
            .map(|found| (found.f_files - found.f_ffree).saturating_sub(1))
            .max()
            .unwrap_or(0),
        cpu_micros: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
    }
}
