//! What Linux says about a process.

use std::fs;

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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may hold anything; user and system time are fields 14 and 15.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    Ok(ticks.map(f64::from).sum::<f64>() / TICKS_PER_SECOND)
}
