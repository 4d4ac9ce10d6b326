//! `skillwire setup`: the bridge in the configuration of the agents on this machine.

mod config_file;
mod source;
mod trial;

use std::{fs, io::Write as _, path::PathBuf};

use serde::Serialize;
use skillwire_agents::{Agent, Edit, EditError, Removal, agents};

use self::config_file::ConfigFile;
use super::{Outcome, check::diff};
use crate::{
    args::SetupArgs,
    exit::Exit,
    failure::Failure,
    nearest::nearest,
    output::{FAINT, STRONG, counted},
    progress::WaitSpinner,
    prose, report,
    settings::AgentSettings,
    terminal,
};

/// What is to be done to one agent's file.
struct Plan {
    agent: &'static Agent,
    file: ConfigFile,
    edit: Result<Change, Failure>,
}

/// How a file is to be changed.
enum Change {
    None,
    Write {
        text: String,
        /// Whether the file is from before the bridge was added.
        keeps_old: bool,
    },
    /// The file holds only what this command has put there.
    Remove,
}

/// What happened to one agent, for `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    agent: &'static str,
    file: PathBuf,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Unchanged,
    WouldChange,
    Changed,
    Failed,
}

pub(super) fn run(args: &SetupArgs) -> Outcome {
    let settings = AgentSettings::resolve()?;
    if args.list {
        return list(&settings, args.json);
    }
    let source = source::named(args, &settings)?;
    let chosen = choose(&settings, &args.agents, args.remove)?;
    if chosen.is_empty() && !args.remove {
        return Err(Failure::new(Exit::NotFound, "No agent was found on this machine.").hint(
            "`skillwire setup --list` shows the agents that are known; `--agent NAME` writes the \
             file of one that was not found.",
        ));
    }
    let plans: Vec<Plan> =
        chosen.into_iter().map(|agent| plan(agent, &settings, args.remove)).collect();
    if !args.json {
        show(&plans, &settings, args.remove)?;
    }
    let is_change = |plan: &&Plan| matches!(plan.edit, Ok(Change::Write { .. } | Change::Remove));
    let changes = plans.iter().filter(is_change).count();
    let may_write = changes > 0 && !args.dry_run && agrees(args, changes)?;
    let mut done: Vec<Done> =
        plans.into_iter().map(|plan| carry_out(plan, &settings, may_write, args.remove)).collect();
    let declined = changes > 0 && !may_write;
    if !args.remove {
        if args.dry_run {
            source::show(args, source.as_ref())?;
        } else if !declined {
            source::add(args, &settings, source)?;
        }
        if !declined {
            try_each(&settings, &mut done);
        }
    }
    if args.json {
        report::json(&mut std::io::stdout().lock(), &done)?;
    } else {
        summarise(args, &settings, &done)?;
    }
    let failed = done.iter().any(|done| done.state == State::Failed);
    Ok(if failed { Exit::Findings } else { Exit::Ok })
}

/// The agents to change: those that the user named, or else those that are found.
fn choose(
    settings: &AgentSettings,
    named: &[String],
    remove: bool,
) -> Result<Vec<&'static Agent>, Failure> {
    if named.is_empty() {
        // What was added may outlive the agent, so every file that exists is looked at to remove it.
        let wanted = |agent: &&Agent| {
            if remove { settings.file(agent).exists() } else { settings.is_present(agent) }
        };
        return Ok(agents().iter().filter(wanted).collect());
    }
    named.iter().map(|name| find_agent(name)).collect()
}

/// Finds an agent by the name that the user typed.
pub(super) fn find_agent(name: &str) -> Result<&'static Agent, Failure> {
    let by_id = agents().iter().find(|agent| agent.id() == name);
    let fits =
        |agent: &&Agent| agent.program() == Some(name) || agent.name().eq_ignore_ascii_case(name);
    by_id.or_else(|| agents().iter().find(fits)).ok_or_else(|| {
        let failure = Failure::new(Exit::NotFound, format!("There is no agent `{name}` here."));
        let words =
            |agent: &'static Agent| [Some(agent.id()), agent.program()].into_iter().flatten();
        let begins = |agent: &&Agent| name.len() > 1 && agent.id().starts_with(name);
        let mut near: Vec<&str> = agents().iter().filter(begins).map(Agent::id).collect();
        if near.is_empty() {
            near.extend(nearest(name, agents().iter().flat_map(words)));
        }
        match near.as_slice() {
            [] => failure.hint("`skillwire setup --list` shows the agents that are known."),
            near => failure.hint(format!("Did you mean `{}`?", near.join("` or `"))),
        }
    })
}

fn list(settings: &AgentSettings, json: bool) -> Outcome {
    #[derive(Serialize)]
    struct Known {
        agent: &'static str,
        name: &'static str,
        found: bool,
        file: PathBuf,
    }
    let known: Vec<Known> = agents()
        .iter()
        .map(|agent| Known {
            agent: agent.id(),
            name: agent.name(),
            found: settings.is_present(agent),
            file: settings.file(agent),
        })
        .collect();
    if json {
        report::json(&mut std::io::stdout().lock(), &known)?;
        return Ok(Exit::Ok);
    }
    let widest = known.iter().map(|known| known.agent.len()).max().unwrap_or(0);
    let mut out = prose::stdout();
    for known in known {
        let found = if known.found { "found " } else { "absent" };
        let file = settings.short(&known.file);
        let agent = known.agent;
        writeln!(out, "{STRONG}{agent:widest$}{STRONG:#}  {found}  {FAINT}{file}{FAINT:#}")?;
    }
    Ok(Exit::Ok)
}

fn plan(agent: &'static Agent, settings: &AgentSettings, remove: bool) -> Plan {
    let path = settings.file(agent);
    let short = settings.short(&path);
    let (file, edit) = match ConfigFile::read(&path) {
        Ok(file) => {
            let edit =
                if remove { removal(agent, &file) } else { addition(agent, &file, settings) };
            let edit = edit.map_err(|error| {
                Failure::new(Exit::Findings, format!("`{short}` was left as it is")).because(error)
            });
            (file, edit)
        }
        Err(error) => {
            let failure = Failure::new(Exit::Findings, format!("`{short}` cannot be read"));
            (ConfigFile::absent(path), Err(failure.because(error)))
        }
    };
    Plan { agent, file, edit }
}

fn addition(
    agent: &Agent,
    file: &ConfigFile,
    settings: &AgentSettings,
) -> Result<Change, EditError> {
    Ok(match agent.add(file.text(), &settings.entry(agent))? {
        Edit::Unchanged => Change::None,
        // A text that has the entry already is not the one from before it.
        Edit::Changed(text) => {
            Change::Write { text, keeps_old: agent.current(file.text())?.is_none() }
        }
    })
}

fn removal(agent: &Agent, file: &ConfigFile) -> Result<Change, EditError> {
    Ok(match agent.remove(file.text(), file.backup().as_deref())? {
        Removal::Unchanged => Change::None,
        Removal::Changed(text) => Change::Write { text, keeps_old: false },
        Removal::Empty => Change::Remove,
    })
}

/// Shows what would change in each file.
fn show(plans: &[Plan], settings: &AgentSettings, remove: bool) -> std::io::Result<()> {
    let mut out = prose::stderr();
    for Plan { agent, file, edit } in plans {
        let name = agent.name();
        match edit {
            Ok(Change::None) if remove => {}
            Ok(Change::None) => {
                writeln!(out, "{STRONG}{name}{STRONG:#}: has the bridge already.")?;
            }
            Ok(change) => {
                let path = settings.short(file.path());
                let text = if let Change::Write { text, .. } = change { text } else { "" };
                writeln!(out, "{STRONG}{name}{STRONG:#}:")?;
                diff::content(&mut out, &path, file.text(), text, true)?;
            }
            Err(failure) => {
                writeln!(out, "{failure}")?;
                if !remove {
                    writeln!(
                        out,
                        "Add this yourself:\n{}",
                        agent.snippet(&settings.entry(agent)).trim_end()
                    )?;
                }
            }
        }
    }
    out.flush()
}

fn agrees(args: &SetupArgs, changes: usize) -> Result<bool, Failure> {
    if args.yes {
        return Ok(true);
    }
    let question = format!("Write {}?", if changes == 1 { "this file" } else { "these files" });
    terminal::agrees(&question).ok_or_else(|| {
        Failure::usage("There is no terminal to ask you on, so nothing was written.")
            .hint("Run this command in a terminal and decide there; `--dry-run` only shows what would change.")
    })
}

fn carry_out(plan: Plan, settings: &AgentSettings, may_write: bool, remove: bool) -> Done {
    let Plan { agent, file, edit } = plan;
    let path = file.path().to_owned();
    let mut done = Done {
        agent: agent.id(),
        file: path,
        state: State::Unchanged,
        backup: None,
        skills: None,
        waiting: None,
        error: None,
    };
    let backup = file.backup_path();
    let written = match edit {
        Ok(Change::None) => return done,
        Ok(_) if !may_write => {
            done.state = State::WouldChange;
            return done;
        }
        Ok(Change::Write { text, keeps_old }) => file.replace(&text, keeps_old),
        Ok(Change::Remove) => file.remove().map(|()| {
            for folder in settings.folders_above(&done.file) {
                // One that holds something else stays, and so do those above it.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            None
        }),
        Err(failure) => {
            let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
            (done.state, done.error) = (State::Failed, Some(text));
            return done;
        }
    };
    match written {
        Ok(kept) => {
            (done.state, done.backup) = (State::Changed, kept);
            if remove {
                // What was before the bridge is in the file again.
                let _ = fs::remove_file(backup);
            }
        }
        Err(error) => (done.state, done.error) = (State::Failed, Some(error.to_string())),
    }
    done
}

/// Starts the bridge as each agent would, by the entry in its file.
fn try_each(settings: &AgentSettings, done: &mut [Done]) {
    let usable = |done: &&mut Done| matches!(done.state, State::Unchanged | State::Changed);
    let waiting = trial::count_waiting();
    for done in done.iter_mut().filter(usable) {
        let Some(agent) = agents().iter().find(|agent| agent.id() == done.agent) else { continue };
        let Some(entry) = settings.written(agent) else { continue };
        let spinner = WaitSpinner::new(format!("Starting the bridge as {} does", agent.name()));
        let counted = trial::count_skills(&entry);
        drop(spinner);
        match counted {
            Ok(skills) => (done.skills, done.waiting) = (Some(skills), waiting),
            Err(error) => (done.state, done.error) = (State::Failed, Some(error.to_string())),
        }
    }
}

fn summarise(args: &SetupArgs, settings: &AgentSettings, done: &[Done]) -> std::io::Result<()> {
    let mut out = prose::stdout();
    for done in done {
        if let Some(backup) = &done.backup {
            let backup = settings.short(backup);
            writeln!(out, "{FAINT}The old file is kept as {backup}.{FAINT:#}")?;
        }
        if let (State::Failed, Some(error)) = (done.state, &done.error) {
            writeln!(out, "{}: {}", done.agent, report::printable(error.trim_end()))?;
        }
    }
    let with = |state: State| done.iter().filter(|done| done.state == state).count();
    let agents = |count: usize| counted(count, "agent");
    if with(State::WouldChange) > 0 && !args.dry_run {
        return writeln!(out, "Nothing was written.");
    }
    if args.remove {
        return match (with(State::Changed), with(State::WouldChange)) {
            (0, 0) if with(State::Failed) > 0 => Ok(()),
            (0, 0) => writeln!(
                out,
                "No agent has the bridge, so there was nothing to remove. `skillwire setup` adds it."
            ),
            (0, would) => writeln!(out, "The bridge would be taken out of {}.", agents(would)),
            (changed, _) => writeln!(out, "The bridge was taken out of {}.", agents(changed)),
        };
    }
    if with(State::WouldChange) > 0 {
        return writeln!(out, "{} would be changed.", agents(with(State::WouldChange)));
    }
    let tried: Vec<usize> = done.iter().filter_map(|done| done.skills).collect();
    let Some(skills) = tried.iter().max() else { return Ok(()) };
    let waiting = done.iter().filter_map(|done| done.waiting).max().unwrap_or(0).min(*skills);
    let ready = counted(skills - waiting, "skill");
    writeln!(out, "{STRONG}{ready} ready in {}.{STRONG:#}", agents(tried.len()))?;
    if waiting > 0 {
        let wait = if waiting == 1 { "waits" } else { "wait" };
        let waiting = counted(waiting, "skill");
        let review = if cfg!(feature = "review") { "review" } else { "list" };
        writeln!(out, "{waiting} {wait} for your decision: `skillwire {review}` shows what.")?;
    }
    if with(State::Changed) > 0 {
        writeln!(out, "Restart an agent that is running, so that it reads its file again.")?;
    }
    if *skills == 0 {
        writeln!(out, "`skillwire server add LABEL URL` adds a server with skills.")?;
    }
    Ok(())
}
