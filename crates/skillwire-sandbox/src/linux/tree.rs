//! What a process and all that descend from it hold and have used.

use std::{fs, time::Duration};

/// Counted over a tree of processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Bytes of memory that no file could give back.
    pub(super) memory: u64,
    /// Processor time, including that of children which are gone.
    pub(super) cpu: Duration,
}

/// The most processes that are looked at; limits allow far fewer.
const MAX_PROCESSES: usize = 4096;

/// Whether children of a process can be listed here.
pub(super) fn can_be_counted() -> bool {
    let pid = rustix::process::getpid().as_raw_nonzero();
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

/// Counts what descends from a process, without itself.
pub(super) fn below(root: u32) -> Counted {
    let mut counted = Counted::default();
    let mut waiting = children(root);
    let mut seen = 0;
    while let Some(pid) = waiting.pop() {
        seen += 1;
        if seen > MAX_PROCESSES {
            break;
        }
        counted.memory += memory(pid).unwrap_or_default();
        counted.cpu += cpu(pid).unwrap_or_default();
        waiting.extend(children(pid));
    }
    counted
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Anonymous and shared memory of a process. Pages of files are left out: they can be dropped.
fn memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((kib("RssAnon:")? + kib("RssShmem:")?) * 1024)
}

fn cpu(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so what follows is counted from its end.
    let (_, after) = stat.rsplit_once(')')?;
    let ticks = after.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_millis(ticks * 1000 / per_second.max(1)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_are_counted_and_oneself_is_not() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let counted = below(std::process::id());
        let alone = below(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(counted.memory > 0, "{counted:?}");
        assert_eq!(alone.memory, 0);
    }
}
