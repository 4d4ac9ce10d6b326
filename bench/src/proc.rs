//! Memory and processor time of a process, from `/proc`, and the cores it may run on.

use std::{collections::HashMap, fs, io};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use crate::broken::{Broken, Result};

/// The unit of the times in `/proc/PID/stat`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// How much memory a process holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Now (`VmRSS`).
    pub(crate) resident: f64,
    /// At its highest (`VmHWM`).
    pub(crate) peak: f64,
}

/// The memory of a process, in bytes.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok());
        kib.map(|kib| f64::from(kib) * 1024.0)
            .ok_or_else(|| Broken::new(format!("Process {pid} has no {name}")))
    };
    Ok(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
}

/// The seconds of processor time a process has used, its ended threads included, to a hundredth.
pub(crate) fn cpu(pid: u32) -> Result<f64> {
    // User and system time are fields 14 and 15.
    times(pid, 14)
}

/// The same of the processes that this one started and that have ended.
pub(crate) fn cpu_of_ended() -> Result<f64> {
    times(std::process::id(), 16)
}

/// Two times of a process, of which the first is the field of that number.
fn times(pid: u32, field: usize) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may hold anything; what comes after it begins with field 3.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = fields.split_whitespace().skip(field - 3).take(2);
    let ticks = fields.filter_map(|field| field.parse::<u32>().ok());
    Ok(ticks.map(f64::from).sum::<f64>() / TICKS_PER_SECOND)
}

/// Server and client on cores of their own, until this is dropped.
///
/// With one connection they take turns. Whether the kernel then puts both on one core or wakes the
/// other core for each request is luck, and decides more than the server does.
#[derive(Debug)]
pub(crate) struct Pinned {
    pids: [u32; 2],
    all: CpuSet,
}

impl Pinned {
    /// `None` where there is one core only.
    pub(crate) fn apart(server: u32, client: u32) -> Result<Option<Self>> {
        let all = sched_getaffinity(None).map_err(io::Error::from)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core));
        let (Some(first), Some(second)) = (cores.next(), cores.next()) else { return Ok(None) };
        let pinned = Self { pids: [server, client], all };
        allow(server, &only(first))?;
        allow(client, &only(second))?;
        Ok(Some(pinned))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        for pid in self.pids {
            // A server that has ended needs no cores.
            let _ = allow(pid, &self.all);
        }
    }
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}

/// Lets every thread of a process run on these cores alone.
fn allow(pid: u32, cores: &CpuSet) -> Result<()> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let id = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        sched_setaffinity(id, cores).map_err(io::Error::from)?;
    }
    Ok(())
}

/// The processor time of a process to the nanosecond, for work that is shorter than a tick.
///
/// The system reports it for live threads only, so it has to be read often enough to see a thread
/// before it ends.
#[derive(Debug)]
pub(crate) struct Meter {
    pid: u32,
    threads: HashMap<String, u64>,
    total: u64,
}

impl Meter {
    /// Starts at nothing.
    pub(crate) fn new(pid: u32) -> Result<Self> {
        let mut meter = Self { pid, threads: HashMap::new(), total: 0 };
        meter.used()?;
        meter.total = 0;
        Ok(meter)
    }

    /// The seconds used since the start.
    pub(crate) fn used(&mut self) -> Result<f64> {
        for thread in fs::read_dir(format!("/proc/{}/task", self.pid))? {
            let thread = thread?;
            // A thread that ends right now has no file any more.
            let Ok(stat) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let time = stat.split_whitespace().next().and_then(|field| field.parse().ok());
            let time: u64 = time.ok_or_else(|| Broken::new("There is no `schedstat`."))?;
            let name = thread.file_name().to_string_lossy().into_owned();
            let before = self.threads.insert(name, time).unwrap_or(0);
            self.total += time.saturating_sub(before);
        }
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are a hundred days")]
        Ok(self.total as f64 / 1e9)
    }
}
