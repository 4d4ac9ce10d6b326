//! `skillwire add`: fetches skills, shows them, and installs those that the user chose.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
};

use serde_json::json;
use skillwire_core::visible;
use skillwire_install::{InstallScope, InstalledSkill, PlacementMethod, SourceAddress};
use skillwire_terminal::markdown;

use super::{
    agrees, card,
    fetch::{FetchedSource, OfferedSkill},
    installing::{Edits, PlannedSkill, install},
    is_handle, kept,
    picker::SkillPicker,
    run_command,
    state::InstallState,
    targets::{Project, TargetFolder, folders},
};
use crate::{
    args::AddArgs,
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    nearest::nearest,
    output::{FAINT, NOTE, STRONG, WARNING, counted, styled},
    prose, report,
    report::printable,
    session,
    settings::{AgentSettings, HostSettings},
    terminal,
};

pub(in crate::commands) fn run(args: &AddArgs) -> Outcome {
    let settings = HostSettings::resolve()?;
    let address = address(args, &settings)?;
    if let SourceAddress::Served { handle } = &address {
        return add_served(args, handle);
    }
    note_folder(args, &address)?;
    session::run(args.json, async || {
        let source = FetchedSource::open(&address, None).await?;
        if args.list {
            return list(&source, args.json);
        }
        let chosen = choose(args, &source)?;
        if chosen.is_empty() {
            writeln!(prose::stderr(), "Nothing was chosen, so nothing was installed.")?;
            return Ok(Exit::Ok);
        }
        let destination = Destination::resolve(args, &settings)?;
        let (planned, refused) = plan(args, &source, &chosen, &destination).await?;
        if !args.json {
            show(&source, &planned, &destination)?;
        }
        for failure in &refused {
            writeln!(prose::stderr(), "{failure}")?;
        }
        if planned.is_empty() {
            return Err(Failure::new(Exit::Findings, "No skill was installed."));
        }
        let question = question(&planned, &destination);
        if args.dry_run {
            report_planned(args, &planned)?;
        } else if agrees(&settings, &question, args.yes)? {
            let state = InstallState::new(&settings);
            let installed = install(&state, &planned, Edits::KeepUntilUpdate)?;
            if destination.is_kept() {
                kept::approve(&settings, &state, &installed, args.yes).await?;
            }
            report_installed(args, &installed)?;
        } else {
            writeln!(prose::stderr(), "Nothing was installed.")?;
        }
        Ok(if refused.is_empty() { Exit::Ok } else { Exit::Findings })
    })
}

/// Reads the source, and what options say about it.
fn address(args: &AddArgs, settings: &HostSettings) -> Result<SourceAddress, Failure> {
    let forge = match &args.forge {
        Some(forge) => forge.clone(),
        None => settings.user()?.forge,
    };
    let invalid = |error: skillwire_install::InvalidSource| {
        Failure::usage(format!("`{}` cannot be added: the source {error}.", printable(&args.source)))
            .hint(
                "Write `owner/repo`, `owner/repo/path@ref`, a URL that ends in `.git`, `.tar.gz` or \
                 `.zip`, a web origin, or a folder such as `./skills`. `skillwire server add LABEL URL` \
                 adds an MCP server.",
            )
    };
    let mut address = SourceAddress::parse(&args.source, &forge).map_err(invalid)?;
    if let Some(reference) = &args.reference {
        address = address.with_reference(reference).map_err(invalid)?;
    }
    if let Some(path) = &args.path {
        address = address.with_path(path).map_err(invalid)?;
    }
    Ok(absolute(address))
}

/// Says that `OWNER/REPO` is a repository also where a folder has that path: a user who stands beside
/// the folder probably meant it.
fn note_folder(args: &AddArgs, address: &SourceAddress) -> io::Result<()> {
    let typed = &args.source;
    let is_both = matches!(address, SourceAddress::Repository(_)) && Path::new(typed).is_dir();
    if !is_both || typed.starts_with(['.', '/']) {
        return Ok(());
    }
    let typed = printable(typed);
    writeln!(
        prose::stderr(),
        "{NOTE}note{NOTE:#}: `{typed}` is taken for a repository. For the folder of that name, write \
         `./{typed}`."
    )
}

/// A path of this machine means the same file in every folder.
fn absolute(address: SourceAddress) -> SourceAddress {
    let whole = |path: String| {
        std::path::absolute(&path)
            .ok()
            .and_then(|path| path.to_str().map(str::to_owned))
            .unwrap_or(path)
    };
    match address {
        SourceAddress::Folder { path } => SourceAddress::Folder { path: whole(path) },
        SourceAddress::Archive { place } if !place.contains("://") => {
            SourceAddress::Archive { place: whole(place) }
        }
        other => other,
    }
}

/// Approves a skill of a server. A copy in an agent's folder would be loaded without an approval, and
/// would not follow what its server withdraws.
fn add_served(args: &AddArgs, handle: &str) -> Outcome {
    if !args.agents.is_empty() || args.scope.project || args.scope.global || args.link {
        let message = format!(
            "`{}` is a skill of a server, which is not put into folders of agents: there it would be loaded \
             without your approval, and would stay when its server changes or withdraws it.",
            printable(handle)
        );
        return Err(Failure::new(Exit::Declined, message).hint(
            "Leave these options out: the skill is approved, and `skillwire bridge` offers it to every \
             agent that `skillwire setup` added.",
        ));
    }
    if args.all || args.keep || !args.names.is_empty() {
        let message = format!("`{}` names one skill of a server.", printable(handle));
        return Err(Failure::usage(message)
            .hint("`skillwire approve` takes several skills of servers, and patterns."));
    }
    // A skill that is only looked at is not approved.
    let looks = args.list || args.dry_run;
    let mut words = vec![if looks { "show" } else { "approve" }, handle];
    words.extend((args.yes && !looks).then_some("--yes"));
    words.extend(args.json.then_some("--json"));
    run_command(&words).map_err(|failure| {
        // A word alone may also be meant for a folder or a repository.
        if is_handle(handle) || failure.exit() != Exit::NotFound {
            return failure;
        }
        let word = printable(handle);
        Failure::new(Exit::NotFound, format!("There is no skill `{word}` of a server.")).hint(format!(
            "Write `./{word}` for a folder, `OWNER/{word}` for a repository, or `LABEL:{word}` for a skill \
             of a server; `skillwire list` shows these."
        ))
    })
}

/// Where skills go.
pub(super) struct Destination {
    pub(super) scope: InstallScope,
    pub(super) targets: Vec<TargetFolder>,
    pub(super) method: PlacementMethod,
    agents: AgentSettings,
}

impl Destination {
    fn resolve(args: &AddArgs, settings: &HostSettings) -> Result<Self, Failure> {
        let agents = AgentSettings::resolve()?;
        let project = Project::find()?;
        let method = if args.link { PlacementMethod::Link } else { PlacementMethod::Copy };
        if args.keep {
            let target = kept::target(settings);
            return Ok(Self { scope: InstallScope::Kept, targets: vec![target], method, agents });
        }
        let mut scope_args = args.scope;
        // A link leads to a folder of this user, which a project must not depend on.
        scope_args.global |= args.link;
        let scope = project.scope(scope_args);
        let targets = folders(&agents, &args.agents, &scope)?;
        Ok(Self { scope, targets, method, agents })
    }

    fn is_kept(&self) -> bool {
        self.scope == InstallScope::Kept
    }

    /// In words: `~/.claude/skills (claude-code)`.
    fn lines(&self) -> Vec<String> {
        let line = |target: &TargetFolder| {
            format!("{} ({})", self.agents.short(&target.folder), target.agents.join(", "))
        };
        self.targets.iter().map(line).collect()
    }
}

fn list(source: &FetchedSource, json: bool) -> Outcome {
    if json {
        let skill = |skill: &OfferedSkill| json!({"name": skill.name, "folder": skill.folder, "description": skill.description});
        let skills: Vec<_> = source.offered().iter().map(skill).collect();
        report::json(&mut io::stdout().lock(), &skills)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    let widest = source.offered().iter().map(|skill| skill.label().len()).max().unwrap_or(0);
    for skill in source.offered() {
        let label = visible::one_line(skill.label());
        let description = visible::one_line(&skill.description);
        writeln!(out, "{STRONG}{label:widest$}{STRONG:#}  {FAINT}{description}{FAINT:#}")?;
    }
    Ok(Exit::Ok)
}

/// The skills that the user wants: the only one, all, those that were named, or those that are picked.
fn choose<'a>(args: &AddArgs, source: &'a FetchedSource) -> Result<Vec<&'a OfferedSkill>, Failure> {
    let offered = source.offered();
    if args.all {
        return Ok(offered.iter().collect());
    }
    if !args.names.is_empty() {
        return args.names.iter().map(|name| find(&args.source, offered, name)).collect();
    }
    if let [skill] = offered {
        return Ok(vec![skill]);
    }
    if args.json || args.yes || !terminal::is_interactive() {
        let names: Vec<_> = offered.iter().map(|skill| printable(skill.label())).collect();
        let message =
            format!("{} has {}.", printable(&args.source), counted(offered.len(), "skill"));
        return Err(Failure::usage(message)
            .hint(format!("Name those to install, or add `--all`: {}.", names.join(", "))));
    }
    let width = terminal::width_of_questions().unwrap_or(80);
    let mut picker = SkillPicker::new(io::stdin().lock(), prose::stderr(), offered, width);
    picker.pick(|skill| Ok(terminal::page(&styled(&markdown(&skill.text), width))?))
}

/// The one skill of a source that a name or folder means.
pub(super) fn find<'a>(
    source: &str,
    offered: &'a [OfferedSkill],
    name: &str,
) -> Result<&'a OfferedSkill, Failure> {
    let fits = |skill: &&OfferedSkill| skill.label() == name || skill.folder == name;
    let mut found = offered.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(skill), None) => Ok(skill),
        (Some(one), Some(two)) => {
            let message = format!("Several skills are called `{}`.", printable(name));
            Err(Failure::new(Exit::Ambiguous, message).hint(format!(
                "Name the folder instead, such as `{}` or `{}`.",
                printable(&one.folder),
                printable(&two.folder)
            )))
        }
        (None, _) => {
            let source = printable(source);
            let message = format!("{source} has no skill `{}`.", printable(name));
            let failure = Failure::new(Exit::NotFound, message);
            Err(match nearest(name, offered.iter().map(OfferedSkill::label)) {
                Some(near) => failure.hint(format!("Did you mean `{}`?", printable(near))),
                None => failure.hint(format!("`skillwire add {source} --list` shows its skills.")),
            })
        }
    }
}

/// Fetches the chosen skills. With `--all`, one that cannot be installed does not keep the others from
/// it; one that was named does.
async fn plan(
    args: &AddArgs,
    source: &FetchedSource,
    chosen: &[&OfferedSkill],
    destination: &Destination,
) -> Result<(Vec<PlannedSkill>, Vec<Failure>), Failure> {
    let mut planned: Vec<PlannedSkill> = Vec::new();
    let mut refused = Vec::new();
    for skill in chosen {
        let bundle = match source.bundle(&skill.folder).await {
            Ok(bundle) => bundle,
            Err(failure) if args.all && failure.exit() != Exit::Unreachable => {
                refused.push(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        planned.push(PlannedSkill {
            source: source.pinned(&skill.folder),
            bundle,
            scope: destination.scope.clone(),
            method: destination.method,
            targets: destination.targets.clone(),
            synced: false,
        });
    }
    let mut folders: BTreeMap<&str, &str> = BTreeMap::new();
    for skill in &planned {
        let folder = skill.bundle.folder();
        if let Some(other) = folders.insert(skill.bundle.name().as_str(), folder) {
            let name = skill.bundle.name();
            let message = format!(
                "`{}` and `{}` both hold a skill `{name}`, which can be installed once.",
                printable(other),
                printable(folder)
            );
            return Err(
                Failure::new(Exit::Ambiguous, message).hint("Name the folder of one of them.")
            );
        }
    }
    Ok((planned, refused))
}

fn show(
    source: &FetchedSource,
    planned: &[PlannedSkill],
    destination: &Destination,
) -> Result<(), Failure> {
    let mut out = prose::stderr();
    for skill in planned {
        let commit =
            skill.source.commit.as_deref().map_or_else(String::new, |commit| {
                format!(" at {}", &commit[..commit.len().min(12)])
            });
        let from = format!("{}{commit}", skill.source.address);
        card::write(&mut out, &skill.bundle, &from)?;
    }
    if let Some(moved) = source.repository().and_then(|repository| repository.redirected_to()) {
        writeln!(
            out,
            "{WARNING}warning{WARNING:#}: The repository was moved: its server sends `git` to {}. Make sure \
             that its owner is the one you trust.",
            printable(moved)
        )?;
    }
    if !destination.is_kept() {
        writeln!(out, "Into {}", destination.lines().join(", "))?;
    }
    Ok(())
}

fn question(planned: &[PlannedSkill], destination: &Destination) -> String {
    let count = match planned {
        [one] => format!("`{}`", one.bundle.name()),
        many => counted(many.len(), "skill"),
    };
    match &destination.scope {
        InstallScope::Kept => format!("Keep {count}, and let it be loaded as it is now?"),
        InstallScope::Project(_) => format!("Install {count} in this project?"),
        InstallScope::User => format!("Install {count} for you, in every project?"),
    }
}

fn report_planned(args: &AddArgs, planned: &[PlannedSkill]) -> Result<(), Failure> {
    if args.json {
        let skill = |skill: &PlannedSkill| {
            json!({
                "name": skill.bundle.name().as_str(),
                "content": skill.bundle.content(),
                "source": skill.source,
                "directories": skill.directories().collect::<Vec<_>>(),
            })
        };
        let planned: Vec<_> = planned.iter().map(skill).collect();
        report::json(&mut io::stdout().lock(), &json!({"planned": planned}))?;
        return Ok(());
    }
    let mut out = prose::stdout();
    for skill in planned {
        for directory in skill.directories() {
            writeln!(out, "`{}` would be written.", directory.display())?;
        }
    }
    Ok(())
}

fn report_installed(args: &AddArgs, installed: &[InstalledSkill]) -> Result<(), Failure> {
    if args.json {
        report::json(&mut io::stdout().lock(), &json!({"installed": installed}))?;
        return Ok(());
    }
    let mut out = prose::stdout();
    for skill in installed {
        let name = &skill.name;
        if skill.scope == InstallScope::Kept {
            writeln!(out, "Keeping {STRONG}{name}{STRONG:#} as `{}:{name}`.", kept::LABEL)?;
            continue;
        }
        for placement in &skill.placements {
            let agents = placement.agents.join(", ");
            let directory = placement.directory.display();
            writeln!(out, "Installed {STRONG}{name}{STRONG:#} in `{directory}` for {agents}.")?;
        }
    }
    Ok(())
}
