//! Removes folders that a script filled, however deep they are and whatever their modes.

use std::{
    ffi::CString,
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::Path,
    time::Duration,
};

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, chmodat, flock, openat, renameat, unlinkat,
};

use super::{
    helper::privileges::is_run_uid,
    process_tree,
    scratch_folder::{NAME_PREFIX, PARENT},
};

/// The most folders of earlier runs that one run removes.
const MAX_ABANDONED: usize = 64;

/// How old a folder must be before its lock is looked at: its helper makes it first and locks it
/// then.
const MIN_AGE: Duration = Duration::from_secs(5);

/// The name of the file in a run's folder that holds the id of its session and of its process
/// namespace, in which that id has a meaning.
const SESSION_FILE: &str = "session";

/// Removes the folder of a run, when no process of it is left.
pub(super) fn remove(folder: &Path) {
    let Ok(opened) = open_folder(CWD, folder) else { return };
    let mut moved = 0;
    while remove_level(&opened, &mut moved).unwrap_or(false) {}
    let _ = fs::remove_dir(folder);
}

/// Removes the files of a folder and of the folders in it, and moves what is deeper up by one level.
/// So no path gets long, and no more than two folders are open at a time. Returns whether there may
/// be more.
fn remove_level(top: &OwnedFd, moved: &mut u64) -> io::Result<bool> {
    let mut progress = false;
    let names = names(top)?;
    for name in &names {
        if unlinkat(top, name, AtFlags::empty()).is_ok()
            || unlinkat(top, name, AtFlags::REMOVEDIR).is_ok()
        {
            progress = true;
            continue;
        }
        let Ok(folder) = open_folder(top, name) else { continue };
        for inner in self::names(&folder)? {
            if unlinkat(&folder, &inner, AtFlags::empty()).is_ok() {
                progress = true;
                continue;
            }
            // A folder can only be moved by a user who may write to it.
            let _ = chmodat(&folder, &inner, Mode::RWXU, AtFlags::empty());
            *moved += 1;
            let place = CString::new(format!(".moved-{moved}"))?;
            progress |= renameat(&folder, &inner, top, &place).is_ok();
        }
        progress |= unlinkat(top, name, AtFlags::REMOVEDIR).is_ok();
    }
    Ok(progress && !names.is_empty())
}

fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let names = Dir::read_from(folder)?.flatten().map(|entry| entry.file_name().to_owned());
    Ok(names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
}

/// Opens a folder that no process uses any more, and lets its owner enter it.
fn open_folder<P: rustix::path::Arg + Copy>(parent: impl AsFd, name: P) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&parent, name, flags, Mode::empty());
    // Also with the right to list it: a folder without the right to write cannot be emptied.
    let opened = match open() {
        Err(rustix::io::Errno::ACCESS) => {
            chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
            open()?
        }
        opened => opened?,
    };
    rustix::fs::fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}

/// Locks a run's folder for as long as the returned descriptor is open, and writes down the session
/// of this process, which the run's processes cannot leave.
pub(super) fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let opened = open_folder(CWD, folder)?;
    flock(&opened, FlockOperation::LockExclusive)?;
    let session = rustix::process::getsid(None)?.as_raw_nonzero();
    fs::write(folder.join(SESSION_FILE), format!("{session} {}", process_namespace()))?;
    Ok(opened)
}

fn process_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().display().to_string()
}

/// Ends processes and removes folders of runs whose supervisor and helper were both killed.
///
/// The helper of a run holds a lock on its folder. The lock goes with the helper, so a folder without
/// one is abandoned, also where the helper's id could be seen in another container only.
pub(super) fn remove_abandoned() {
    let entries = fs::read_dir(PARENT).into_iter().flatten().flatten();
    let of_runs = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME_PREFIX))
    });
    for entry in of_runs.take(MAX_ABANDONED) {
        if let Some(session) = abandoned(&entry.path()) {
            if let Some(session) = session {
                process_tree::kill_orphaned_session(session);
            }
            remove(&entry.path());
        }
    }
}

/// Whether a folder is one that this user's runs left behind, and the session of its processes.
#[expect(clippy::option_option, reason = "an abandoned folder may lack the file with the session")]
fn abandoned(folder: &Path) -> Option<Option<u32>> {
    let metadata = folder.symlink_metadata().ok()?;
    let user = rustix::process::geteuid();
    let is_ours = metadata.uid() == user.as_raw() || user.is_root() && is_run_uid(metadata.uid());
    let is_old = metadata.modified().ok()?.elapsed().is_ok_and(|age| age >= MIN_AGE);
    if !metadata.is_dir() || !is_ours || !is_old {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(CWD, folder, flags, Mode::empty()).ok()?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive).ok()?;
    let written = fs::read_to_string(folder.join(SESSION_FILE)).unwrap_or_default();
    let session =
        written.split_once(' ').filter(|(_, namespace)| *namespace == process_namespace());
    Some(session.and_then(|(session, _)| session.parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn closed_and_deep_folders_are_removed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("run");
        fs::create_dir(&folder).unwrap();
        let name: &std::ffi::CStr = c"a-name-that-makes-paths-long-after-some-thousand-levels";
        let mut level = openat(CWD, &folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&level, name, Mode::RWXU).unwrap();
            let next = openat(&level, name, OFlags::DIRECTORY, Mode::empty()).unwrap();
            rustix::fs::fchmod(&level, Mode::WUSR | Mode::XUSR).unwrap();
            level = next;
        }
        fs::create_dir(outside.path().join("closed")).unwrap();
        fs::set_permissions(outside.path().join("closed"), fs::Permissions::from_mode(0o000))
            .unwrap();
        remove(&folder);
        assert!(!folder.exists());
        remove(&outside.path().join("closed"));
        assert!(!outside.path().join("closed").exists());
    }
}
