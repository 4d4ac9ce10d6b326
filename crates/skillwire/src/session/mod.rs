//! One run of a command that uses skills: the host with the user's state, servers and folders.

mod asking;
pub(crate) mod card;
#[cfg(feature = "scan")]
pub(crate) mod card_scan;
pub(crate) mod preview;
pub(crate) mod scanned;
mod waiting;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    pin::Pin,
    time::Duration,
};

use skillwire_client::ClientOptions;
use skillwire_core::SKILL_FILE;
use skillwire_host::{
    Discovered, Host, HostBuilder, Inspected,
    local::{self, Discovery, ProjectTrust},
};
use skillwire_state::Configured;
use skillwire_trust::{
    DynamicPolicy, Handle, ListedSkill, LockFile, Origin, Policy, Reason, Refusal, Registry,
    ServerLabel, SkillId,
};

use self::waiting::{MOMENT, note_waiting};
use crate::{
    args::OriginArgs,
    commands::Outcome,
    completion,
    exit::Exit,
    failure::Failure,
    logging,
    nearest::{nearest, nearest_path},
    output::{NOTE, WARNING},
    prose,
    refusals::{self, argument},
    report::printable,
    settings::{HostSettings, address},
};

/// How long a server process may take to end by itself before it is killed. It is short because the
/// user waits for the shell prompt.
const GRACE: Duration = Duration::from_millis(500);

/// The options of one run.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "commands set each by itself")]
pub(crate) struct SessionOptions {
    /// Uses only stored decisions and cached files.
    pub(crate) offline: bool,
    /// Asks about skills without digests instead of declining them.
    pub(crate) allow_dynamic: bool,
    /// The lock that replaces the user's approvals for skills of servers.
    pub(crate) lock: Option<LockFile>,
    /// Keeps what servers wrote about their skills in members that this program does not know.
    pub(crate) keeps_entry_text: bool,
    /// Whether skills are passed on to clients, for as long as the program runs.
    pub(crate) passes_on: bool,
    /// The skill folders of this machine that are read besides the servers.
    pub(crate) folders: Option<OriginArgs>,
    /// How long servers may take to list their skills, if not as long as the policy says.
    pub(crate) wait: Option<Duration>,
}

impl SessionOptions {
    /// Options that include every origin.
    pub(crate) fn everywhere(origins: OriginArgs) -> Self {
        Self { folders: Some(origins), ..Self::default() }
    }

    /// Limits how long servers may take to list their skills.
    pub(crate) fn waiting(self, wait: Option<Duration>) -> Self {
        Self { wait, ..self }
    }

    /// Options for one handle; folders are not read if it names a server's skill.
    pub(crate) fn about(handle: &str, origins: OriginArgs) -> Self {
        let handle = Handle::parse(handle);
        let origin = handle.as_ref().ok().and_then(Handle::origin);
        if origin.is_some_and(|origin| origin.server().is_some()) {
            return Self::default();
        }
        Self::everywhere(origins)
    }
}

/// The host of one run.
pub(crate) struct Session {
    host: Host,
    settings: HostSettings,
    offline: bool,
    /// The servers as they are configured.
    configured: Configured,
    /// Servers whose configuration cannot be used, such as one with an unreadable token file.
    unusable: BTreeMap<ServerLabel, Refusal>,
    /// The handles of skills that this run named, for its messages.
    handles: RefCell<BTreeMap<SkillId, String>>,
    /// Whether the user is told on standard error what the program waits for.
    tells_waiting: Cell<bool>,
}

/// A skill that a handle named.
#[derive(Debug, Clone)]
pub(crate) struct NamedSkill {
    /// The handle that names only this skill.
    pub(crate) handle: String,
    /// The skill.
    pub(crate) listed: ListedSkill,
}

/// Runs `work` with a session; with `json`, prints a refusal as JSON.
#[expect(clippy::needless_pass_by_value, reason = "callers make the options for this one call")]
pub(crate) fn with(
    json: bool,
    options: SessionOptions,
    work: impl AsyncFnOnce(&Session) -> Outcome,
) -> Outcome {
    run(json, async || {
        let session = Session::open(&options)?;
        let outcome = work(&session).await.map_err(|failure| {
            let quote = if json { str::to_owned } else { argument };
            failure.naming(|id| session.handles.borrow().get(id).cloned(), quote)
        });
        session.host.disconnect().await;
        outcome
    })
}

/// Runs `work` on a runtime; with `json`, prints a refusal as JSON.
pub(crate) fn run(json: bool, work: impl AsyncFnOnce() -> Outcome) -> Outcome {
    run_boxed(json, Box::pin(work()))
}

/// Runs boxed work, so that the runtime's code is not compiled once for each command.
fn run_boxed(json: bool, work: Pin<Box<dyn Future<Output = Outcome> + '_>>) -> Outcome {
    logging::for_people();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::new(Exit::Internal, "The runtime could not be started.").because(error)
        })?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    refusals::answer(json, outcome)
}

/// The client options of commands.
pub(crate) fn client_options() -> ClientOptions {
    ClientOptions::default().with_shutdown_grace(GRACE)
}

impl Session {
    /// Makes the host with the configured servers, without connecting to any of them.
    pub(crate) fn open(options: &SessionOptions) -> Result<Self, Failure> {
        let settings = HostSettings::resolve()?;
        let configured = settings.servers().load().map_err(|error| {
            Failure::caused(Exit::Usage, error)
                .hint("Fix or remove that file; no server is used until then.")
        })?;
        for problem in &configured.problems {
            warn(&problem.to_string())?;
        }
        // A lock file alone decides what may be loaded, by its content and by its own keys.
        let keys = match &options.lock {
            Some(lock) => HostSettings::decision_keys(lock.trust_keys())?,
            None => HostSettings::decision_keys(&configured.trust_keys)?,
        };
        let host = self::host(&settings, options)?.decisions(keys).build();
        if let Some(origins) = options.folders {
            host.set_folders(SkillFolders::new(&settings, origins).read());
        }
        let mut unusable = BTreeMap::new();
        for (label, config) in &configured.servers {
            match address(label, config) {
                Ok(address) => {
                    host.add_server(label.clone(), address);
                    if configured.legacy.contains(label) {
                        host.allow_legacy_discovery(label)?;
                    }
                }
                Err(refusal) => {
                    unusable.insert(label.clone(), refusal);
                }
            }
        }
        let handles = RefCell::default();
        let tells_waiting = Cell::new(true);
        let offline = options.offline;
        Ok(Self { host, settings, offline, configured, unusable, handles, tells_waiting })
    }

    /// Stops telling what the program waits for on standard error, because a view has the screen.
    #[cfg(feature = "review")]
    pub(crate) fn tell_no_waiting(&self) {
        self.tells_waiting.set(false);
    }

    /// Does work that waits for a server, and tells the user on a terminal if that takes more than a
    /// moment.
    pub(crate) async fn noting_wait<T>(
        &self,
        server: Option<&ServerLabel>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(MOMENT, &mut work).await {
            return done;
        }
        if self.tells_waiting.get() {
            // If standard error is closed, no one waits for the note.
            let _ = note_waiting(server.cloned().as_slice());
        }
        work.await
    }

    /// The host.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// The servers as they were configured when the session was opened.
    #[cfg(any(feature = "bridge", feature = "page"))]
    pub(crate) fn configured(&self) -> &Configured {
        &self.configured
    }

    /// The refusals of servers whose configuration cannot be used.
    pub(crate) fn unusable(&self) -> impl Iterator<Item = &Refusal> {
        self.unusable.values()
    }

    /// The servers whose configuration cannot be used, and why.
    #[cfg(feature = "page")]
    pub(crate) fn unusable_servers(&self) -> impl Iterator<Item = (&ServerLabel, &Refusal)> {
        self.unusable.iter()
    }

    /// The folders of the user's state.
    pub(crate) fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// Lists every origin. If some have not answered after a moment, `part` gets what was found until
    /// then, and again each time that more of them have answered; a user on a terminal is told once
    /// which servers the program waits for.
    pub(crate) async fn discover_in_parts(&self, mut part: impl FnMut(&Discovered)) -> Discovered {
        let mut is_told = false;
        let discovering = self.host.discover_in_parts(MOMENT, |found, waiting| {
            part(found);
            if !std::mem::replace(&mut is_told, true) {
                // If standard error is closed, no one waits for the note.
                let _ = note_waiting(waiting);
            }
        });
        let mut found = discovering.await;
        self.remember_for_completions(&found);
        found.incomplete.extend(self.unusable.values().cloned());
        found
    }

    /// Keeps what was listed for the completions of a shell. Offline, only what was approved is known,
    /// which is less.
    fn remember_for_completions(&self, found: &Discovered) {
        if !self.offline {
            let configured: Vec<_> = self.configured.servers.keys().cloned().collect();
            completion::remember(found, &configured);
        }
    }

    /// Lists every origin, or only one. With one origin, its failure is an error.
    pub(crate) async fn discover(&self, only: Option<&Origin>) -> Result<Discovered, Refusal> {
        match only {
            None => Ok(self.discover_in_parts(|_| ()).await),
            Some(Origin::Server(label)) => {
                self.check_usable(Some(label))?;
                let listed = self.noting_wait(Some(label), self.host.list(label)).await;
                let listing = match listed {
                    Ok(listing) => listing,
                    Err(refusal) => {
                        return Err(self.with_suggestion(label.as_str(), refusal));
                    }
                };
                let dialects = listing.dialect.map(|dialect| (label.clone(), dialect));
                let found = Discovered {
                    dialects: dialects.into_iter().collect(),
                    references: listing.references_of(label),
                    registry: Registry::new(listing.skills.iter().cloned()),
                    refused: listing.refused.clone(),
                    incomplete: listing.truncated.clone().into_iter().collect(),
                    warnings: listing.warnings.clone(),
                };
                self.remember_for_completions(&found);
                Ok(found)
            }
            // No server was listed before, so only skills of folders are known.
            Some(folder) => {
                let found = self.host.known();
                let items = found.registry.items().iter();
                let of_folder = items.filter(|item| item.skill.id().origin == *folder);
                let registry = Registry::new(of_folder.map(|item| item.skill.clone()));
                let refused = if *folder == Origin::Project { found.refused } else { Vec::new() };
                Ok(Discovered { registry, refused, ..Discovered::default() })
            }
        }
    }

    /// Finds the one skill a handle names, as its origin lists it.
    pub(crate) async fn find(&self, text: &str) -> Result<NamedSkill, Refusal> {
        let handle = Handle::parse(text)?;
        self.check_usable(handle.origin().and_then(Origin::server))?;
        let asked = handle.origin().and_then(Origin::server);
        let resolved = self.noting_wait(asked, self.host.resolve(&handle)).await;
        match resolved {
            Ok(listed) => Ok(self.named(listed).await),
            Err(refusal) => Err(self.with_suggestion(text, refusal)),
        }
    }

    /// Adds the handle or label that the user probably meant.
    fn with_suggestion(&self, typed: &str, refusal: Refusal) -> Refusal {
        let meant = match refusal.reason {
            Reason::SkillNotFound => {
                if let Some(hint) = self.label_for_handle(typed) {
                    return refusal.hint(hint);
                }
                let known = self.host.known();
                let items = known.registry.items();
                let meant = if typed.contains(':') {
                    nearest(typed, items.iter().map(|item| item.handle.as_str()))
                } else {
                    nearest(typed, items.iter().map(|item| item.skill.name().as_str()))
                };
                meant.map(str::to_owned)
            }
            Reason::ServerUnknown => {
                let labels = self.host.servers();
                let label = typed.split(':').next().unwrap_or_default();
                nearest(label, labels.iter().map(ServerLabel::as_str)).map(str::to_owned)
            }
            _ => None,
        };
        match meant {
            Some(meant) => refusal.hint(format!("Did you mean `{meant}`?")),
            None => refusal,
        }
    }

    /// Explains a label of a server that was typed where a skill belongs.
    fn label_for_handle(&self, typed: &str) -> Option<String> {
        let label = typed.strip_suffix([':', '/']).unwrap_or(typed);
        let is_label = self.host.servers().iter().any(|server| server.as_str() == label);
        is_label.then(|| {
            format!(
                "`{label}` is a server. `skillwire list --server {label}` shows its skills; each has a \
                 handle such as `{label}:NAME`."
            )
        })
    }

    /// Reads a file of a skill to look at it. A name that no file has is answered with the one that the
    /// user probably meant.
    pub(crate) async fn inspect(
        &self,
        named: &NamedSkill,
        file: &str,
    ) -> Result<Inspected, Refusal> {
        let server = named.listed.id().origin.server();
        let inspected = self.noting_wait(server, self.host.inspect(&named.listed, file)).await;
        inspected.map_err(|refusal| with_file_suggestion(refusal, named, file))
    }

    /// Finds the one skill a handle names, and requests its current entry from its origin.
    pub(crate) async fn find_now(&self, text: &str) -> Result<NamedSkill, Refusal> {
        let found = self.find(text).await?;
        // For these, `find` has requested the single skill already.
        if matches!(Handle::parse(text)?, Handle::Uri(..)) || found.listed.offer().is_some() {
            return Ok(found);
        }
        let known = found.listed.clone().into();
        let server = found.listed.id().origin.server();
        let listed = self.noting_wait(server, self.host.refresh(&known)).await?;
        Ok(NamedSkill { listed, ..found })
    }

    /// Finds the one skill a handle names, among the stored decisions first, so that it works while
    /// the server cannot be reached.
    pub(crate) async fn find_remembered(&self, text: &str) -> Result<NamedSkill, Refusal> {
        let handle = Handle::parse(text)?;
        if let Ok(listed) = self.host.recall(&handle) {
            return Ok(NamedSkill { handle: handle.to_string(), listed });
        }
        self.find(text).await
    }

    /// Gives a skill the handle that listings show.
    async fn named(&self, listed: ListedSkill) -> NamedSkill {
        let known = if self.offline { self.host.discover().await } else { self.host.known() };
        let id = listed.id();
        let item = known.registry.items().iter().find(|item| item.skill.id() == id);
        let handle = item.map_or_else(|| id.to_string(), |item| item.handle.clone());
        self.name(&handle, listed)
    }

    /// Gives a skill the handle of its listing, which messages then use.
    pub(crate) fn name(&self, handle: &str, listed: ListedSkill) -> NamedSkill {
        self.handles.borrow_mut().insert(listed.id().clone(), handle.to_owned());
        NamedSkill { handle: handle.to_owned(), listed }
    }

    /// Refuses a server whose configuration cannot be used.
    pub(crate) fn check_usable(&self, label: Option<&ServerLabel>) -> Result<(), Refusal> {
        match label.and_then(|label| self.unusable.get(label)) {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(()),
        }
    }
}

/// Adds the file that the user probably meant to the refusal of one that is not there.
pub(crate) fn with_file_suggestion(refusal: Refusal, named: &NamedSkill, file: &str) -> Refusal {
    if refusal.reason != Reason::FileNotListed {
        return refusal;
    }
    let others = named.listed.other_files().unwrap_or_default();
    let known = others.iter().map(|(path, _)| path.as_str());
    let hint = match nearest_path(file, known.chain([SKILL_FILE])) {
        Some(meant) => format!("Did you mean `{meant}`?"),
        None => format!("`skillwire show {}` lists its files.", argument(&named.handle)),
    };
    refusal.hint(hint)
}

/// The skill folders of this machine that a command reads.
#[derive(Debug, Clone)]
pub(crate) struct SkillFolders {
    home: Option<PathBuf>,
    project: Option<PathBuf>,
    trust: ProjectTrust,
}

impl SkillFolders {
    pub(crate) fn new(settings: &HostSettings, origins: OriginArgs) -> Self {
        let trusted = origins.trust_project;
        Self {
            home: settings.home().map(Path::to_owned),
            project: settings.project().map(Path::to_owned),
            trust: if trusted { ProjectTrust::Trusted } else { ProjectTrust::Untrusted },
        }
    }

    /// The folders that a program watches, without symbolic links.
    #[cfg(any(feature = "bridge", feature = "page"))]
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let project = self.project.as_deref().filter(|_| self.trust == ProjectTrust::Trusted);
        let folders = local::folders(self.home.as_deref(), project);
        // A folder that does not exist yet stays as it is.
        let real = |folder: PathBuf| std::fs::canonicalize(&folder).unwrap_or(folder);
        folders.into_iter().map(real).collect()
    }

    /// Reads the folders as they are now.
    pub(crate) fn read(&self) -> Discovery {
        let project = self.project.as_deref().map(|project| (project, self.trust));
        local::discover(self.home.as_deref(), project)
    }
}

fn host(settings: &HostSettings, options: &SessionOptions) -> Result<HostBuilder, Failure> {
    let dynamic = if options.allow_dynamic { DynamicPolicy::Ask } else { DynamicPolicy::Decline };
    let keeps_entry_text = options.keeps_entry_text;
    let unattended_approvals = settings.user()?.unattended_approvals;
    let mut policy = Policy::default()
        .with_dynamic(dynamic)
        .with_entry_text(keeps_entry_text)
        .with_unattended_approvals(unattended_approvals);
    policy.budgets = waiting::budgets(policy.budgets, options.wait);
    if options.passes_on {
        policy.keeps_entry_text = true;
        // Each file and each listing has its own limit. A limit for the whole session would stop a
        // program that runs long enough.
        policy.budgets.session_bytes = u64::MAX;
    }
    Ok(Host::builder()
        .policy(policy)
        .client_options(waiting::client_options(client_options(), options.wait))
        .records(settings.records())
        .cache(settings.cache()?)
        .dialects(settings.dialects())
        .audit(settings.audit())
        .signatures(settings.signature_rules()?)
        .lock(options.lock.clone())
        .offline(options.offline))
}

/// Prints a warning, which does not stop the command.
pub(crate) fn warn(message: &str) -> std::io::Result<()> {
    writeln!(prose::stderr(), "{WARNING}warning{WARNING:#}: {}", printable(message))
}

/// Warns about origins that could not be listed completely.
pub(crate) fn report_incomplete(found: &Discovered) -> std::io::Result<()> {
    for refusal in &found.incomplete {
        writeln!(prose::stderr(), "{}", refusals::RefusalText(refusal))?;
    }
    for skill in &found.references {
        let handle = argument(&skill.to_string());
        writeln!(
            prose::stderr(),
            "{NOTE}note{NOTE:#}: The instructions of `{}` name a skill that it does not list; \
             `skillwire show {handle}` asks for it.",
            skill.origin
        )?;
    }
    found.warnings.iter().try_for_each(|warning| warn(warning))
}
