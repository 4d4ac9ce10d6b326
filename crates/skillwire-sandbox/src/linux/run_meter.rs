//! Adds up what all processes of a run hold and have used, many times a second.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use super::{
    open_files::OpenFiles,
    process_tree::{self, ProcessReading},
    scratch_folder::{FolderUsage, ScratchFolder},
};
use crate::{isolation::IsolationTier, limits::RunLimits};

/// Memory of the kernel for each thread: its stack and what describes it.
const THREAD_BYTES: u64 = 24 * 1024;

/// Memory of the kernel for each mapping of a process: its description, its place among the others,
/// and what leads from its pages back to it.
const MAPPING_BYTES: u64 = 400;

/// What a pipe holds at most. The filter keeps scripts from making pipes larger.
const PIPE_BYTES: u64 = 64 * 1024;

/// The size of a socket's buffer where the kernel does not say.
const DEFAULT_SOCKET_BUFFER: u64 = 212_992;

/// What a run holds and has used at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunSample {
    pub(super) memory_bytes: u64,
    pub(super) cpu_time: Duration,
    /// Processes and threads of the script.
    pub(super) processes: u64,
    /// What the script's folders hold, where the kernel does not bound them; `None` if they hold more
    /// than can be counted.
    pub(super) folders: Option<FolderUsage>,
}

/// Counts what one run uses.
#[derive(Debug)]
pub(super) struct RunMeter {
    helper: u32,
    tier: IsolationTier,
    /// Whether a cgroup counts the memory, so that nobody needs this count.
    memory_is_held: bool,
    cpu: CpuMeter,
    /// What one socket is taken for. A sender fills the buffer, and may add one message to one that
    /// is almost full.
    socket_bytes: u64,
}

impl RunMeter {
    pub(super) fn new(helper: u32, tier: IsolationTier, memory_is_held: bool) -> Self {
        let buffer = fs::read_to_string("/proc/sys/net/core/wmem_default").ok();
        let buffer = buffer.and_then(|text| text.trim().parse().ok());
        let socket_bytes = 2 * buffer.unwrap_or(DEFAULT_SOCKET_BUFFER);
        Self { helper, tier, memory_is_held, cpu: CpuMeter::default(), socket_bytes }
    }

    /// Looks at every process of the run.
    pub(super) fn sample(&mut self, scratch: &ScratchFolder, limits: &RunLimits) -> RunSample {
        let all = process_tree::below(self.helper);
        let waited_by_helper =
            process_tree::read(self.helper, 0).map_or(0, |helper| helper.waited_ticks);
        let cpu_time = self.cpu.update(waited_by_helper, &all, Instant::now());
        // In the full tier the helper's only child is the first process of the namespace, which is
        // not the script's.
        let own_depth = usize::from(self.tier == IsolationTier::Full);
        let of_script = || all.iter().filter(|process| process.depth >= own_depth);
        let processes: u64 = of_script().map(|process| process.threads).sum();
        let held: u64 = of_script().map(|process| process.memory_bytes).sum();
        let (open, sockets, folders) = match self.tier {
            IsolationTier::Full if self.memory_is_held => {
                (OpenFiles::default(), 0, Some(FolderUsage::default()))
            }
            IsolationTier::Full => {
                let first = all.iter().find(|process| process.depth == 0);
                let sockets = first.and_then(|process| sockets_of_namespace(process.pid));
                let open = OpenFiles::of(of_script(), None);
                (open, sockets.unwrap_or(0), Some(FolderUsage::default()))
            }
            IsolationTier::Restricted => {
                let open = OpenFiles::of(of_script(), Some(scratch.name()));
                let folders = scratch.usage(limits, &open);
                let sockets = open.sockets.len() as u64;
                (open, sockets, folders)
            }
        };
        let memory_bytes = held
            + processes * THREAD_BYTES
            + sockets * self.socket_bytes
            + open.pipes.len() as u64 * PIPE_BYTES
            + open.mappings * MAPPING_BYTES;
        RunSample { memory_bytes, cpu_time, processes, folders }
    }
}

/// How many sockets there are in the network namespace of a process, also those that no process has
/// open because they travel through another socket.
fn sockets_of_namespace(pid: u32) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{pid}/net/sockstat")).ok()?;
    counts.lines().find_map(|line| line.strip_prefix("sockets: used "))?.trim().parse().ok()
}

/// Adds up processor time, also that of processes which are gone.
///
/// The kernel adds the time of a child to its parent's, but only when the parent waits for it. A
/// parent that ignores the end of its children loses their time. So each process is remembered: if
/// one is gone and no other has gained its time, the time counts here.
#[derive(Debug, Default)]
struct CpuMeter {
    last: BTreeMap<(u32, u64), (u64, u64)>,
    waited_by_helper: u64,
    lost_ticks: u64,
    last_sample: Option<Instant>,
}

impl CpuMeter {
    fn update(
        &mut self,
        waited_by_helper: u64,
        processes: &[ProcessReading],
        now: Instant,
    ) -> Duration {
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        let current: BTreeMap<_, _> = processes
            .iter()
            .map(|process| {
                ((process.pid, process.start), (process.own_ticks, process.waited_ticks))
            })
            .collect();
        let mut gained = waited_by_helper.saturating_sub(self.waited_by_helper);
        let mut gone = 0;
        let mut gone_processes = 0;
        for (process, (own, waited)) in &self.last {
            if let Some((_, waited_now)) = current.get(process) {
                gained += waited_now.saturating_sub(*waited);
            } else {
                gone += own + waited;
                gone_processes += 1;
            }
        }
        if let Some(unaccounted) = gone.checked_sub(gained).filter(|ticks| *ticks > 0) {
            // What such a process used after it was last seen is not known. It is taken for the whole
            // time since, which also makes up for processes that were never seen.
            let since = self.last_sample.map_or(Duration::ZERO, |last| now - last);
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let running = gone_processes.min(processors) as u64;
            let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            self.lost_ticks += unaccounted + running * since * per_second / 1000;
        }
        let live: u64 = current.values().map(|(own, waited)| own + waited).sum();
        self.last = current;
        self.waited_by_helper = waited_by_helper;
        self.last_sample = Some(now);
        let ticks = live + waited_by_helper + self.lost_ticks;
        Duration::from_millis(ticks * 1000 / per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, own_ticks: u64, waited_ticks: u64) -> ProcessReading {
        let mut process = ProcessReading::for_tests(pid);
        (process.own_ticks, process.waited_ticks) = (own_ticks, waited_ticks);
        process
    }

    fn ticks(time: Duration) -> u64 {
        let per_second = rustix::param::clock_ticks_per_second();
        u64::try_from(time.as_millis()).unwrap() * per_second / 1000
    }

    #[test]
    fn the_time_of_a_child_counts_once_whether_its_parent_waits_or_not() {
        let start = Instant::now();
        for (waited_afterwards, expected) in [(50, 60), (0, 60)] {
            let mut meter = CpuMeter::default();
            let both = [process(1, 10, 0), process(2, 50, 0)];
            assert_eq!(ticks(meter.update(0, &both, start)), 60);
            let parent = [process(1, 10, waited_afterwards)];
            assert_eq!(ticks(meter.update(0, &parent, start)), expected);
            assert_eq!(ticks(meter.update(0, &parent, start)), expected, "it is not counted twice");
        }
    }

    #[test]
    fn what_a_process_used_after_it_was_last_seen_counts() {
        let start = Instant::now();
        let mut meter = CpuMeter::default();
        meter.update(0, &[process(1, 0, 0), process(2, 50, 0)], start);
        let later = start + Duration::from_millis(200);
        let used = meter.update(0, &[process(1, 0, 0)], later);
        assert_eq!(used, Duration::from_millis(700));
    }
}
