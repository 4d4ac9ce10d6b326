//! One run while its script runs: waits for events, enforces limits, and keeps what the script
//! writes.

use std::{
    io,
    net::TcpListener,
    os::{fd::BorrowedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};
use skillwire_egress::{EgressProxy, RefusedDestination};

use super::{
    super::{
        cgroup::{RunCgroup, bytes_in_folders},
        run_meter::RunMeter,
        scratch_folder::ScratchFolder,
    },
    FinishedRun, RunFailure,
    helper_pool::HelperProcess,
    limit_holders,
    maintenance::{MaintenanceThread, RunRemains},
    report_reader::ReportReader,
    script_streams::{CapturedStream, InputFeed, ScriptStreams},
    timespec,
};
use crate::{
    cancel::CancelHandle,
    isolation::IsolationTier,
    job::ScriptJob,
    outcome::{AggregateEnforcement, ResourceUsage, RunEnd, RunOutcome, StopReason},
    sandbox::{OutputStream, RunObserver, RunProgress},
    sanitise,
};

/// How often the usage of a run is added up.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);

/// Everything about a run that is under way.
pub(super) struct ActiveRun<'a> {
    meter: RunMeter,
    /// Closing it tells the helper to end every process of the run.
    control: Option<UnixStream>,
    reports: ReportReader,
    stdin: InputFeed<'a>,
    stdout: CapturedStream,
    stderr: CapturedStream,
    proxy: Option<EgressProxy>,
    refused: Vec<RefusedDestination>,
    job: &'a ScriptJob,
    started: Instant,
    cgroup: Option<RunCgroup>,
    /// Why the supervisor stops the run, once it does.
    stop: Option<StopReason>,
    usage: ResourceUsage,
}

impl<'a> ActiveRun<'a> {
    pub(super) fn new(
        meter: RunMeter,
        control: UnixStream,
        streams: ScriptStreams<'a>,
        job: &'a ScriptJob,
        started: Instant,
        cgroup: Option<RunCgroup>,
    ) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self {
            meter,
            control: Some(control),
            reports: ReportReader::new(&job.limits_with_inputs()),
            stdin: streams.stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
            proxy: None,
            refused: Vec::new(),
            job,
            started,
            cgroup,
            stop: None,
            usage: ResourceUsage::default(),
        })
    }

    /// Waits until the helper is done, or the run has to be stopped.
    pub(super) fn supervise(
        &mut self,
        cancel: &CancelHandle,
        observer: &mut dyn RunObserver,
        scratch: &ScratchFolder,
    ) -> Result<(), RunFailure> {
        let deadline = self.started + self.job.limits.wall_time;
        let mut next_sample = self.started + SAMPLE_INTERVAL / 2;
        while self.stop.is_none() {
            let now = Instant::now();
            if now >= deadline {
                self.stop = Some(StopReason::Wall);
                break;
            }
            if now >= next_sample {
                next_sample = now + SAMPLE_INTERVAL;
                // What the helper uses to send the files is not the script's.
                if !self.reports.script_is_gone() {
                    self.check_usage(scratch);
                }
                let output_bytes = self.stdout.written() + self.stderr.written();
                observer.progress(&RunProgress { elapsed: self.started.elapsed(), output_bytes });
            }
            let timeout = next_sample.min(deadline).saturating_duration_since(now);
            let over = self.wait(timeout, cancel)?;
            self.pass_on_output(observer);
            if over {
                break;
            }
        }
        Ok(())
    }

    /// Tells the observer what was written since the last time, as far as it wants to know.
    pub(super) fn pass_on_output(&mut self, observer: &mut dyn RunObserver) {
        for (stream, captured) in
            [(OutputStream::Stdout, &mut self.stdout), (OutputStream::Stderr, &mut self.stderr)]
        {
            let text = captured.take_live_text();
            if !text.is_empty() {
                observer.output(stream, &text);
            }
        }
    }

    /// Waits for an event and handles it. Returns whether the run is over.
    fn wait(&mut self, timeout: Duration, cancel: &CancelHandle) -> Result<bool, RunFailure> {
        let Some(control) = &self.control else { return Ok(true) };
        let mut events = vec![
            PollFd::new(control, PollFlags::IN),
            PollFd::from_borrowed_fd(cancel.descriptor(), PollFlags::IN),
        ];
        let outputs: [Option<BorrowedFd<'_>>; 2] =
            [self.stdout.descriptor(), self.stderr.descriptor()];
        events.extend(
            outputs.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        events
            .extend(self.stdin.descriptor().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        match poll(&mut events, Some(&timespec(timeout))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let control_ready = !events[0].revents().is_empty();
        let cancelled = !events[1].revents().is_empty();
        drop(events);
        if cancelled {
            self.stop = Some(StopReason::Cancelled);
            return Ok(true);
        }
        self.stdin.write();
        self.stdout.read()?;
        self.stderr.read()?;
        if self.stdout.is_flood() || self.stderr.is_flood() {
            self.stop = Some(StopReason::Output);
            return Ok(true);
        }
        if control_ready {
            let done = self.reports.read(control)?;
            if let Some(listener) = self.reports.take_listener() {
                let listener = TcpListener::from(listener);
                self.proxy = Some(EgressProxy::start(listener, &self.job.destinations)?);
            }
            return Ok(done);
        }
        Ok(false)
    }

    /// Adds up what the run uses, and decides whether it has to be stopped.
    ///
    /// With a cgroup the kernel holds memory in bounds at every moment, with what the run's folders
    /// may hold on top. Its count of processor time includes processes that came and went between two
    /// samples.
    fn check_usage(&mut self, scratch: &ScratchFolder) {
        let limits = &self.job.limits_with_inputs();
        let mut sample = self.meter.sample(scratch, limits);
        if let Some(cpu_time) = self.cgroup.as_ref().and_then(RunCgroup::cpu_time) {
            sample.cpu_time = sample.cpu_time.max(cpu_time);
        }
        // The cgroup knows better than the sum over processes, which share pages.
        let in_folders = bytes_in_folders(self.job);
        if let Some(held) = self.cgroup.as_ref().and_then(|cgroup| cgroup.memory(in_folders)) {
            sample.memory_bytes = held;
        }
        let out_of_memory = self.cgroup.as_ref().is_some_and(RunCgroup::ran_out_of_memory);
        let usage = &mut self.usage;
        usage.peak_memory_bytes = usage.peak_memory_bytes.max(sample.memory_bytes);
        usage.peak_processes = usage.peak_processes.max(sample.processes);
        usage.cpu_time = usage.cpu_time.max(sample.cpu_time);
        let folders = sample.folders.unwrap_or_default();
        usage.folder_bytes = usage.folder_bytes.max(folders.bytes);
        usage.folder_files = usage.folder_files.max(folders.files);
        let folders_are_over = sample.folders.is_none()
            || folders.bytes > limits.folder_bytes
            || folders.files > limits.folder_files;
        if sample.memory_bytes > limits.memory_bytes || out_of_memory {
            self.stop = Some(StopReason::Memory);
        } else if sample.cpu_time > limits.cpu_time {
            self.stop = Some(StopReason::Cpu);
        } else if folders_are_over {
            self.stop = Some(StopReason::Disk);
        } else if sample.processes > limits.processes {
            self.stop = Some(StopReason::Processes);
        }
    }

    /// Ends the run: closes the control socket, and waits until every process of the script is
    /// gone.
    pub(super) fn hang_up(&mut self, helper: HelperProcess, maintenance: &MaintenanceThread) {
        self.control = None;
        // No connection outlives the script.
        self.refused = self.proxy.take().map(|proxy| proxy.refused()).unwrap_or_default();
        let mut remains = RunRemains { helper, cgroup: self.cgroup.take() };
        // A helper that reported the end has waited for every process of the script. Only then may
        // the rest be cleaned up in the background: otherwise a process that ignores signals could
        // still be writing to its streams, or be billed to the next run.
        let script_is_gone = self.reports.has_ended();
        if !script_is_gone {
            remains.end_unfinished();
        }
        self.stdout.drain();
        self.stderr.drain();
        // The kernel kills a whole cgroup that is out of memory. Without this the run would look as
        // if a signal from elsewhere had ended it.
        if remains.cgroup.as_ref().is_some_and(RunCgroup::ran_out_of_memory) {
            self.stop.get_or_insert(StopReason::Memory);
        }
        self.usage.output_bytes = (self.stdout.written() + self.stderr.written()) as u64;
        self.usage.wall_time = self.started.elapsed();
        if script_is_gone {
            maintenance.clean_up(remains);
        }
    }

    /// Puts the outcome together. `send_error` is the failure to send the job, which is reported
    /// only where the helper gave no reason of its own.
    pub(super) fn finish(
        self,
        tier: IsolationTier,
        enforcement: AggregateEnforcement,
        send_error: Option<io::Error>,
    ) -> Result<FinishedRun, RunFailure> {
        let Self { reports, stop, mut usage, stdout, stderr, refused, job, .. } = self;
        let reports = reports.into_reports();
        if let Some(failure) = reports.failure {
            return Err(failure.into());
        }
        let (end, files, skipped_files) = match (stop, reports.end) {
            // A run that was stopped before it started is a failure of the machine, unless the
            // caller cancelled it. Files of a stopped run are not returned: they may be half
            // written.
            (Some(stop), _) if reports.started || stop == StopReason::Cancelled => {
                (RunEnd::Stopped(stop), Vec::new(), 0)
            }
            (None, Some(end)) => {
                usage.cpu_time = usage.cpu_time.max(Duration::from_micros(end.usage.cpu_micros));
                usage.peak_memory_bytes = usage.peak_memory_bytes.max(end.usage.peak_bytes);
                usage.folder_bytes = usage.folder_bytes.max(end.usage.folder_bytes);
                usage.folder_files = usage.folder_files.max(end.usage.folder_files);
                usage.peak_processes = usage.peak_processes.max(1);
                (run_end(end.exit, end.signal), end.files, end.skipped_files)
            }
            _ => {
                let silent = || io::Error::other("the helper process ended without a report");
                return Err(RunFailure::Supervision(send_error.unwrap_or_else(silent)));
            }
        };
        let text = |captured: CapturedStream| {
            let (bytes, more) = captured.into_bytes();
            sanitise::text(&bytes, job.limits.stream_bytes, more)
        };
        let limits = limit_holders(&enforcement, tier).limits(&job.limits, Some(&usage));
        let outcome = RunOutcome {
            end,
            stdout: text(stdout),
            stderr: text(stderr),
            files,
            skipped_files,
            refused_destinations: refused,
            usage,
            tier,
            enforcement,
            limits,
        };
        Ok(FinishedRun { outcome, notes: reports.notes })
    }
}

fn run_end(exit: Option<i32>, signal: Option<i32>) -> RunEnd {
    match (exit, signal) {
        // The kernel sends this signal to a process that has used up its processor time.
        (_, Some(libc::SIGXCPU)) => RunEnd::Stopped(StopReason::Cpu),
        (_, Some(signal)) => RunEnd::Signalled(signal),
        (code, None) => RunEnd::Exited(code.unwrap_or(-1)),
    }
}
