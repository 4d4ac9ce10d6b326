//! Reads what the descendants of a process hold and have used, from `/proc`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The most processes that are looked at. Limits allow far fewer, so this only bounds the time that
/// one look takes.
const MAX_PROCESSES: usize = 4096;

/// One process at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessReading {
    pub(super) pid: u32,
    /// How many processes are between it and the one that was asked about: 0 for a child.
    pub(super) depth: usize,
    /// When it started. A process id is used again, but not with the same start.
    pub(super) start: u64,
    pub(super) threads: u64,
    /// Processor time of the process itself, in ticks of the clock.
    pub(super) own_ticks: u64,
    /// Processor time of children that it waited for, and of theirs.
    pub(super) waited_ticks: u64,
    /// Bytes of memory that the kernel could not free by dropping pages of files: anonymous pages,
    /// and the tables that lead to pages.
    pub(super) memory_bytes: u64,
    session: u32,
    has_ended: bool,
}

/// Whether `/proc` describes the processes that this process sees, and lists their children.
///
/// In a process namespace `/proc` may still be that of another one. Ids there belong to other
/// processes, so that nothing of a run would be counted.
pub(super) fn check() -> Result<(), String> {
    let pid = rustix::process::getpid().as_raw_nonzero();
    let own = fs::read_link("/proc/self").map_err(|error| format!("`/proc/self`: {error}"))?;
    if own != Path::new(&pid.to_string()) {
        return Err(format!(
            "`/proc` belongs to another process namespace: it calls this process {}, and the kernel {pid}",
            own.display()
        ));
    }
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .map(drop)
        .map_err(|error| format!("`/proc` has no such list ({error})"))
}

/// Reads all descendants of a process, parents before their children, without the process itself.
///
/// The tree changes while it is read. A process that ends meanwhile is left out; its processor time
/// then counts for its parent.
pub(super) fn below(root: u32) -> Vec<ProcessReading> {
    let mut readings = Vec::new();
    let mut waiting: Vec<_> = children(root).into_iter().map(|pid| (pid, 0)).collect();
    let mut seen = 0;
    while let Some((pid, depth)) = waiting.pop() {
        seen += 1;
        if seen > MAX_PROCESSES {
            break;
        }
        readings.extend(read(pid, depth));
        waiting.extend(children(pid).into_iter().map(|child| (child, depth + 1)));
    }
    readings
}

fn children(pid: u32) -> Vec<u32> {
    let lists = threads(pid).filter_map(|thread| fs::read_to_string(thread.join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

fn threads(pid: u32) -> impl Iterator<Item = PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path())
}

/// Reads one process; `None` if there is none.
pub(super) fn read(pid: u32, depth: usize) -> Option<ProcessReading> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A process chooses its name, which stands in parentheses and may hold spaces and parentheses.
    // The fields after it are found from the last parenthesis.
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let has_ended = matches!(*fields.first()?, "Z" | "X");
    let threads = number(17)?;
    // A process whose first thread has ended looks as if it had no memory. Its other threads show it.
    let memory_bytes = if has_ended && threads <= 1 { 0 } else { memory_bytes(pid).unwrap_or(0) };
    Some(ProcessReading {
        pid,
        depth,
        start: number(19)?,
        threads,
        own_ticks: number(11)? + number(12)?,
        waited_ticks: number(13)? + number(14)?,
        memory_bytes,
        session: u32::try_from(number(3)?).ok()?,
        has_ended: has_ended && threads <= 1,
    })
}

/// Memory of a process that only it can free. Pages of files are left out: the kernel can drop them,
/// or they are bounded with the folder that they lie in.
fn memory_bytes(pid: u32) -> Option<u64> {
    of_status(Path::new(&format!("/proc/{pid}/status")))
        .or_else(|| threads(pid).find_map(|thread| of_status(&thread.join("status"))))
}

/// Whether a process has not begun to end.
pub(super) fn has_memory(pid: u32) -> bool {
    memory_bytes(pid).is_some()
}

/// Whether a thread has not begun to end.
pub(super) fn thread_has_memory(thread: &Path) -> bool {
    of_status(&thread.join("status")).is_some()
}

/// The most mappings that the process of a thread can have: one for each page of its addresses.
pub(super) fn most_mappings(thread: &Path) -> Option<u64> {
    /// How many the kernel allows where it does not say.
    const DEFAULT_MAXIMUM: u64 = 65_530;
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let maximum = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let maximum = maximum.and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_MAXIMUM);
    Some(maximum.min(kib(&status, "VmSize:")? / 4))
}

fn of_status(file: &Path) -> Option<u64> {
    let status = fs::read_to_string(file).ok()?;
    Some((kib(&status, "RssAnon:")? + kib(&status, "VmPTE:").unwrap_or(0)) * 1024)
}

/// A size in a status file.
fn kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The folders in `/proc` of the threads that have not ended, by which the descriptors and mappings of
/// their process can be read; none once the process has ended.
pub(super) fn live_threads(process: &ProcessReading) -> Vec<PathBuf> {
    let has_ended = |thread: &PathBuf| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(')').map_or("", |(_, after)| after);
        matches!(state.split_whitespace().next(), None | Some("Z" | "X"))
    };
    if process.has_ended {
        return Vec::new();
    }
    threads(process.pid).filter(|thread| !has_ended(thread)).collect()
}

/// Kills every process of a session whose leader has ended, until none is left.
///
/// A process that cannot leave its session is found this way even when all of its parents are gone.
/// The kernel uses the number of a session for no other process while one of them is left. Only
/// confined processes are killed, which those of a run are.
pub(super) fn kill_orphaned_session(leader: u32) {
    for _ in 0..MAX_PROCESSES {
        if read(leader, 0).is_some_and(|leader| !leader.has_ended) {
            return;
        }
        let members = members_of_session(leader);
        if members.is_empty() {
            return;
        }
        for pid in members {
            if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        std::thread::yield_now();
    }
}

fn members_of_session(leader: u32) -> Vec<u32> {
    let is_member = |pid: u32| {
        read(pid, 0).is_some_and(|process| process.session == leader && !process.has_ended)
            && is_confined(pid).unwrap_or(false)
    };
    all_processes().filter(|pid| *pid != leader && is_member(*pid)).collect()
}

fn is_confined(pid: u32) -> io::Result<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(["NoNewPrivs:\t1", "Seccomp:\t2"].iter().all(|line| status.contains(line)))
}

/// The ids of all processes that this one can see.
pub(super) fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
impl ProcessReading {
    /// A process without any use.
    pub(super) fn for_tests(pid: u32) -> Self {
        Self {
            pid,
            depth: 0,
            start: 0,
            threads: 1,
            own_ticks: 0,
            waited_ticks: 0,
            memory_bytes: 0,
            session: 0,
            has_ended: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_are_read_and_the_process_itself_is_not() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let ours = below(std::process::id());
        let found = ours.iter().find(|process| process.pid == child.id()).unwrap();
        assert!(found.memory_bytes > 0 && found.threads == 1 && found.depth == 0, "{found:?}");
        assert!(below(child.id()).is_empty());
        assert!(ours.iter().all(|process| process.pid != std::process::id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(check(), Ok(()));
    }
}
