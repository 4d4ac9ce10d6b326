//! Skills of sources that a project names: found as they are pinned, or pinned as they are found.

use std::{collections::BTreeMap, io::Write as _};

use skillwire_install::{
    InstallScope, InstalledSkill, PinnedSkill, PinnedSource, Placement, PlacementMethod,
    PlacementState, ProjectLock, ProjectSource, SkillBundle, SourceAddress,
};

use super::{
    super::{
        add::find,
        agrees, card,
        fetch::FetchedSource,
        installing::PlannedSkill,
        state::InstallState,
        targets::{TargetFolder, folders},
    },
    files::{LOCK, ProjectFiles},
    not_locked,
};
use crate::{
    args::SyncArgs,
    exit::Exit,
    failure::Failure,
    output::{STRONG, counted},
    prose,
    report::printable,
    settings::{AgentSettings, HostSettings},
};

/// What is to be installed.
pub(super) struct PlannedSources {
    pub(super) missing: Vec<PlannedSkill>,
    /// How many are in place already.
    pub(super) unchanged: usize,
}

/// The skills of all sources, with their content; pins those that the lock file lacks.
pub(super) async fn resolve(
    args: &SyncArgs,
    settings: &HostSettings,
    state: &InstallState,
    files: &mut ProjectFiles,
) -> Result<PlannedSources, Failure> {
    let mut lock = ProjectLock::default();
    let mut found: Vec<(SkillBundle, PinnedSource)> = Vec::new();
    let mut unpinned = 0;
    for source in files.file().sources.clone() {
        let NamedSource { address, written, shown } = named(settings, files, &source)?;
        let pinned = pinned_skills(files.lock(), &written, &source.skills);
        let skills = match pinned {
            Some(pinned) if !args.update => as_pinned(state, &address, &pinned).await?,
            _ if args.frozen => {
                let from = printable(&shown);
                return Err(not_locked(format!("`{LOCK}` does not pin what is named of {from}.")));
            }
            _ => as_found(&address, &written, &source.skills).await?,
        };
        for (bundle, pin) in skills {
            let name = bundle.name().to_string();
            let url = match &address {
                SourceAddress::Repository(repository) => Some(repository.url.clone()),
                _ => None,
            };
            let content = *bundle.content();
            if lock.find(&name).is_some() {
                let message = format!("The project names two skills called `{name}`.");
                return Err(Failure::new(Exit::Ambiguous, message));
            }
            let before = files.lock().find(&name);
            if before.is_none_or(|before| before.content != content) {
                unpinned += 1;
                if !args.json {
                    show(state, &bundle, before, &shown)?;
                }
            }
            lock.insert(PinnedSkill {
                name,
                from: written.clone(),
                url,
                commit: pin.commit.clone(),
                folder: pin.folder.clone(),
                content,
            });
            found.push((bundle, pin));
        }
    }
    if args.frozen && lock != *files.lock() {
        return Err(not_locked(format!("`{LOCK}` pins skills that the project no longer names.")));
    }
    if unpinned > 0 && !args.dry_run {
        let question = match unpinned {
            1 => "Install 1 skill and pin it as it is now?".to_owned(),
            many => format!("Install {} and pin them as they are now?", counted(many, "skill")),
        };
        if !agrees(settings, &question, args.yes)? {
            return Err(Failure::new(Exit::Approval, "Nothing was changed."));
        }
    }
    files.set_lock(lock);
    plan(state, files, found)
}

/// Shows a skill that is not pinned as it is: what changed since it was pinned, or else all of it.
fn show(
    state: &InstallState,
    bundle: &SkillBundle,
    before: Option<&PinnedSkill>,
    from: &str,
) -> Result<(), Failure> {
    let mut out = prose::stderr();
    let pinned = before.and_then(|before| state.store().read(&before.content).ok().flatten());
    if let Some(pinned) = pinned {
        let from = printable(from);
        writeln!(
            out,
            "{STRONG}{}{STRONG:#} changed in {from} since it was pinned:",
            bundle.name()
        )?;
        card::changes(&mut out, &pinned, bundle)?;
    } else {
        card::write(&mut out, bundle, from)?;
    }
    Ok(())
}

/// A source that the project names.
struct NamedSource {
    address: SourceAddress,
    /// How the lock file has it, which is the same on every machine.
    written: String,
    /// How the user reads it.
    shown: String,
}

/// Reads the source; a path is one below the project.
fn named(
    settings: &HostSettings,
    files: &ProjectFiles,
    source: &ProjectSource,
) -> Result<NamedSource, Failure> {
    let address = source.address(files.forge()).map_err(|error| {
        Failure::usage(format!("`{}` cannot be used: the source {error}.", printable(&source.from)))
    })?;
    let written = address.to_string();
    let shown = address.for_user_of(&settings.user()?.forge);
    let below = |path: String| {
        if path.contains("://") { path } else { files.root().join(path).display().to_string() }
    };
    let address = match address {
        SourceAddress::Folder { path } => SourceAddress::Folder { path: below(path) },
        SourceAddress::Archive { place } => SourceAddress::Archive { place: below(place) },
        SourceAddress::Served { handle } => {
            let message = format!("`{}` is not a source.", printable(&handle));
            return Err(Failure::usage(message)
                .hint("Name a server with `[[server]]`, its `url` and its `skills`."));
        }
        other => other,
    };
    Ok(NamedSource { address, written, shown })
}

/// The pinned skills of a source, if they are those that the project names.
pub(super) fn pinned_skills(
    lock: &ProjectLock,
    from: &str,
    names: &[String],
) -> Option<Vec<PinnedSkill>> {
    let of_source = lock.skills().iter().filter(|skill| skill.from == from);
    if names.is_empty() {
        let all: Vec<_> = of_source.cloned().collect();
        return (!all.is_empty()).then_some(all);
    }
    // Where two skills of a source have one name, the project names the folder.
    let fits = |skill: &PinnedSkill, name: &str| skill.name == name || skill.folder == name;
    let find = |name: &String| of_source.clone().find(|skill| fits(skill, name)).cloned();
    names.iter().map(find).collect()
}

/// The skills with exactly the content that is pinned: from the store, or else from the pinned commit.
async fn as_pinned(
    state: &InstallState,
    address: &SourceAddress,
    pinned: &[PinnedSkill],
) -> Result<Vec<(SkillBundle, PinnedSource)>, Failure> {
    let mut fetched: BTreeMap<Option<String>, FetchedSource> = BTreeMap::new();
    let mut skills = Vec::new();
    for pin in pinned {
        let source = PinnedSource {
            address: address.clone(),
            commit: pin.commit.clone(),
            folder: pin.folder.clone(),
        };
        let stored = state.store().read(&pin.content).ok().flatten();
        let stored = stored.and_then(|files| SkillBundle::new(&*pin.folder, files).ok());
        if let Some(bundle) = stored.filter(|bundle| bundle.name().as_str() == pin.name) {
            skills.push((bundle, source));
            continue;
        }
        if !fetched.contains_key(&pin.commit) {
            let opened = FetchedSource::open(address, pin.commit.as_deref()).await?;
            fetched.insert(pin.commit.clone(), opened);
        }
        let bundle = fetched[&pin.commit].bundle(&pin.folder).await?;
        if *bundle.content() != pin.content || bundle.name().as_str() != pin.name {
            let from = printable(&pin.from);
            let message = format!("`{}` of {from} is not what `{LOCK}` pins.", pin.name);
            return Err(Failure::new(Exit::Verification, message)
                .because(format!("expected {}, found {}", pin.content, bundle.content()))
                .hint("Nothing was installed. Find out why the source has other bytes now."));
        }
        skills.push((bundle, source));
    }
    Ok(skills)
}

/// The skills as the source has them now.
async fn as_found(
    address: &SourceAddress,
    from: &str,
    names: &[String],
) -> Result<Vec<(SkillBundle, PinnedSource)>, Failure> {
    let fetched = FetchedSource::open(address, None).await?;
    let mut folders = Vec::new();
    if names.is_empty() {
        folders.extend(fetched.offered().iter().map(|offered| offered.folder.clone()));
    }
    for name in names {
        folders.push(find(from, fetched.offered(), name)?.folder.clone());
    }
    let mut skills = Vec::new();
    for folder in folders {
        skills.push((fetched.bundle(&folder).await?, fetched.pinned(&folder)));
    }
    Ok(skills)
}

/// Leaves out skills that are in place.
fn plan(
    state: &InstallState,
    files: &ProjectFiles,
    found: Vec<(SkillBundle, PinnedSource)>,
) -> Result<PlannedSources, Failure> {
    let scope = InstallScope::Project(files.root().to_owned());
    let targets = if found.is_empty() { Vec::new() } else { targets(files, &scope)? };
    let installed = state.load()?;
    let mut planned = PlannedSources { missing: Vec::new(), unchanged: 0 };
    for (bundle, source) in found {
        let skill = PlannedSkill {
            bundle,
            source,
            scope: scope.clone(),
            method: PlacementMethod::Copy,
            targets: targets.clone(),
            synced: true,
        };
        let record = installed.find(skill.bundle.name().as_str(), &scope);
        let in_place = record.is_some_and(|record| {
            let holds = |placement: &Placement| {
                placement.state(&record.content, state.store()) == PlacementState::Intact
            };
            record.content == *skill.bundle.content()
                && record.source == skill.source
                && skill.directories().all(|directory| {
                    let placed = |placement: &&Placement| placement.directory == directory;
                    record.placements.iter().find(placed).is_some_and(holds)
                })
        });
        if in_place {
            planned.unchanged += 1;
        } else {
            planned.missing.push(skill);
        }
    }
    Ok(planned)
}

/// The folders of the agents that the project names, or of those on this machine; where there is none,
/// such as in CI, the folder that most agents share.
fn targets(files: &ProjectFiles, scope: &InstallScope) -> Result<Vec<TargetFolder>, Failure> {
    let agents = AgentSettings::resolve()?;
    match folders(&agents, &files.file().agents, scope) {
        Err(_) if files.file().agents.is_empty() => folders(&agents, &["codex".to_owned()], scope),
        found => found,
    }
}

/// Skills that an earlier sync installed and that the project no longer names.
pub(super) fn dropped(
    state: &InstallState,
    files: &ProjectFiles,
) -> Result<Vec<InstalledSkill>, Failure> {
    let scope = InstallScope::Project(files.root().to_owned());
    let is_dropped = |skill: &&InstalledSkill| {
        skill.scope == scope && skill.synced && files.lock().find(&skill.name).is_none()
    };
    Ok(state.load()?.skills().iter().filter(is_dropped).cloned().collect())
}
