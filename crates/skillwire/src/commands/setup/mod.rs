//! `skillwire setup`: the bridge in the configuration of the agents on this machine.

mod config_file;
mod source;
mod trial;

use std::{io::Write as _, path::PathBuf};

use serde::Serialize;
use skillwire_agents::{Agent, BridgeEntry, Edit, agents};

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
    edit: Result<Edit, Failure>,
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
    let chosen = choose(&settings, &args.agents, args.remove)?;
    if chosen.is_empty() && !args.remove {
        return Err(Failure::new(Exit::NotFound, "No agent was found on this machine.").hint(
            "`skillwire setup --list` shows the agents that are known; `--agent NAME` writes the \
             file of one that was not found.",
        ));
    }
    let entry = settings.entry();
    let plans: Vec<Plan> =
        chosen.into_iter().map(|agent| plan(agent, &settings, &entry, args.remove)).collect();
    if !args.json {
        show(&plans, &settings, &entry, args.remove)?;
    }
    let changes = plans.iter().filter(|plan| matches!(plan.edit, Ok(Edit::Changed(_)))).count();
    let may_write = changes > 0 && !args.dry_run && agrees(args, changes)?;
    let mut done: Vec<Done> = plans.into_iter().map(|plan| carry_out(plan, may_write)).collect();
    let declined = changes > 0 && !may_write;
    if !declined && !args.remove {
        source::offer(args, &settings)?;
        try_each(&settings, &mut done);
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
    let fits = |agent: &&Agent| agent.id() == name || agent.name().eq_ignore_ascii_case(name);
    agents().iter().find(fits).ok_or_else(|| {
        let failure = Failure::new(Exit::NotFound, format!("There is no agent `{name}` here."));
        match nearest(name, agents().iter().map(Agent::id)) {
            Some(near) => failure.hint(format!("Did you mean `{near}`?")),
            None => failure.hint("`skillwire setup --list` shows the agents that are known."),
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

fn plan(
    agent: &'static Agent,
    settings: &AgentSettings,
    entry: &BridgeEntry,
    remove: bool,
) -> Plan {
    let path = settings.file(agent);
    let short = settings.short(&path);
    let (file, edit) = match ConfigFile::read(&path) {
        Ok(file) => {
            let edit =
                if remove { agent.remove(file.text()) } else { agent.add(file.text(), entry) };
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

/// Shows what would change in each file.
fn show(
    plans: &[Plan],
    settings: &AgentSettings,
    entry: &BridgeEntry,
    remove: bool,
) -> std::io::Result<()> {
    let mut out = prose::stderr();
    for Plan { agent, file, edit } in plans {
        let name = agent.name();
        match edit {
            Ok(Edit::Unchanged) if remove => {}
            Ok(Edit::Unchanged) => {
                writeln!(out, "{STRONG}{name}{STRONG:#}: has the bridge already.")?;
            }
            Ok(Edit::Changed(text)) => {
                let path = settings.short(file.path());
                writeln!(out, "{STRONG}{name}{STRONG:#}:")?;
                diff::content(&mut out, &path, file.text(), text, true)?;
            }
            Err(failure) => {
                writeln!(out, "{failure}")?;
                if !remove {
                    writeln!(out, "Add this yourself:\n{}", agent.snippet(entry).trim_end())?;
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
            .hint("Add `--yes` to write the files, or `--dry-run` to see what would change.")
    })
}

fn carry_out(plan: Plan, may_write: bool) -> Done {
    let Plan { agent, file, edit } = plan;
    let path = file.path().to_owned();
    let mut done = Done {
        agent: agent.id(),
        file: path,
        state: State::Unchanged,
        backup: None,
        skills: None,
        error: None,
    };
    match edit {
        Ok(Edit::Unchanged) => {}
        Ok(Edit::Changed(_)) if !may_write => done.state = State::WouldChange,
        Ok(Edit::Changed(text)) => match file.replace(&text) {
            Ok(backup) => (done.state, done.backup) = (State::Changed, backup),
            Err(error) => (done.state, done.error) = (State::Failed, Some(error.to_string())),
        },
        Err(failure) => {
            let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
            (done.state, done.error) = (State::Failed, Some(text));
        }
    }
    done
}

/// Starts the bridge as each agent would, by the entry in its file.
fn try_each(settings: &AgentSettings, done: &mut [Done]) {
    let usable = |done: &&mut Done| matches!(done.state, State::Unchanged | State::Changed);
    for done in done.iter_mut().filter(usable) {
        let Some(agent) = agents().iter().find(|agent| agent.id() == done.agent) else { continue };
        let Some(entry) = settings.written(agent) else { continue };
        let waiting = WaitSpinner::new(format!("Starting the bridge as {} does", agent.name()));
        let counted = trial::count_skills(&entry);
        drop(waiting);
        match counted {
            Ok(skills) => done.skills = Some(skills),
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
    if args.remove {
        return writeln!(out, "The bridge was taken out of {}.", agents(with(State::Changed)));
    }
    if with(State::WouldChange) > 0 && !args.dry_run {
        return writeln!(out, "Nothing was written.");
    }
    if with(State::WouldChange) > 0 {
        return writeln!(out, "{} would be changed.", agents(with(State::WouldChange)));
    }
    let ready: Vec<usize> = done.iter().filter_map(|done| done.skills).collect();
    let Some(skills) = ready.iter().max() else { return Ok(()) };
    writeln!(
        out,
        "{STRONG}{} ready in {}.{STRONG:#}",
        counted(*skills, "skill"),
        agents(ready.len())
    )?;
    if with(State::Changed) > 0 {
        writeln!(out, "Restart an agent that is running, so that it reads its file again.")?;
    }
    if *skills == 0 {
        writeln!(out, "`skillwire server add LABEL URL` adds a server with skills.")?;
    }
    Ok(())
}
