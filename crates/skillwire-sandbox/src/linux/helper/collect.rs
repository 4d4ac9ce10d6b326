//! What a script left in its output folder, taken when none of its processes exists any more.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::Path,
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use skillwire_core::path::RelPath;

use super::super::protocol::{FileSpec, Report, Used, send};
use crate::limits::Limits;

/// How deep folders are followed.
const MAX_DEPTH: usize = 16;

/// Files that were taken, and how much was not.
#[derive(Default)]
struct Collected {
    files: Vec<(String, Vec<u8>)>,
    bytes: u64,
    left_out: u64,
}

/// Tells the supervisor how the script ended and what it left.
pub(super) fn tell_end(
    control: &UnixStream,
    output: &Path,
    limits: &Limits,
    (exit, signal): (Option<i32>, Option<i32>),
) -> std::io::Result<()> {
    let mut collected = Collected::default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, output, flags, Mode::empty()) {
        Ok(folder) => collected.folder(&File::from(folder), "", 0, limits),
        Err(_) => collected.left_out += 1,
    }
    let Collected { mut files, left_out, .. } = collected;
    files.sort();
    let specs =
        files.iter().map(|(path, bytes)| FileSpec { path: path.clone(), size: bytes.len() });
    let usage = used();
    send(control, &Report::Ended { exit, signal, files: specs.collect(), left_out, usage }, &[])?;
    let mut control = control;
    files.iter().try_for_each(|(_, bytes)| control.write_all(bytes))
}

impl Collected {
    fn folder(&mut self, folder: &File, prefix: &str, depth: usize, limits: &Limits) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.left_out += 1;
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // Names go into URIs and lists; what is no text is left.
            let path = name.to_str().ok().map(|name| format!("{prefix}{name}"));
            let path = path.filter(|path| RelPath::parse(path).is_ok() && path.len() <= 1024);
            let (Some(path), Ok(stat)) = (path, statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))
            else {
                self.left_out += 1;
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let open = || openat(folder.as_fd(), name, flags, Mode::empty()).map(File::from);
            match (FileType::from_raw_mode(stat.st_mode), open()) {
                (FileType::Directory, Ok(inner)) if depth < MAX_DEPTH => {
                    self.folder(&inner, &format!("{path}/"), depth + 1, limits);
                }
                // A second name may lead to a file that was never meant to be here.
                (FileType::RegularFile, Ok(file)) if stat.st_nlink == 1 => {
                    self.file(file, path, limits);
                }
                _ => self.left_out += 1,
            }
        }
    }

    fn file(&mut self, file: File, path: String, limits: &Limits) {
        let room = limits.scratch.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        let fits = self.files.len() < limits.output_files
            && file.take(room.saturating_add(1)).read_to_end(&mut bytes).is_ok()
            && bytes.len() as u64 <= room;
        if fits {
            self.bytes += bytes.len() as u64;
            self.files.push((path, bytes));
        } else {
            self.left_out += 1;
        }
    }
}

/// What the kernel counted for the processes that are gone.
fn used() -> Used {
    // SAFETY: the structure is plain numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the right type that lives through the call.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return Used::default();
    }
    let micros =
        |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    Used {
        cpu_micros: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
    }
}
