//! The cgroup of version 2 that this process was given, if it may make others below it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::group;

/// The controllers that bound runs, in the order in which they are named.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// Where this process moves, because a group that has groups with bounds has no processes itself.
const SUPERVISOR: &str = "skillwire-supervisor";

/// A group below which groups of runs are made, and what bounds them there.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) base: PathBuf,
    pub(super) controllers: Vec<&'static str>,
}

/// Why there is none.
type Why = String;

impl Delegated {
    /// Finds the group of this process and prepares it; what earlier processes left there goes.
    pub(super) fn take() -> Result<Self, Why> {
        let own = Own::here().ok_or("this process is in no cgroup of version 2")?;
        let delegated = Self::at(&own, std::process::id())?;
        group::sweep(&delegated.base);
        Ok(delegated)
    }

    /// Prepares the group of the process `pid`.
    fn at(own: &Own, pid: u32) -> Result<Self, Why> {
        // Another sandbox of this process has been here.
        let moved = own.path.file_name().is_some_and(|name| name == SUPERVISOR);
        let base = own.path.parent().filter(|_| moved).unwrap_or(&own.path);
        let given = words(&base.join("cgroup.controllers"));
        let mut controllers: Vec<_> =
            WANTED.into_iter().filter(|name| given.iter().any(|word| word == name)).collect();
        if !are_enough(&controllers) {
            return Err(
                "the cgroup of this process has no `memory` and no `pids` controller".to_owned()
            );
        }
        let enabled = words(&base.join("cgroup.subtree_control"));
        let is_enabled = |name: &str| enabled.iter().any(|word| word == name);
        let may_enable = if moved || controllers.iter().all(|name| is_enabled(name)) {
            Ok(())
        } else {
            own.check_ours(pid)
                .and_then(|()| step_aside(base, pid).map_err(|error| refused(&error)))
        };
        let mut why = None;
        controllers.retain(|name| {
            if is_enabled(name) {
                return true;
            }
            let refusal = may_enable.clone().and_then(|()| enable(base, name)).err();
            let usable = refusal.is_none();
            why = why.take().or(refusal);
            usable
        });
        if let Some(why) = why.filter(|_| !are_enough(&controllers)) {
            return Err(why);
        }
        let delegated = Self { base: base.to_owned(), controllers };
        // Only a group that was made shows that one can be.
        group::try_making(&delegated).map_err(|error| refused(&error))?;
        Ok(delegated)
    }
}

fn refused(error: &io::Error) -> Why {
    format!("the cgroup of this process cannot be divided ({error})")
}

/// Whether these bound what matters; a part of the processors is only a courtesy to others.
fn are_enough(controllers: &[&str]) -> bool {
    controllers.contains(&"memory") || controllers.contains(&"pids")
}

/// Lets a controller bound the groups below `base`.
fn enable(base: &Path, controller: &str) -> Result<(), Why> {
    fs::write(base.join("cgroup.subtree_control"), format!("+{controller}"))
        .map_err(|error| refused(&error))
}

fn step_aside(base: &Path, pid: u32) -> io::Result<()> {
    let aside = base.join(SUPERVISOR);
    match fs::create_dir(&aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs::write(aside.join("cgroup.procs"), pid.to_string())
}

/// The group of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) path: PathBuf,
    /// Whether it is the topmost that can be seen, as in a container.
    topmost: bool,
}

impl Own {
    /// That of this process.
    pub(super) fn here() -> Option<Self> {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        own_group(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// Whether the process `pid` may rearrange the group: it is alone there, and the group is not one
    /// that somebody else, such as the system's service manager, arranges.
    fn check_ours(&self, pid: u32) -> Result<(), Why> {
        let pid = pid.to_string();
        if words(&self.path.join("cgroup.procs")).iter().any(|other| *other != pid) {
            return Err(
                "the cgroup of this process holds others as well; start it as a service, or with \
                        `systemd-run --user --scope -p Delegate=yes`"
                    .to_owned(),
            );
        }
        let owned = fs::metadata(&self.path).is_ok_and(|metadata| metadata.uid() != 0);
        if self.topmost || owned || is_marked(&self.path) {
            return Ok(());
        }
        Err("the cgroup of this process was not delegated to it (`Delegate=yes`)".to_owned())
    }
}

/// Whether the service manager has marked a group as somebody's own.
fn is_marked(path: &Path) -> bool {
    let mut value = [0; 1];
    rustix::fs::getxattr(path, "user.delegate", &mut value).is_ok() && value == *b"1"
}

/// The words of a file; none of one that cannot be read.
fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Where a process's group of version 2 lies, from its lists of mounts and of groups.
fn own_group(mounts: &str, groups: &str) -> Option<Own> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let inside = group.strip_prefix(root).ok()?;
        Some(Own { path: Path::new(place).join(inside), topmost: inside.as_os_str().is_empty() })
    })
}

#[cfg(test)]
mod tests {
    use std::os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::symlink,
    };

    use rustix::fs::{MemfdFlags, SealFlags};

    use super::*;

    /// A folder that looks like a group with these controllers and processes.
    fn group(controllers: &str, enabled: &str, processes: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cgroup.controllers", controllers),
            ("cgroup.subtree_control", enabled),
            ("cgroup.procs", processes),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        folder
    }

    fn at(folder: &tempfile::TempDir, topmost: bool) -> Result<Delegated, Why> {
        Delegated::at(&Own { path: folder.path().to_owned(), topmost }, 42)
    }

    #[test]
    fn a_group_with_enabled_controllers_is_used_as_it_is() {
        let folder = group("cpuset cpu io memory pids\n", "memory pids cpu\n", "1\n42\n7\n");
        let found = at(&folder, false).unwrap();
        assert_eq!(found.base, folder.path());
        assert_eq!(found.controllers, ["memory", "pids", "cpu"]);
        assert!(!folder.path().join(SUPERVISOR).exists(), "nobody had to move");
    }

    #[test]
    fn a_process_that_is_alone_steps_aside_and_enables_what_bounds() {
        let folder = group("memory pids\n", "\n", "42\n");
        assert_eq!(at(&folder, true).unwrap().controllers, ["memory", "pids"]);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("skillwire-supervisor/cgroup.procs"), "42");
        // A real one adds what is written to what is there.
        assert_eq!(read("cgroup.subtree_control"), "+pids");
        // The same process comes again, from where it moved to.
        fs::write(folder.path().join("cgroup.subtree_control"), "memory pids").unwrap();
        let own = Own { path: folder.path().join(SUPERVISOR), topmost: false };
        assert_eq!(Delegated::at(&own, 42).unwrap().base, folder.path());
    }

    #[test]
    fn a_group_without_controllers_with_others_or_of_somebody_else_is_left_alone() {
        let lacking = at(&group("hugetlb cpu\n", "cpu\n", "42\n"), true).unwrap_err();
        assert!(lacking.contains("no `memory` and no `pids` controller"), "{lacking}");
        let shared = group("memory pids\n", "\n", "42\n43\n");
        assert!(at(&shared, true).unwrap_err().contains("holds others"));
        assert!(!shared.path().join(SUPERVISOR).exists());
        let foreign = group("memory pids\n", "\n", "42\n");
        if fs::metadata(foreign.path()).unwrap().uid() == 0 {
            assert!(at(&foreign, false).unwrap_err().contains("not delegated"));
        } else {
            assert!(at(&foreign, false).is_ok(), "a group of one's own was delegated");
        }
        let locked = tempfile::tempdir().unwrap().path().join("gone");
        let own = Own { path: locked, topmost: true };
        assert!(Delegated::at(&own, 42).is_err());
    }

    /// Lets a group have these controllers enabled, and refuse every other.
    fn refuse_more_than(folder: &tempfile::TempDir, enabled: &[u8]) -> OwnedFd {
        let sealed = rustix::fs::memfd_create("enabled", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::io::write(&sealed, enabled).unwrap();
        rustix::fs::fcntl_add_seals(&sealed, SealFlags::WRITE | SealFlags::SHRINK).unwrap();
        let file = folder.path().join("cgroup.subtree_control");
        fs::remove_file(&file).unwrap();
        symlink(format!("/proc/self/fd/{}", sealed.as_raw_fd()), file).unwrap();
        sealed
    }

    #[test]
    fn a_controller_that_is_refused_is_done_without_as_long_as_another_bounds() {
        // Whether it is the kernel that refuses, or others are there and nothing may be rearranged.
        for processes in ["42\n", "42\n43\n"] {
            for (enabled, left) in [
                ("memory pids", Some(vec!["memory", "pids"])),
                ("pids cpu", Some(vec!["pids", "cpu"])),
                ("memory", Some(vec!["memory"])),
                ("cpu", None),
                ("\n", None),
            ] {
                let folder = group("memory pids cpu\n", "", processes);
                let _sealed = refuse_more_than(&folder, enabled.as_bytes());
                let found = at(&folder, true).map(|delegated| delegated.controllers);
                assert_eq!(found.as_ref().ok(), left.as_ref(), "{enabled}: {found:?}");
                let Err(why) = found else { continue };
                let expected =
                    if processes == "42\n" { "cannot be divided" } else { "holds others" };
                assert!(why.contains(expected), "{why}");
            }
        }
    }

    #[test]
    fn the_group_of_a_process_is_found_in_every_arrangement_of_mounts() {
        let unified = "31 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "40 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 32 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let container = "50 49 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let own = |path: &str, topmost| Some(Own { path: path.into(), topmost });
        for (mounts, groups, expected) in [
            (unified, "0::/user.slice/a.scope\n", own("/sys/fs/cgroup/user.slice/a.scope", false)),
            (hybrid, "4:memory:/x\n0::/\n", own("/sys/fs/cgroup/unified", true)),
            (container, "0::/docker/abc\n", own("/sys/fs/cgroup", true)),
            (container, "0::/docker/abc/in\n", own("/sys/fs/cgroup/in", false)),
            (container, "0::/elsewhere\n", None),
            (unified, "4:memory:/x\n", None),
            ("", "0::/\n", None),
            ("31 23 0:26 - cgroup2\n", "0::/\n", None),
        ] {
            let found = own_group(mounts, groups);
            let same = |a: &Own, b: &Own| {
                a.path.components().eq(b.path.components()) && a.topmost == b.topmost
            };
            match (&found, &expected) {
                (Some(a), Some(b)) => assert!(same(a, b), "{found:?}"),
                (a, b) => assert!(a.is_none() && b.is_none(), "{found:?}, not {expected:?}"),
            }
        }
    }
}
