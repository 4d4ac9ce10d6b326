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
    net::Shutdown,
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

/// How much of a file is in memory at a time. Copies of whole files would count for the run's cgroup,
/// which has room for the folders of the script once.
const PIECE_BYTES: usize = 64 * 1024;

const FOLDER_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opening a pipe without `NONBLOCK` would wait for a writer that never comes.
const FILE_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Files that were collected, and how many entries were not.
#[derive(Default)]
struct CollectedFiles<'a> {
    /// The inputs by their paths. Those that are unchanged are not collected.
    inputs: HashMap<&'a str, &'a [u8]>,
    files: Vec<FileSpec>,
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
    send(control, &HelperReport::Collecting, &[])?;
    let inputs = job.spec.inputs.iter().map(|input| input.path.as_str());
    let mut collected = CollectedFiles {
        inputs: inputs.zip(job.inputs.iter().map(Vec::as_slice)).collect(),
        ..CollectedFiles::default()
    };
    let folder = openat(CWD, output, FOLDER_FLAGS, Mode::empty()).map(File::from);
    match &folder {
        Ok(folder) => collected.add_folder(folder, "", 0, limits),
        Err(_) => collected.skipped += 1,
    }
    let CollectedFiles { mut files, skipped, .. } = collected;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let report = HelperReport::Ended {
        exit: status.exit_status(),
        signal: status.terminating_signal(),
        files,
        skipped_files: skipped,
        usage: kernel_usage(file_systems),
    };
    send(control, &report, &[])?;
    let (HelperReport::Ended { files, .. }, Ok(folder)) = (report, folder) else { return Ok(()) };
    files.iter().try_for_each(|file| send_content(control, &folder, file)).inspect_err(|_| {
        // The supervisor awaits the rest of this file. The report of this failure must not be taken
        // for it.
        let _ = control.shutdown(Shutdown::Write);
    })
}

/// Sends the content of a file that was collected, piece by piece.
fn send_content(mut control: &UnixStream, folder: &File, spec: &FileSpec) -> io::Result<()> {
    let mut file = open_below(folder, &spec.path)?;
    let mut piece = vec![0; PIECE_BYTES.min(spec.size)];
    let mut left = spec.size;
    while left > 0 {
        let wanted = left.min(PIECE_BYTES);
        file.read_exact(&mut piece[..wanted])?;
        control.write_all(&piece[..wanted])?;
        left -= wanted;
    }
    Ok(())
}

/// Opens a file by its path in the output folder, without following a link.
fn open_below(folder: &File, path: &str) -> rustix::io::Result<File> {
    let open = |folder: &File, name: &str, flags| {
        openat(folder.as_fd(), name, flags, Mode::empty()).map(File::from)
    };
    let Some((folders, name)) = path.rsplit_once('/') else {
        return open(folder, path, FILE_FLAGS);
    };
    let mut inner = folder.try_clone().map_err(|_| rustix::io::Errno::MFILE)?;
    for name in folders.split('/') {
        inner = open(&inner, name, FOLDER_FLAGS)?;
    }
    open(&inner, name, FILE_FLAGS)
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
            let open = || openat(folder.as_fd(), name, FILE_FLAGS, Mode::empty()).map(File::from);
            match (FileType::from_raw_mode(stat.st_mode), open()) {
                (FileType::Directory, Ok(inner)) if depth < MAX_DEPTH => {
                    self.add_folder(&inner, &format!("{path}/"), depth + 1, limits);
                }
                // A file with a second name may be a hard link to a file outside of the folder.
                (FileType::RegularFile, Ok(file)) if stat.st_nlink == 1 => {
                    self.add_file(&file, path, limits);
                }
                _ => self.skipped += 1,
            }
        }
    }

    fn add_file(&mut self, file: &File, path: String, limits: &RunLimits) {
        let Ok(size) = file.metadata().map(|metadata| metadata.len()) else {
            self.skipped += 1;
            return;
        };
        let is_unchanged = |input: &&[u8]| input.len() as u64 == size && has_content(file, input);
        if self.inputs.get(path.as_str()).is_some_and(is_unchanged) {
            return;
        }
        let room = limits.folder_bytes.saturating_sub(self.bytes);
        match usize::try_from(size) {
            Ok(fitting) if size <= room && self.files.len() < limits.output_files => {
                self.bytes += size;
                self.files.push(FileSpec { path, size: fitting });
            }
            _ => self.skipped += 1,
        }
    }
}

/// Whether a file of the same length has exactly this content.
fn has_content(mut file: &File, content: &[u8]) -> bool {
    let mut piece = vec![0; PIECE_BYTES.min(content.len())];
    let mut pieces = content.chunks(PIECE_BYTES);
    let same = pieces.all(|expected| {
        let read = &mut piece[..expected.len()];
        file.read_exact(read).is_ok() && read == expected
    });
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
