//! The version 2 cgroup of this process, if it may create others below it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::run_cgroup;

/// The controllers that bound runs, in the order in which they are shown to users.
const WANTED_CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

/// The cgroup that this process moves to. The kernel allows no processes in a cgroup that enables
/// controllers for those below it.
const SUPERVISOR_CGROUP: &str = "skillwire-supervisor";

/// The cgroup at the top of the hierarchy in which root's runs are, where the cgroup of root's process
/// holds other processes.
const ROOT_CGROUP: &str = "skillwire";

/// A cgroup below which the cgroups of runs are created.
#[derive(Debug)]
pub(super) struct DelegatedCgroup {
    pub(super) base: PathBuf,
    /// The controllers that bound runs there.
    pub(super) controllers: Vec<&'static str>,
    pub(super) version: CgroupVersion,
}

/// The two interfaces of the kernel for cgroups, whose files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    /// The `memory` controller in a hierarchy of its own.
    One,
    /// All controllers in one hierarchy.
    Two,
}

/// Why a cgroup cannot be used, for users.
pub(super) type Unusable = String;

impl DelegatedCgroup {
    /// Finds the cgroup of this process, prepares it, and removes what earlier processes left
    /// there.
    pub(super) fn detect() -> Result<Self, Unusable> {
        let own = OwnCgroup::of_this_process()
            .ok_or_else(|| "this process is in no version 2 cgroup".to_owned());
        let delegated = own
            .and_then(|own| Self::prepare(&own, std::process::id()))
            .or_else(|why| Self::of_root().ok_or(why))
            .or_else(|why| Self::of_version_1().ok_or(why))?;
        run_cgroup::remove_abandoned(&delegated.base);
        Ok(delegated)
    }

    /// Prepares the cgroup that a service manager gave to another process, `pid`, alone.
    pub(super) fn of_process(pid: u32) -> Result<Self, Unusable> {
        let given = OwnCgroup::of_entry(&pid.to_string())
            .filter(|given| OwnCgroup::of_this_process().is_none_or(|own| own.path != given.path))
            .ok_or_else(|| "the process is still in its old cgroup".to_owned())?;
        Self::prepare(&given, pid)
    }

    /// A cgroup at the top of the hierarchy, for root in a cgroup that others are in as well.
    fn of_root() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let top = version_2_mounts(&mounts).find(|(root, _)| *root == Path::new("/"))?.1;
        Self::below_top(top)
    }

    /// Makes a cgroup below the topmost one, where that lets those below it be bounded. Nothing that is
    /// there changes. The cgroup stays, without processes, for later runs.
    fn below_top(top: &Path) -> Option<Self> {
        let enabled = words(&top.join("cgroup.subtree_control"));
        let is_enabled = |name: &&str| enabled.iter().any(|word| word == name);
        let mut controllers: Vec<_> = WANTED_CONTROLLERS.into_iter().filter(is_enabled).collect();
        if !are_enough(&controllers) {
            return None;
        }
        let base = top.join(ROOT_CGROUP);
        match fs::create_dir(&base) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        controllers.retain(|name| enable(&base, name).is_ok());
        let delegated = Self { base, controllers, version: CgroupVersion::Two };
        let is_usable =
            are_enough(&delegated.controllers) && run_cgroup::try_creating(&delegated).is_ok();
        is_usable.then_some(delegated)
    }

    /// The cgroup of this process that bounds memory by the first version's interface, which only
    /// root may divide.
    fn of_version_1() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let base = find_version_1(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))?;
        let delegated = Self { base, controllers: vec!["memory"], version: CgroupVersion::One };
        run_cgroup::try_creating(&delegated).ok()?;
        Some(delegated)
    }

    /// Prepares the cgroup of the process `pid`.
    fn prepare(own: &OwnCgroup, pid: u32) -> Result<Self, Unusable> {
        // Another sandbox of the same process has moved it already.
        let moved = own.path.file_name().is_some_and(|name| name == SUPERVISOR_CGROUP);
        let base = own.path.parent().filter(|_| moved).unwrap_or(&own.path);
        let available = words(&base.join("cgroup.controllers"));
        let mut controllers: Vec<_> = WANTED_CONTROLLERS
            .into_iter()
            .filter(|name| available.iter().any(|word| word == name))
            .collect();
        if !are_enough(&controllers) {
            return Err(
                "the cgroup of this process has no `memory` and no `pids` controller".to_owned()
            );
        }
        let enabled = words(&base.join("cgroup.subtree_control"));
        let is_enabled = |name: &str| enabled.iter().any(|word| word == name);
        // Controllers can only be enabled once no process is left in the cgroup. So this process
        // moves out first, and only if the cgroup is its own: otherwise it would change how the
        // service manager, or another program, has arranged things.
        let may_enable = if moved || controllers.iter().all(|name| is_enabled(name)) {
            Ok(())
        } else {
            own.check_exclusive(pid).and_then(|()| {
                move_to_supervisor_cgroup(base, pid).map_err(|error| cannot_divide(&error))
            })
        };
        let mut first_refusal = None;
        controllers.retain(|name| {
            if is_enabled(name) {
                return true;
            }
            let refusal = may_enable.clone().and_then(|()| enable(base, name)).err();
            let usable = refusal.is_none();
            first_refusal = first_refusal.take().or(refusal);
            usable
        });
        if let Some(refusal) = first_refusal.filter(|_| !are_enough(&controllers)) {
            return Err(refusal);
        }
        let delegated = Self { base: base.to_owned(), controllers, version: CgroupVersion::Two };
        // Permissions, limits on depth and security policies can all forbid it, so it is tried.
        run_cgroup::try_creating(&delegated).map_err(|error| cannot_divide(&error))?;
        Ok(delegated)
    }
}

fn cannot_divide(error: &io::Error) -> Unusable {
    format!("the cgroup of this process cannot be divided ({error})")
}

/// Whether these controllers bound what matters. A share of the processors only spares other
/// programs.
fn are_enough(controllers: &[&str]) -> bool {
    controllers.contains(&"memory") || controllers.contains(&"pids")
}

/// Lets a controller bound the cgroups below `base`.
fn enable(base: &Path, controller: &str) -> Result<(), Unusable> {
    fs::write(base.join("cgroup.subtree_control"), format!("+{controller}"))
        .map_err(|error| cannot_divide(&error))
}

fn move_to_supervisor_cgroup(base: &Path, pid: u32) -> io::Result<()> {
    let cgroup = base.join(SUPERVISOR_CGROUP);
    match fs::create_dir(&cgroup) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs::write(cgroup.join("cgroup.procs"), pid.to_string())
}

/// The cgroup that a process is in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnCgroup {
    pub(super) path: PathBuf,
    /// Whether it is the topmost one that the process can see, as in a container.
    topmost: bool,
}

impl OwnCgroup {
    pub(super) fn of_this_process() -> Option<Self> {
        Self::of_entry("self")
    }

    fn of_entry(process: &str) -> Option<Self> {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Self::find(&read("/proc/self/mountinfo"), &read(&format!("/proc/{process}/cgroup")))
    }

    /// Finds a process's version 2 cgroup in its lists of mounts and of cgroups.
    fn find(mounts: &str, cgroups: &str) -> Option<Self> {
        let cgroup = Path::new(cgroups.lines().find_map(|line| line.strip_prefix("0::"))?);
        version_2_mounts(mounts).find_map(|(root, mount_point)| {
            let inside = cgroup.strip_prefix(root).ok()?;
            let topmost = inside.as_os_str().is_empty();
            Some(Self { path: mount_point.join(inside), topmost })
        })
    }

    /// Checks that the process `pid` may rearrange the cgroup: no other process is in it, and the
    /// system's service manager does not manage it.
    fn check_exclusive(&self, pid: u32) -> Result<(), Unusable> {
        let pid = pid.to_string();
        if words(&self.path.join("cgroup.procs")).iter().any(|other| *other != pid) {
            return Err("the cgroup of this process holds other processes as well".to_owned());
        }
        let owned = fs::metadata(&self.path).is_ok_and(|metadata| metadata.uid() != 0);
        if self.topmost || owned || is_marked_delegated(&self.path) {
            return Ok(());
        }
        Err("the cgroup of this process was not delegated to it (`Delegate=yes`)".to_owned())
    }
}

/// Finds a process's cgroup of the `memory` controller of version 1, in its lists of mounts and of
/// cgroups.
fn find_version_1(mounts: &str, cgroups: &str) -> Option<PathBuf> {
    let is_memory = |list: &str| list.split(',').any(|name| name == "memory");
    let cgroup = cgroups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        is_memory(controllers).then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        if after.next()? != "cgroup" || !is_memory(after.nth(1)?) {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let root = fields.next()?;
        let mount_point = fields.next()?;
        Some(Path::new(mount_point).join(Path::new(cgroup).strip_prefix(root).ok()?))
    })
}

/// Whether cgroups of version 2 can bound memory or processes on this machine, as far as this process
/// sees them.
pub(super) fn machine_has_controllers() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    version_2_mounts(&mounts).any(|(_, mount_point)| {
        let available = words(&mount_point.join("cgroup.controllers"));
        are_enough(&available.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// What is mounted of the hierarchy of version 2, and where.
fn version_2_mounts(mounts: &str) -> impl Iterator<Item = (&Path, &Path)> {
    mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        Some((Path::new(fields.next()?), Path::new(fields.next()?)))
    })
}

/// Whether the service manager has marked a cgroup as delegated.
fn is_marked_delegated(path: &Path) -> bool {
    let mut value = [0; 1];
    rustix::fs::getxattr(path, "user.delegate", &mut value).is_ok() && value == *b"1"
}

/// The words of a file; none if it cannot be read.
fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::symlink,
    };

    use rustix::fs::{MemfdFlags, SealFlags};

    use super::*;

    /// A folder that looks like a cgroup with these controllers and processes.
    fn cgroup(controllers: &str, enabled: &str, processes: &str) -> tempfile::TempDir {
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

    fn prepare(folder: &tempfile::TempDir, topmost: bool) -> Result<DelegatedCgroup, Unusable> {
        DelegatedCgroup::prepare(&OwnCgroup { path: folder.path().to_owned(), topmost }, 42)
    }

    #[test]
    fn a_group_with_enabled_controllers_is_used_as_it_is() {
        let folder = cgroup("cpuset cpu io memory pids\n", "memory pids cpu\n", "1\n42\n7\n");
        let found = prepare(&folder, false).unwrap();
        assert_eq!(found.base, folder.path());
        assert_eq!(found.controllers, ["memory", "pids", "cpu"]);
        assert!(!folder.path().join(SUPERVISOR_CGROUP).exists(), "no process had to move");
    }

    #[test]
    fn a_process_that_is_alone_steps_aside_and_enables_what_bounds() {
        let folder = cgroup("memory pids\n", "\n", "42\n");
        assert_eq!(prepare(&folder, true).unwrap().controllers, ["memory", "pids"]);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("skillwire-supervisor/cgroup.procs"), "42");
        // A real one adds what is written to what is there.
        assert_eq!(read("cgroup.subtree_control"), "+pids");
        // The same process comes again, from where it moved to.
        fs::write(folder.path().join("cgroup.subtree_control"), "memory pids").unwrap();
        let own = OwnCgroup { path: folder.path().join(SUPERVISOR_CGROUP), topmost: false };
        assert_eq!(DelegatedCgroup::prepare(&own, 42).unwrap().base, folder.path());
    }

    #[test]
    fn a_cgroup_without_controllers_with_others_or_of_another_program_is_left_alone() {
        let lacking = prepare(&cgroup("hugetlb cpu\n", "cpu\n", "42\n"), true).unwrap_err();
        assert!(lacking.contains("no `memory` and no `pids` controller"), "{lacking}");
        let shared = cgroup("memory pids\n", "\n", "42\n43\n");
        assert!(prepare(&shared, true).unwrap_err().contains("holds other processes"));
        assert!(!shared.path().join(SUPERVISOR_CGROUP).exists());
        let foreign = cgroup("memory pids\n", "\n", "42\n");
        if fs::metadata(foreign.path()).unwrap().uid() == 0 {
            assert!(prepare(&foreign, false).unwrap_err().contains("not delegated"));
        } else {
            assert!(
                prepare(&foreign, false).is_ok(),
                "a cgroup that a user owns was delegated to them"
            );
        }
        let locked = tempfile::tempdir().unwrap().path().join("gone");
        let own = OwnCgroup { path: locked, topmost: true };
        assert!(DelegatedCgroup::prepare(&own, 42).is_err());
    }

    /// Lets a cgroup have these controllers enabled, and refuse every other.
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
                let folder = cgroup("memory pids cpu\n", "", processes);
                let _sealed = refuse_more_than(&folder, enabled.as_bytes());
                let found = prepare(&folder, true).map(|delegated| delegated.controllers);
                assert_eq!(found.as_ref().ok(), left.as_ref(), "{enabled}: {found:?}");
                let Err(why) = found else { continue };
                let expected =
                    if processes == "42\n" { "cannot be divided" } else { "holds other processes" };
                assert!(why.contains(expected), "{why}");
            }
        }
    }

    #[test]
    fn root_in_a_shared_group_gets_one_at_the_top_and_leaves_the_others_alone() {
        let top = cgroup("memory pids cpu io\n", "memory pids cpu\n", "1\n2\n");
        // What a killed process left there; no process has so high an id.
        let abandoned = top.path().join("skillwire/skillwire-run-4194305-0");
        fs::create_dir_all(&abandoned).unwrap();
        let found = DelegatedCgroup::below_top(top.path()).unwrap();
        assert_eq!(found.base, top.path().join("skillwire"));
        assert_eq!(found.controllers, ["memory", "pids", "cpu"]);
        run_cgroup::remove_abandoned(&found.base);
        assert!(!abandoned.exists(), "the next run clears what is left");
        let read = |name: &str| fs::read_to_string(top.path().join(name)).unwrap();
        assert_eq!(read("cgroup.procs"), "1\n2\n", "no process had to move");
        assert_eq!(read("cgroup.subtree_control"), "memory pids cpu\n");
        // Where the topmost group bounds nothing below it, none is made.
        for enabled in ["\n", "cpu io\n"] {
            let top = cgroup("memory pids cpu io\n", enabled, "1\n2\n");
            assert!(DelegatedCgroup::below_top(top.path()).is_none(), "{enabled}");
            assert!(!top.path().join("skillwire").exists());
        }
    }

    #[test]
    fn the_memory_group_of_version_1_is_found() {
        let mounts = "40 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 32 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = find_version_1(mounts, "4:memory:/a/b\n0::/\n");
        assert_eq!(found, Some("/sys/fs/cgroup/memory/a/b".into()));
        assert_eq!(find_version_1(mounts, "4:cpu:/a\n0::/\n"), None);
        assert_eq!(find_version_1("", "4:memory:/a\n"), None);
    }

    #[test]
    fn the_group_of_a_process_is_found_in_every_arrangement_of_mounts() {
        let unified = "31 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "40 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 32 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let container = "50 49 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let own = |path: &str, topmost| Some(OwnCgroup { path: path.into(), topmost });
        for (mounts, cgroups, expected) in [
            (unified, "0::/user.slice/a.scope\n", own("/sys/fs/cgroup/user.slice/a.scope", false)),
            (hybrid, "4:memory:/x\n0::/\n", own("/sys/fs/cgroup/unified", true)),
            (container, "0::/docker/abc\n", own("/sys/fs/cgroup", true)),
            (container, "0::/docker/abc/in\n", own("/sys/fs/cgroup/in", false)),
            (container, "0::/elsewhere\n", None),
            (unified, "4:memory:/x\n", None),
            ("", "0::/\n", None),
            ("31 23 0:26 - cgroup2\n", "0::/\n", None),
        ] {
            let found = OwnCgroup::find(mounts, cgroups);
            let same = |a: &OwnCgroup, b: &OwnCgroup| {
                a.path.components().eq(b.path.components()) && a.topmost == b.topmost
            };
            match (&found, &expected) {
                (Some(a), Some(b)) => assert!(same(a, b), "{found:?}"),
                (a, b) => assert!(a.is_none() && b.is_none(), "{found:?}, not {expected:?}"),
            }
        }
    }
}
