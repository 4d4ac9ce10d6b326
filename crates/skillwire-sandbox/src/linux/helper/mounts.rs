//! A root of its own: the system read-only, the skill read-only, two bounded folders, no more.

use std::{
    fs,
    io::{self, Write as _},
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::CWD,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
        OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
        fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
    },
};

use super::{Work, view};
use crate::{job::Job, limits::Limits};

/// Where the new root is put together; it is only ever visible in this namespace.
const WORKBENCH: &str = "/tmp";

/// Room for directories and made-up files besides the skill's. Nobody writes to the root when a
/// script runs, so this keeps only mistakes in bounds.
const ROOM: usize = 32 * 1024 * 1024;

/// Puts together what is the same for every job, in the current folder from then on.
pub(super) fn lay_out() -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let parts = Parts::of_system()?;
    let root = tmpfs(Job::MAX_BYTES + ROOM, 16_384, "755", MountAttrFlags::empty())?;
    attach(&root, Path::new(WORKBENCH))?;
    std::env::set_current_dir(WORKBENCH)?;
    write_system()?;
    parts.put()
}

/// Adds what a job needs and replaces the root. Says what could not be had.
pub(super) fn change_root(work: &Work, program_root: Option<&Path>) -> io::Result<Vec<String>> {
    write_skill(work, Path::new("skill"))?;
    Parts::of_job(work, program_root)?.put()?;
    scratch(&work.spec.limits)?;
    let notes = proc_files();
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    let root = rustix::fs::open(
        "/",
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    restrict(&root, MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    Ok(notes)
}

/// Writes the skill's files; only a script that is itself a program may be executed.
pub(super) fn write_skill(work: &Work, folder: &Path) -> io::Result<()> {
    make_folder(folder, 0o755)?;
    for (file, bytes) in work.spec.files.iter().zip(&work.contents) {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent().filter(|parent| *parent != folder) {
            make_folder(parent, 0o755)?;
        }
        let mode = if file.path == work.spec.program.script() { 0o555 } else { 0o444 };
        write(&path, bytes, mode)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file?.write_all(bytes)
}

fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Links to the system's directories, made-up files, and links that programs expect in `/dev`.
fn write_system() -> io::Result<()> {
    for folder in ["etc", "dev", "proc", "tmp", "output"] {
        make_folder(Path::new(folder), 0o755)?;
    }
    for path in view::SYSTEM {
        if let Ok(target) = fs::read_link(path) {
            symlink(target, path.trim_start_matches('/'))?;
        }
    }
    for (path, text) in view::MADE_UP {
        write(Path::new(path), text.as_bytes(), 0o444)?;
    }
    for (name, target) in [
        ("dev/fd", "/proc/self/fd"),
        ("dev/stdin", "/proc/self/fd/0"),
        ("dev/stdout", "/proc/self/fd/1"),
        ("dev/stderr", "/proc/self/fd/2"),
        ("dev/shm", "/tmp"),
    ] {
        symlink(target, name)?;
    }
    Ok(())
}

/// Parts of the old root, held while the new one is put together.
struct Parts(Vec<(PathBuf, OwnedFd, bool)>);

impl Parts {
    /// Programs, libraries and devices.
    fn of_system() -> io::Result<Self> {
        let system = view::SYSTEM.iter().chain(&view::CONFIGURATION);
        let mut parts = Self::read_only(system.map(Path::new))?;
        let device = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        for path in view::DEVICES.map(Path::new) {
            parts.0.push((path.to_owned(), part(path, device)?, false));
        }
        Ok(parts)
    }

    /// What only some jobs need.
    fn of_job(work: &Work, program_root: Option<&Path>) -> io::Result<Self> {
        let certificates: &[&str] = if work.spec.network { &view::CERTIFICATES } else { &[] };
        Self::read_only(certificates.iter().map(Path::new).chain(program_root))
    }

    /// Those that exist and are no links.
    fn read_only<'a>(paths: impl Iterator<Item = &'a Path>) -> io::Result<Self> {
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mut parts = Vec::new();
        for path in paths {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if !metadata.is_symlink() {
                parts.push((path.to_owned(), part(path, flags)?, metadata.is_dir()));
            }
        }
        Ok(Self(parts))
    }

    /// Puts them at the same places below the current folder.
    fn put(self) -> io::Result<()> {
        for (path, part, is_folder) in self.0 {
            let place = path.strip_prefix("/").unwrap_or(&path);
            if is_folder {
                make_folder(place, 0o755)?;
            } else {
                make_file(place)?;
            }
            attach(&part, place)?;
        }
        Ok(())
    }
}

/// Makes an empty file, and the folders above it where there are none.
fn make_file(place: &Path) -> io::Result<()> {
    match write(place, b"", 0o444) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            place.parent().map_or(Ok(()), |parent| make_folder(parent, 0o755))?;
            write(place, b"", 0o444)
        }
        made => made,
    }
}

/// A copy of what is mounted below a path, with fewer rights.
fn part(path: &Path, flags: MountAttrFlags) -> io::Result<OwnedFd> {
    let how = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, how)?;
    restrict(&tree, flags, true)?;
    Ok(tree)
}

/// The two folders that a script may write to. What lies there is never executed.
fn scratch(limits: &Limits) -> io::Result<()> {
    let size = usize::try_from(limits.scratch).unwrap_or(usize::MAX);
    for place in ["tmp", "output"] {
        let flags = MountAttrFlags::MOUNT_ATTR_NOEXEC;
        attach(&tmpfs(size, limits.scratch_files, "700", flags)?, Path::new(place))?;
    }
    Ok(())
}

/// Mounts the files about the namespace's own processes, and nothing about the system. A container
/// that hides parts of its own keeps others from mounting any; a script can do without.
fn proc_files() -> Vec<String> {
    let mount = || -> io::Result<()> {
        let files = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(files.as_fd(), "subset", "pid")?;
        fsconfig_create(files.as_fd())?;
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        attach(&fsmount(files.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?, Path::new("proc"))
    };
    match mount() {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!("Scripts see no `/proc`: it cannot be mounted here ({error}).")],
    }
}

fn tmpfs(size: usize, files: u64, mode: &str, flags: MountAttrFlags) -> io::Result<OwnedFd> {
    let memory = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(memory.as_fd(), "size", size.to_string())?;
    fsconfig_set_string(memory.as_fd(), "nr_inodes", files.to_string())?;
    fsconfig_set_string(memory.as_fd(), "mode", mode)?;
    // What a run holds must not be written to a disk; older kernels do not know the word.
    let _ = fsconfig_set_flag(memory.as_fd(), "noswap");
    fsconfig_create(memory.as_fd())?;
    let flags = flags | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(memory.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

fn attach(mount: &impl AsFd, place: &Path) -> io::Result<()> {
    Ok(move_mount(mount, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Takes rights away from a mount, and from those below it.
fn restrict(mount: &OwnedFd, flags: MountAttrFlags, below: bool) -> io::Result<()> {
    let change = libc::mount_attr {
        attr_set: u64::from(flags.bits()),
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let how = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a string that ends with a NUL, the pointer and size are those of a structure
    // of the type that the call reads, and the descriptor is open.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            how,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
