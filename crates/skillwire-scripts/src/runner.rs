//! Runs scripts of published skills.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use skillwire_core::{
    ContentSet, RelPath,
    received::{self, EntryLimits},
};
use skillwire_sandbox::{
    CancelHandle, InterpreterFinder, JobFile, RunOutcome, RunProgress, Sandbox, ScriptArguments,
    ScriptJob, ScriptLanguage, run_record,
};
use skillwire_source::{FileTree, Skill, SkillContent};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};

use crate::{
    audit::{self, AuditSubject},
    declared_arguments::{self, DeclaredArguments},
    environments::{InstalledPackages, PackageCache, PackageError, PackageOffer, PackageTools},
    output_store::{OutputRetention, OutputStore, RetainedFile},
    rules::{ExecutionRule, ExecutionRules},
    run_files::{read_files, read_inputs},
    run_news::{CancelOnDrop, NewsObserver, PROGRESS_INTERVAL, RunNews},
    run_queue::{QueueLimits, RunQueue, RunSlot},
    script_not_run::ScriptNotRun,
    sent_inputs::SentInput,
};

/// A client's request to run a script.
#[derive(Debug, Clone)]
pub struct ScriptRequest {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The script, one of its files.
    pub script: RelPath,
    /// The arguments that the client sent, unchecked.
    pub arguments: Option<Value>,
    /// Files for the script's working folder.
    pub inputs: Vec<SentInput>,
    /// The name of the caller; empty on a server without tokens.
    pub caller: String,
}

/// How far a request has come.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RunReport {
    /// It waits until it is its turn.
    Queued {
        /// How long it has waited.
        since: Duration,
        /// How many requests have their turn before.
        ahead: usize,
    },
    /// The script runs.
    Running {
        /// How long ago the client asked.
        since: Duration,
        /// How far the run has come.
        run: RunProgress,
    },
    /// The script wrote something.
    Output {
        /// How long ago the client asked.
        since: Duration,
        /// What it wrote since the last report, without control sequences. A report may leave some
        /// of it out; the outcome has it.
        text: String,
    },
}

/// A run that ended, and its files.
#[derive(Debug)]
#[non_exhaustive]
pub struct CompletedRun {
    /// How it ended.
    pub outcome: RunOutcome,
    /// The files that the caller can read.
    pub files: Vec<RetainedFile>,
    /// The record of the run for an audit log.
    pub record: Value,
    /// Sentences about packages that the script lists and did not get.
    pub note: Option<String>,
}

/// A script that may run, as clients are told of it.
pub(crate) struct DescribedScript {
    pub(crate) path: RelPath,
    /// The arguments that the skill declares for it, on one line.
    pub(crate) arguments: Option<String>,
    /// The destinations that it may connect to.
    pub(crate) network: Vec<String>,
}

/// Runs scripts that rules allow, each in isolation.
pub struct ScriptRunner {
    sandbox: Arc<Sandbox>,
    pub(crate) interpreters: InterpreterFinder,
    rules: ExecutionRules,
    outputs: OutputStore,
    queue: RunQueue,
    packages: Option<PackageCache>,
}

impl fmt::Debug for ScriptRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRunner").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl ScriptRunner {
    /// Runs what these rules allow in this sandbox.
    pub fn new(sandbox: Sandbox, interpreters: InterpreterFinder, rules: ExecutionRules) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            interpreters,
            rules,
            outputs: OutputStore::new(OutputRetention::default()),
            queue: RunQueue::new(QueueLimits::default()),
            packages: None,
        }
    }

    /// Gives scripts the packages that they list and that are in this cache. None is installed.
    #[must_use]
    pub fn with_packages(mut self, cache: PackageCache) -> Self {
        self.packages = Some(cache);
        self
    }

    /// What a script is started with.
    pub(crate) fn installed_packages(
        &self,
        script: &RelPath,
        files: &[JobFile],
    ) -> InstalledPackages {
        InstalledPackages::find(self.packages.as_ref(), &self.interpreters, script, files)
    }

    /// Resolves the packages that a script lists and does not have, so that the user can agree to them.
    /// Needs those files of its skill that [`package_lists`](crate::package_lists) names. May wait for
    /// the network.
    pub fn offer_packages(
        &self,
        tools: PackageTools,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<Option<PackageOffer>, PackageError> {
        match &self.packages {
            Some(cache) => PackageOffer::find(cache, &self.interpreters, tools, script, files),
            None => Ok(None),
        }
    }

    /// Replaces how much output of scripts is kept, and how long.
    #[must_use]
    pub fn with_output_retention(mut self, retention: OutputRetention) -> Self {
        self.outputs = OutputStore::new(retention);
        self
    }

    /// Replaces how many scripts run at once, and how many requests wait.
    #[must_use]
    pub fn with_queue_limits(mut self, limits: QueueLimits) -> Self {
        self.queue = RunQueue::new(limits);
        self
    }

    /// The files of a skill that look like scripts and that a rule allows to run, in path order.
    pub fn allowed_scripts(&self, skill: &Skill) -> Vec<RelPath> {
        let Ok(tree) = file_tree(skill) else { return Vec::new() };
        let skill = skill.path();
        let paths = tree.files.iter().map(|record| &record.path);
        let is_script = |path: &&RelPath| {
            ScriptLanguage::of_extension(path).is_some() || !path.file_name().contains('.')
        };
        let allowed = |path: &&RelPath| self.rules.find(&skill, path).is_some();
        paths.filter(is_script).filter(allowed).cloned().collect()
    }

    /// The destinations that scripts are granted by any rule.
    pub(crate) fn granted_destinations(&self) -> Vec<String> {
        self.rules.destinations()
    }

    /// The scripts of a skill that may run, each with its arguments and grants.
    pub(crate) async fn described_scripts(&self, skill: &Skill) -> Vec<DescribedScript> {
        let allowed = self.allowed_scripts(skill);
        let declarations = declarations(skill).await;
        let describe = |script: RelPath| {
            let declared = declarations.as_ref();
            let rule = self.rules.find(&skill.path(), &script);
            let network = rule.map(|rule| &rule.destinations).into_iter().flatten();
            DescribedScript {
                arguments: declared
                    .and_then(|bytes| declared_arguments::describe_declared(bytes, &script)),
                network: network.map(ToString::to_string).collect(),
                path: script,
            }
        };
        allowed.into_iter().map(describe).collect()
    }

    /// The files that callers can read.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Runs a script when it is its turn. Dropping the future ends every process of it.
    ///
    /// `on_report` is called about once a second while the request waits and while the script runs.
    /// A file of the skill is read only after the wait: requests that wait hold their arguments and
    /// nothing else.
    #[tracing::instrument(
        name = "run_script",
        skip_all,
        fields(caller = request.caller, skill = request.skill.uri.as_str(), script = %request.script)
    )]
    pub async fn run(
        &self,
        request: ScriptRequest,
        on_report: impl Fn(&RunReport),
    ) -> Result<CompletedRun, ScriptNotRun> {
        let asked = Instant::now();
        let subject = AuditSubject::of(&request);
        if let Err(reason) = has_file(&request) {
            audit::log_refused(&subject, &reason);
            return Err(reason);
        }
        let (job, note, slot) = match self.wait_and_prepare(&request, asked, &on_report).await {
            Ok(prepared) => prepared,
            Err(reason) => {
                audit::log_refused(&subject, &reason);
                return Err(reason);
            }
        };
        let ran = self.run_job(job, slot, Some(subject), asked, &on_report).await?;
        self.completed(&request.caller, ran, note)
    }

    /// Keeps the files of a run for its caller.
    pub(crate) fn completed(
        &self,
        caller: &str,
        (outcome, record): (RunOutcome, Value),
        note: Option<String>,
    ) -> Result<CompletedRun, ScriptNotRun> {
        let files = self.outputs.keep(caller, &outcome.files);
        Ok(CompletedRun { files: files.map_err(ScriptNotRun::Random)?, outcome, record, note })
    }

    /// Refuses what can be refused at once, waits for the request's turn, and reads the files.
    async fn wait_and_prepare(
        &self,
        request: &ScriptRequest,
        asked: Instant,
        on_report: &impl Fn(&RunReport),
    ) -> Result<(ScriptJob, Option<String>, RunSlot), ScriptNotRun> {
        let rule = self.rules.find(&request.skill.path(), &request.script);
        let rule = rule.ok_or(ScriptNotRun::NotAllowed)?;
        let arguments = read_arguments(request.arguments.as_ref())?;
        let inputs: usize = request.inputs.iter().map(SentInput::held_bytes).sum();
        let bytes = request.arguments.as_ref().map_or(0, held_bytes).saturating_add(inputs);
        let slot = self.wait(&request.caller, bytes, asked, on_report).await?;
        let (job, note) = self.job(request, rule, arguments).await?;
        Ok((job, note, slot))
    }

    /// Waits for the turn of a request.
    pub(crate) async fn wait(
        &self,
        caller: &str,
        bytes: usize,
        asked: Instant,
        on_report: &impl Fn(&RunReport),
    ) -> Result<RunSlot, ScriptNotRun> {
        let mut queued = self.queue.enter(caller, bytes)?;
        if let Some(slot) = queued.turn().now_or_never() {
            return slot.ok_or(ScriptNotRun::Stopping);
        }
        let first = Instant::now() + PROGRESS_INTERVAL;
        let mut ticks = tokio::time::interval_at(first, PROGRESS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            on_report(&RunReport::Queued { since: asked.elapsed(), ahead: queued.ahead() });
            tokio::select! {
                slot = queued.turn() => return slot.ok_or(ScriptNotRun::Stopping),
                _ = ticks.tick() => {}
            }
        }
    }

    /// Runs a job, and returns its outcome with the record of it. Without a subject, the caller
    /// logs the run.
    pub(crate) async fn run_job(
        &self,
        job: ScriptJob,
        slot: RunSlot,
        subject: Option<AuditSubject>,
        asked: Instant,
        on_report: &impl Fn(&RunReport),
    ) -> Result<(RunOutcome, Value), ScriptNotRun> {
        let cancel = CancelHandle::new().map_err(ScriptNotRun::Descriptors)?;
        let cancel_on_drop = CancelOnDrop(cancel.clone());
        let (news_sender, mut news) = mpsc::channel(1);
        let sandbox = Arc::clone(&self.sandbox);
        let span = tracing::Span::current();
        let running = tokio::task::spawn_blocking(move || {
            let _entered = span.enter();
            if let Some(subject) = &subject {
                audit::log_started(subject);
            }
            let result = sandbox.run_observed(&job, &cancel, &mut NewsObserver::new(news_sender));
            let result = result.map_err(ScriptNotRun::from_run);
            // The end is logged on this thread and not in the future below: that future is dropped
            // when the client disconnects, and the log would lack the end of the run.
            if let Some(subject) = &subject {
                audit::log_finished(subject, &job, result.as_ref());
            }
            let result = result.map(|outcome| {
                let record = run_record(&job, Ok(&outcome));
                (outcome, record)
            });
            // Held until the sandbox is done: a client that disconnects must not make room for
            // another run while its own still ends.
            drop(slot);
            result
        });
        tokio::pin!(running);
        let result = loop {
            tokio::select! {
                Some(news) = news.recv() => {
                    let since = asked.elapsed();
                    on_report(&match news {
                        RunNews::Progress(run) => RunReport::Running { since, run },
                        RunNews::Output(text) => RunReport::Output { since, text },
                    });
                }
                result = &mut running => break result,
            }
        };
        drop(cancel_on_drop);
        result.map_err(ScriptNotRun::Panicked)?
    }

    /// Puts a job together: a private copy of the skill, each file compared with its published
    /// digest.
    ///
    /// The copy is what runs. The files in the skill's folder may change while the script runs, and
    /// those bytes would be unchecked.
    async fn job(
        &self,
        request: &ScriptRequest,
        rule: &ExecutionRule,
        arguments: ScriptArguments,
    ) -> Result<(ScriptJob, Option<String>), ScriptNotRun> {
        let ScriptRequest { skill, script, .. } = request;
        let files = read_files(file_tree(skill)?.clone()).await?;
        let arguments = match declaration_file(skill) {
            Some(path) => match DeclaredArguments::read(&path, &files, script)? {
                Some(declared) => declared.apply(request.arguments.as_ref())?,
                None => arguments,
            },
            None => arguments,
        };
        let installed = self.installed_packages(script, &files);
        let note = installed.missing.as_ref().map(|missing| missing.note(None));
        let mut job = ScriptJob::new(files, script.clone(), arguments, &installed.interpreters)?;
        installed.add_to(&mut job)?;
        job.set_inputs(read_inputs(&request.inputs).await?)?;
        for (name, value) in &rule.variables {
            job.grant_variable(name, value.clone())?;
        }
        for destination in &rule.destinations {
            job.grant_destination(destination.clone());
        }
        job.set_limits(rule.limits.clone());
        Ok((job, note))
    }
}

fn read_arguments(arguments: Option<&Value>) -> Result<ScriptArguments, ScriptNotRun> {
    let arguments = match arguments {
        None | Some(Value::Null) => ScriptArguments::from_object(&Map::new()),
        Some(Value::Object(object)) => ScriptArguments::from_object(object),
        Some(Value::Array(words)) => ScriptArguments::from_array(words),
        Some(_) => return Err(ScriptNotRun::ArgumentsNotObject),
    };
    Ok(arguments?)
}

/// The bytes that a value holds, about: the length of its text.
fn held_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(held_bytes).sum::<usize>() + items.len() * 32,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + held_bytes(value) + 64).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn file_tree(skill: &Skill) -> Result<&FileTree, ScriptNotRun> {
    match &skill.content {
        SkillContent::Files(tree) => Ok(tree),
        SkillContent::Generated(_) => Err(ScriptNotRun::GeneratedSkill),
    }
}

/// The file in which a skill declares the arguments of its scripts.
fn declaration_file(skill: &Skill) -> Option<String> {
    let entry = received::read(&skill.entry.text(), EntryLimits::default()).ok()?;
    entry.frontmatter.script_declarations().map(str::to_owned)
}

/// The content of that file, if it can be read.
async fn declarations(skill: &Skill) -> Option<Bytes> {
    let path = RelPath::parse(&declaration_file(skill)?).ok()?;
    let tree = file_tree(skill).ok()?;
    let file = FileTree { files: [tree.file(&path)?.clone()].into(), ..tree.clone() };
    Some(read_files(file).await.ok()?.pop()?.bytes)
}

fn has_file(request: &ScriptRequest) -> Result<(), ScriptNotRun> {
    let found = file_tree(&request.skill)?.file(&request.script);
    found.map(|_| ()).ok_or(ScriptNotRun::NoSuchFile)
}

impl AuditSubject {
    fn of(request: &ScriptRequest) -> Self {
        let ScriptRequest { skill, script, caller, .. } = request;
        let record = file_tree(skill).ok().and_then(|tree| tree.file(script));
        Self {
            script_digest: record.map(|record| record.digest),
            ..Self::without_file(skill, script.as_str(), caller)
        }
    }

    /// A request for something that is no file of the skill.
    pub(crate) fn without_file(skill: &Skill, script: &str, caller: &str) -> Self {
        let entry = received::read(&skill.entry.text(), EntryLimits::default()).ok();
        let content = entry.and_then(|entry| ContentSet::of(&entry));
        Self {
            caller: caller.to_owned(),
            skill: skill.uri.as_str().to_owned(),
            script: script.chars().take(256).collect::<String>().escape_debug().to_string(),
            // An entry that is served can be read. If not, a digest of its text names the content
            // as well.
            content: content.map_or_else(|| skill.entry.digest(), |set| set.fingerprint()),
            script_digest: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use parking_lot::Mutex;
    use serde_json::json;
    use skillwire_core::SkillUri;
    use skillwire_sandbox::IsolationPolicy;
    use skillwire_source::{FileRecord, FileStore, FileStoreError, MemoryFiles, PathPatterns};

    use super::*;

    /// Files in memory that count how often they are read.
    #[derive(Debug)]
    struct CountedFiles(MemoryFiles, AtomicUsize);

    impl FileStore for CountedFiles {
        fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, FileStoreError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read(path, size)
        }
    }

    fn request() -> (ScriptRequest, Arc<CountedFiles>) {
        let files = ["SKILL.md", "run.sh"].map(|path| (RelPath::parse(path).unwrap(), "echo x"));
        let records =
            files.iter().map(|(path, text)| FileRecord::new(path.clone(), text.as_bytes()));
        let records: Box<[FileRecord]> = records.collect();
        let held = MemoryFiles::new(files.map(|(path, text)| (path, Bytes::from(text))));
        let store = Arc::new(CountedFiles(held, AtomicUsize::new(0)));
        let tree = FileTree {
            files: records,
            empty_directories: Box::default(),
            store: Arc::<CountedFiles>::clone(&store),
        };
        let skill = Skill {
            uri: SkillUri::parse("skill://refunds/SKILL.md").unwrap(),
            entry: "{}".into(),
            content: SkillContent::Files(tree),
            listed: true,
            provenance: None,
        };
        let script = RelPath::parse("run.sh").unwrap();
        let caller = "ann".to_owned();
        (
            ScriptRequest {
                skill: Arc::new(skill),
                script,
                arguments: None,
                inputs: Vec::new(),
                caller,
            },
            store,
        )
    }

    #[tokio::test]
    async fn nothing_is_read_for_a_request_before_its_turn_and_it_hears_of_its_place_b_09() {
        let rule = ExecutionRule::new(PathPatterns::parse(["**"]).unwrap());
        let sandbox = Sandbox::new(IsolationPolicy::default());
        let rules = ExecutionRules::new(vec![rule]);
        let runner = ScriptRunner::new(sandbox, InterpreterFinder::default(), rules)
            .with_queue_limits(QueueLimits::default().with_running(1).with_waiting(2, 2));
        let slot = runner.queue.enter("bob", 0).unwrap().turn().await;
        let before = runner.queue.enter("bob", 0).unwrap();
        let (request, store) = request();
        let reports = Mutex::new(Vec::new());
        let on_report = |report: &RunReport| reports.lock().push(report.clone());
        let mut waiting = std::pin::pin!(runner.run(request.clone(), on_report));
        assert!(waiting.as_mut().now_or_never().is_none());
        let [RunReport::Queued { ahead: 1, .. }] = reports.lock()[..] else {
            panic!("{:?}", reports.lock());
        };
        assert_eq!(store.1.load(Ordering::Relaxed), 0, "a waiting request reads no file");
        // One more finds no place, and says so at once.
        let refused = runner.run(request, |_| {}).await.unwrap_err();
        assert!(refused.to_string().starts_with("Too many scripts wait"), "{refused}");
        drop((slot, before));
        // Whether this machine can isolate a script does not matter here.
        let _ = waiting.await;
        assert_eq!(store.1.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn arguments_are_an_object_or_absent() {
        for absent in [None, Some(&Value::Null), Some(&json!({}))] {
            assert_eq!(read_arguments(absent).unwrap().words(), [""; 0]);
        }
        let words = json!(["check", "-x"]);
        assert_eq!(read_arguments(Some(&words)).unwrap().words(), ["check", "-x"]);
        for other in [json!("x"), json!(1)] {
            let refused = read_arguments(Some(&other)).unwrap_err();
            let sentence = "The arguments are neither an object nor an array of words.";
            assert_eq!(refused.to_string(), sentence);
        }
    }
}
