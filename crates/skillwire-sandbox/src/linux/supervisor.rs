//! Starts a helper, feeds it, bounds it, and takes what it reports.

mod attendant;
mod failed;
mod helpers;
mod incoming;
mod origin;
mod pipes;

use std::{
    io::{self, Write as _},
    net::TcpListener,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::{
    attendant::{Attendant, Remains},
    helpers::Helper,
    incoming::Incoming,
    pipes::{Captured, Streams},
};
pub(crate) use self::{failed::Failed, helpers::Helpers};
use super::{
    cgroup::{Group, Groups},
    protocol::{FileSpec, Program, Spec, send},
    proxy::Proxy,
    scratch::Scratch,
    tree,
};
use crate::{
    interpreter::{Interpreter, Language},
    isolation::Tier,
    job::Job,
    limits::Limits,
    outcome::{End, Outcome, Stop, Together, Usage},
    sandbox::{Cancel, Tick},
    sanitise,
};

/// How often a tree of processes is counted.
const TICK: Duration = Duration::from_millis(20);

/// How long a helper that was told to end everything may take before it is ended itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run that came to an end, and what the machine did not give it.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) notes: Vec<String>,
}

/// What all runs of a sandbox share.
#[derive(Debug)]
pub(crate) struct Shared {
    helpers: Arc<Helpers>,
    attendant: Attendant,
    groups: Groups,
}

impl Shared {
    pub(crate) fn new(helpers: Helpers, groups: Groups) -> Self {
        let helpers = Arc::new(helpers);
        Self { attendant: Attendant::new(Arc::clone(&helpers)), helpers, groups }
    }

    /// Starts the helper of the next run, beside whatever else is done.
    pub(crate) fn get_ready(&self, tier: Tier) {
        self.attendant.start(tier);
    }

    /// Waits until nothing of earlier runs is left.
    pub(crate) fn settle(&self) {
        self.attendant.settle();
    }

    /// What bounds runs as a whole.
    pub(crate) fn together(&self) -> Together {
        self.groups.together()
    }
}

/// Runs a job in a tier, from start to end.
pub(crate) fn run(
    shared: &Shared,
    job: &Job,
    tier: Tier,
    cancel: &Cancel,
    tick: &mut dyn FnMut(&Tick),
) -> Result<Finished, Failed> {
    if !tree::can_be_counted() {
        return Err(Failed::Step {
            what: "a list of a process's children in `/proc`",
            why: "it is not there".to_owned(),
            hint: "Mount `/proc`, and use a kernel with `CONFIG_PROC_CHILDREN`.",
        });
    }
    let started = Instant::now();
    let (mut helper, another) = shared.helpers.take(tier)?;
    // It waits for its job, so it is in the group before it starts anything.
    let (group, together) = shared.groups.make(job, helper.pid());
    let (theirs, streams) = Streams::new(job)?;
    let spec = spec(job);
    let control =
        helper.control.take().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
    // A helper that ends early has said why; that is read below.
    let sent = send_job(&control, &spec, job, &theirs);
    drop(theirs);
    if another {
        shared.attendant.taken(tier);
    }
    let mut run = Running::new(helper.pid(), control, streams, (job, tier), (started, group))?;
    let end = run.until_end(cancel, tick, helper.scratch());
    // Whatever happened: hang up, so that the helper ends everything.
    run.hang_up(helper, &shared.attendant);
    end?;
    run.finish(sent.err(), together)
}

fn spec(job: &Job) -> Spec {
    let script = job.script.as_str().to_owned();
    let node = matches!(&job.interpreter, Interpreter::Program { language: Language::Node, .. });
    Spec {
        files: job.files.iter().map(file_spec).collect(),
        program: match &job.interpreter {
            Interpreter::Static => Program::Script(script),
            Interpreter::Program { program, options, root, .. } => Program::Interpreter {
                path: program.clone(),
                options: options.clone(),
                script,
                root: root.clone(),
            },
        },
        words: job.arguments.words().to_vec(),
        environment: job.environment.clone().into_iter().collect(),
        network: !job.network.is_empty(),
        limits: job.limits.clone(),
        bound_addresses: !node,
    }
}

fn file_spec(file: &crate::job::JobFile) -> FileSpec {
    FileSpec { path: file.path.as_str().to_owned(), size: file.bytes.len() }
}

fn send_job(
    control: &UnixStream,
    spec: &Spec,
    job: &Job,
    [stdin, stdout, stderr]: &[OwnedFd; 3],
) -> io::Result<()> {
    control.set_write_timeout(Some(PATIENCE))?;
    send(control, spec, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    let mut control = control;
    job.files.iter().try_for_each(|file| control.write_all(&file.bytes))
}

/// Everything about a run that is under way.
struct Running<'a> {
    helper: u32,
    control: Option<UnixStream>,
    incoming: Incoming,
    stdin: pipes::Feed<'a>,
    stdout: Captured,
    stderr: Captured,
    proxy: Option<Proxy>,
    job: &'a Job,
    tier: Tier,
    started: Instant,
    group: Option<Group>,
    stop: Option<Stop>,
    usage: Usage,
}

impl<'a> Running<'a> {
    fn new(
        helper: u32,
        control: UnixStream,
        Streams { stdin, stdout, stderr }: Streams<'a>,
        (job, tier): (&'a Job, Tier),
        (started, group): (Instant, Option<Group>),
    ) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self {
            helper,
            control: Some(control),
            incoming: Incoming::new(&job.limits),
            stdin,
            stdout,
            stderr,
            proxy: None,
            job,
            tier,
            started,
            group,
            stop: None,
            usage: Usage::default(),
        })
    }

    /// Goes on until the helper is done, or has to be stopped.
    fn until_end(
        &mut self,
        cancel: &Cancel,
        tick: &mut dyn FnMut(&Tick),
        scratch: &Scratch,
    ) -> Result<(), Failed> {
        let wall = self.started + self.job.limits.wall;
        let mut next = self.started + TICK / 2;
        while self.stop.is_none() {
            let now = Instant::now();
            if now >= wall {
                self.stop = Some(Stop::Wall);
                break;
            }
            if now >= next {
                next = now + TICK;
                self.count(scratch);
                let output = self.stdout.written() + self.stderr.written();
                tick(&Tick { elapsed: self.started.elapsed(), output });
            }
            let wait = next.min(wall).saturating_duration_since(now);
            let done = self.wait(wait, cancel)?;
            if done {
                break;
            }
        }
        Ok(())
    }

    /// Waits for something to happen and takes it. Says whether the helper is done.
    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, Failed> {
        let Some(control) = &self.control else { return Ok(true) };
        let mut events = vec![
            PollFd::new(control, PollFlags::IN),
            PollFd::from_borrowed_fd(cancel.descriptor(), PollFlags::IN),
        ];
        let streams: [Option<BorrowedFd<'_>>; 2] = [self.stdout.open(), self.stderr.open()];
        events.extend(
            streams.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        events.extend(self.stdin.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        match poll(&mut events, Some(&timespec(at_most))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let [control_ready, cancelled] =
            [!events[0].revents().is_empty(), !events[1].revents().is_empty()];
        drop(events);
        if cancelled {
            self.stop = Some(Stop::Cancelled);
            return Ok(true);
        }
        self.stdin.feed();
        self.stdout.take()?;
        self.stderr.take()?;
        if self.stdout.is_flood() || self.stderr.is_flood() {
            self.stop = Some(Stop::Output);
            return Ok(true);
        }
        if control_ready {
            let done = self.incoming.take(control)?;
            if let Some(listener) = self.incoming.listener() {
                self.proxy = Some(Proxy::start(TcpListener::from(listener), &self.job.network)?);
            }
            return Ok(done);
        }
        Ok(false)
    }

    fn count(&mut self, scratch: &Scratch) {
        let mut counted = tree::below(self.helper);
        if let Some(cpu) = self.group.as_ref().and_then(Group::cpu) {
            counted.cpu = counted.cpu.max(cpu);
        }
        self.usage.peak_memory = self.usage.peak_memory.max(counted.memory);
        self.usage.cpu = self.usage.cpu.max(counted.cpu);
        let Limits { memory, cpu, .. } = self.job.limits;
        if counted.memory > memory {
            self.stop = Some(Stop::Memory);
        } else if counted.cpu > cpu {
            self.stop = Some(Stop::Cpu);
        } else if scratch.is_over(&self.job.limits) {
            self.stop = Some(Stop::Disk);
        }
    }

    /// Closes the socket, which makes the helper end everything, and waits until every process of the
    /// script is gone.
    fn hang_up(&mut self, helper: Helper, attendant: &Attendant) {
        self.control = None;
        // No connection outlives the script.
        self.proxy = None;
        let mut remains = Remains { helper, group: self.group.take() };
        // A helper that told the end has seen them go, and is alone with its namespaces.
        let alone = self.incoming.has_ended();
        if !alone {
            remains.end();
        }
        self.stdout.drain();
        self.stderr.drain();
        if remains.group.as_ref().is_some_and(Group::ran_out_of_memory) {
            self.stop.get_or_insert(Stop::Memory);
        }
        self.usage.wall = self.started.elapsed();
        if alone {
            attendant.clear(remains);
        }
    }

    fn finish(self, sent: Option<io::Error>, together: Together) -> Result<Finished, Failed> {
        let Self { incoming, stop, mut usage, tier, stdout, stderr, job, .. } = self;
        let taken = incoming.into_taken();
        if let Some(broken) = taken.broken {
            return Err(broken.into());
        }
        let (end, files, left_out) = match (stop, taken.ended) {
            (Some(stop), _) if taken.started => (End::Stopped(stop), Vec::new(), 0),
            (Some(Stop::Cancelled), _) => (End::Stopped(Stop::Cancelled), Vec::new(), 0),
            (None, Some(ended)) => {
                usage.cpu = usage.cpu.max(Duration::from_micros(ended.used.cpu_micros));
                usage.peak_memory = usage.peak_memory.max(ended.used.peak_bytes);
                (end(ended.exit, ended.signal), ended.files, ended.left_out)
            }
            _ => {
                let silent = io::Error::other("the helper ended without a word");
                return Err(Failed::Supervisor(sent.unwrap_or(silent)));
            }
        };
        let text = |captured: Captured| {
            let (bytes, more) = captured.into_bytes();
            sanitise::text(&bytes, job.limits.output, more)
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        let outcome = Outcome { end, stdout, stderr, files, left_out, usage, tier, together };
        Ok(Finished { outcome, notes: taken.notes })
    }
}

fn end(exit: Option<i32>, signal: Option<i32>) -> End {
    match (exit, signal) {
        // The kernel's own way to say that a process used up its time.
        (_, Some(libc::SIGXCPU)) => End::Stopped(Stop::Cpu),
        (_, Some(signal)) => End::Signalled(signal),
        (code, None) => End::Exited(code.unwrap_or(-1)),
    }
}

fn timespec(duration: Duration) -> Timespec {
    // A limit of centuries is as good as none.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 })
}
