//! The root file system of a run in the full tier: the system and the skill read-only, two bounded
//! folders, and nothing else.
//!
//! It is put together in two parts, by two processes. The helper mounts what is the same for every
//! job before it has one ([`prepare_root`]). The first process of the namespace adds the job's own
//! parts and replaces the root ([`enter_root`]).

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
    fs::{CWD, Mode, OFlags},
    mount::{
        FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags,
        MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_reconfigure,
        fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, fspick, mount_change, move_mount,
        open_tree, unmount,
    },
};

use super::{ReceivedJob, visible_paths};
use crate::{job::ScriptJob, limits::RunLimits};

/// Where the new root may be put together: the first folder that exists. It is hidden only in this
/// mount namespace. What a job is given may lie below `/tmp`, so that comes last.
const BUILD_FOLDERS: [&str; 3] = ["/sys", "/mnt", "/tmp"];

/// Room in the root for directories and generated files besides the skill's. The root is read-only
/// when a script runs, so this only bounds mistakes of our own.
const ROOT_EXTRA_BYTES: usize = 32 * 1024 * 1024;

/// The most files and directories in the root.
const ROOT_FILES: u64 = 16_384;

/// Puts together what is the same for every job, and makes the new root the current folder.
pub(super) fn prepare_root() -> io::Result<()> {
    // First of all: a new mount namespace still passes mounts on to the one it was copied from.
    // Without this the mounts below would appear on the whole machine.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // The parts of the old root are copied before the new one covers a folder of it.
    let parts = BindMounts::of_system()?;
    let size = ScriptJob::MAX_BYTES + ROOT_EXTRA_BYTES;
    let root = tmpfs(size, ROOT_FILES, "755", MountAttrFlags::empty())?;
    let folder = BUILD_FOLDERS.iter().map(Path::new).find(|folder| folder.is_dir());
    let folder = folder.ok_or(io::ErrorKind::NotFound)?;
    attach(&root, folder)?;
    std::env::set_current_dir(folder)?;
    write_system_files()?;
    parts.attach()?;
    replace_office_starters()
}

/// Puts our own starter of `LibreOffice` in the place of the one that does not work here, where there
/// is one.
fn replace_office_starters() -> io::Result<()> {
    let (starter, text) = visible_paths::OFFICE_STARTER;
    let starters = visible_paths::OFFICE_STARTERS.map(|path| path.trim_start_matches('/'));
    for path in starters.map(Path::new) {
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        if !Path::new(starter).exists() {
            write_file(Path::new(starter), text.as_bytes(), 0o555)?;
        }
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
        attach(&copy_tree(Path::new(starter), flags)?, path)?;
    }
    Ok(())
}

/// Adds what a job needs and replaces the root. Returns sentences about what could not be had.
///
/// Runs in the first process of the process namespace, because `/proc` shows the namespace of the
/// process that mounts it.
pub(super) fn enter_root(job: &ReceivedJob) -> io::Result<Vec<String>> {
    write_skill(job, Path::new("skill"))?;
    // Before the job's own parts, some of which may lie below `/tmp`.
    mount_script_folders(&job.spec.limits)?;
    BindMounts::of_job(job)?.attach()?;
    write_inputs(job, Path::new("output"))?;
    let notes = mount_proc();
    // Puts the old root on top of the new one and takes it away from there. A `chroot` would leave
    // the old root mounted, and a process with an open directory of it could walk back.
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    // The current folder still is the root as it was, outside of the new one.
    std::env::set_current_dir("/")?;
    // Last, because every step above makes files or mount points in the root. Mounts below it have
    // flags of their own.
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    fill_root()?;
    restrict(&root, MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    Ok(notes)
}

/// Makes the root as large as it is. A script cannot write to it, but by reading a mapping of a hole
/// in a file it could still take the space that is left.
fn fill_root() -> io::Result<()> {
    let found = rustix::fs::statvfs("/")?;
    let used = (found.f_blocks - found.f_bfree) * found.f_frsize;
    let root = fspick(CWD, "/", FsPickFlags::FSPICK_CLOEXEC)?;
    fsconfig_set_string(root.as_fd(), "size", used.max(4096).to_string())?;
    Ok(fsconfig_reconfigure(root.as_fd())?)
}

/// Writes the skill's files, and links to its packages. Scripts and static programs may be executed.
pub(super) fn write_skill(job: &ReceivedJob, folder: &Path) -> io::Result<()> {
    make_folder(folder, 0o755)?;
    for (file, bytes) in job.spec.files.iter().zip(&job.contents) {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent().filter(|parent| *parent != folder) {
            make_folder(parent, 0o755)?;
        }
        let is_program = file.path == job.spec.program.script()
            || bytes.starts_with(b"#!")
            || bytes.starts_with(b"\x7fELF");
        write_file(&path, bytes, if is_program { 0o555 } else { 0o444 })?;
    }
    for (at, target) in &job.spec.packages {
        let link = folder.join(at);
        if let Some(parent) = link.parent() {
            make_folder(parent, 0o755)?;
        }
        symlink(target, link)?;
    }
    Ok(())
}

/// Writes copies of the caller's files into the working folder.
pub(super) fn write_inputs(job: &ReceivedJob, folder: &Path) -> io::Result<()> {
    for (input, bytes) in job.spec.inputs.iter().zip(&job.inputs) {
        let path = folder.join(&input.path);
        if let Some(parent) = path.parent() {
            make_folder(parent, 0o755)?;
        }
        write_file(&path, bytes, if input.writable { 0o644 } else { 0o444 })?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file?.write_all(bytes)
}

fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Writes links to the system's directories, generated files, and links that programs expect in
/// `/dev`.
fn write_system_files() -> io::Result<()> {
    for folder in ["etc", "dev", "proc", "tmp", "output"] {
        make_folder(Path::new(folder), 0o755)?;
    }
    for path in visible_paths::SYSTEM_DIRECTORIES {
        if let Ok(target) = fs::read_link(path) {
            symlink(target, path.trim_start_matches('/'))?;
        }
    }
    for (path, text) in visible_paths::GENERATED_FILES {
        write_file(Path::new(path), text.as_bytes(), 0o444)?;
    }
    // A file without content and of the greatest length reads like the device, without taking space.
    // Unlike with the device, memory that is mapped from it counts for the root, which is full.
    let zero = Path::new(visible_paths::ZERO_DEVICE.trim_start_matches('/'));
    write_file(zero, b"", 0o444)?;
    let zero = rustix::fs::open(zero, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    rustix::fs::ftruncate(zero?, i64::MAX.unsigned_abs())?;
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

/// A copy of a part of the old root, which is not attached anywhere yet.
struct BindMount {
    path: PathBuf,
    tree: OwnedFd,
    is_folder: bool,
}

/// Parts of the old root that the new one gets.
struct BindMounts(Vec<BindMount>);

impl BindMounts {
    /// Programs, libraries and devices, which every job gets.
    fn of_system() -> io::Result<Self> {
        let system = visible_paths::SYSTEM_DIRECTORIES.iter().chain(&visible_paths::CONFIGURATION);
        let mut parts = Self::read_only(system.map(Path::new))?;
        // Devices are writable, so they are not read-only, but nothing in them can be executed.
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        for path in visible_paths::DEVICES.map(Path::new) {
            let tree = copy_tree(path, flags)?;
            parts.0.push(BindMount { path: path.to_owned(), tree, is_folder: false });
        }
        Ok(parts)
    }

    /// What only some jobs get: certificates, and interpreters and packages outside of the system's
    /// directories.
    fn of_job(job: &ReceivedJob) -> io::Result<Self> {
        let certificates: &[&str] =
            if job.spec.network { &visible_paths::CERTIFICATES } else { &[] };
        let roots = job.spec.roots.iter().map(PathBuf::as_path);
        Self::read_only(certificates.iter().map(Path::new).chain(roots))
    }

    /// Copies the paths that exist and are not links.
    fn read_only<'a>(paths: impl Iterator<Item = &'a Path>) -> io::Result<Self> {
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mut parts = Vec::new();
        for path in paths {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if !metadata.is_symlink() {
                let tree = copy_tree(path, flags)?;
                parts.push(BindMount { path: path.to_owned(), tree, is_folder: metadata.is_dir() });
            }
        }
        Ok(Self(parts))
    }

    /// Attaches the parts at the same paths below the current folder.
    fn attach(self) -> io::Result<()> {
        for BindMount { path, tree, is_folder } in self.0 {
            let place = path.strip_prefix("/").unwrap_or(&path);
            if is_folder {
                make_folder(place, 0o755)?;
            } else {
                make_file(place)?;
            }
            attach(&tree, place)?;
        }
        Ok(())
    }
}

/// Makes an empty file, and the folders above it where they are missing.
fn make_file(place: &Path) -> io::Result<()> {
    match write_file(place, b"", 0o444) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            place.parent().map_or(Ok(()), |parent| make_folder(parent, 0o755))?;
            write_file(place, b"", 0o444)
        }
        made => made,
    }
}

/// Copies what is mounted at and below a path, with fewer rights.
///
/// The rights go while the copy is still detached, so that it is never visible with more.
fn copy_tree(path: &Path, flags: MountAttrFlags) -> io::Result<OwnedFd> {
    let how = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, how)?;
    restrict(&tree, flags, true)?;
    Ok(tree)
}

/// Mounts the two folders that a script may write to. Each has a size of its own that the kernel
/// enforces, and nothing in them can be executed.
fn mount_script_folders(limits: &RunLimits) -> io::Result<()> {
    // A size of 0 would mean no bound. With one page, files still stay empty: no process may make one
    // longer than the limit (`RLIMIT_FSIZE`).
    let size = usize::try_from(limits.folder_bytes).unwrap_or(usize::MAX).max(1);
    // The folder itself is the first of its files.
    let files = limits.folder_files.saturating_add(1);
    for place in ["tmp", "output"] {
        let flags = MountAttrFlags::MOUNT_ATTR_NOEXEC;
        attach(&tmpfs(size, files, "700", flags)?, Path::new(place))?;
    }
    Ok(())
}

/// Mounts `/proc` with the entries of processes alone: files about the machine, such as
/// `/proc/keys` or `/proc/sys`, are left out.
///
/// A container that hides parts of its own `/proc` cannot mount another one. A script can do
/// without, so this is only noted.
fn mount_proc() -> Vec<String> {
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
    // What a run holds, such as granted credentials, should never reach a disk. Older kernels do
    // not know this option.
    let _ = fsconfig_set_flag(memory.as_fd(), "noswap");
    fsconfig_create(memory.as_fd())?;
    let flags = flags | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(memory.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

fn attach(mount: &impl AsFd, place: &Path) -> io::Result<()> {
    Ok(move_mount(mount, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Takes rights away from a mount, and with `recursive` from all mounts below it. A system
/// directory may have others mounted in it, which would otherwise stay writable.
fn restrict(mount: &OwnedFd, flags: MountAttrFlags, recursive: bool) -> io::Result<()> {
    let change = libc::mount_attr {
        attr_set: u64::from(flags.bits()),
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let how = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a string that ends with a NUL, the pointer and size are those of a
    // structure of the type that the call reads, and the descriptor is open.
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
