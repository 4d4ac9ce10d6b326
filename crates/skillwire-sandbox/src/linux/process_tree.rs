//! Adds up what the descendants of a process hold and have used.

use std::{fs, time::Duration};

/// The usage of a tree of processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TreeUsage {
    /// Bytes of memory that the kernel could not free by dropping pages of files.
    pub(super) memory_bytes: u64,
    /// Processor time, including that of children that were waited for.
    pub(super) cpu_time: Duration,
}

/// The most processes that are looked at. Limits allow far fewer, so this only bounds the time that
/// one sample takes.
const MAX_PROCESSES: usize = 4096;

/// Whether `/proc` lists the children of a process here.
pub(super) fn is_supported() -> bool {
    let pid = rustix::process::getpid().as_raw_nonzero();
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

/// Adds up the usage of all descendants of a process, without the process itself.
///
/// The tree changes while it is read. A process that ends meanwhile is left out of this sample; its
/// processor time then counts for its parent, and the next sample sees the rest.
pub(super) fn usage_below(root: u32) -> TreeUsage {
    let mut usage = TreeUsage::default();
    let mut waiting = children(root);
    let mut seen = 0;
    while let Some(pid) = waiting.pop() {
        seen += 1;
        if seen > MAX_PROCESSES {
            break;
        }
        usage.memory_bytes += memory_bytes(pid).unwrap_or_default();
        usage.cpu_time += cpu_time(pid).unwrap_or_default();
        waiting.extend(children(pid));
    }
    usage
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

/// Anonymous and shared memory of a process. Pages of files are left out: the kernel can drop them.
fn memory_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((kib("RssAnon:")? + kib("RssShmem:")?) * 1024)
}

fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A process chooses its name, which stands in parentheses and may hold spaces and parentheses.
    // The fields after it are found from the last parenthesis.
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
    fn children_are_counted_and_the_process_itself_is_not() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let ours = usage_below(std::process::id());
        let childs = usage_below(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(ours.memory_bytes > 0, "{ours:?}");
        assert_eq!(childs.memory_bytes, 0, "{childs:?}");
    }
}
