//! Servers that a project names, whatever the user calls them, and their skills as they are pinned.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use skillwire_client::{HttpServer, ServerConfig, ServerUrl, StdioServer};
use skillwire_install::ProjectServer;
use skillwire_trust::{
    Answer, DecisionChannel, Grants, ListedSkill, LockFile, Origin, ServerLabel, SkillId, Standing,
};

use super::{
    super::agrees,
    SyncReport,
    files::{LOCK, ProjectFiles},
    not_locked,
};
use crate::{
    args::SyncArgs,
    exit::Exit,
    failure::Failure,
    nearest::nearest,
    output::counted,
    prose,
    report::printable,
    session::{Session, SessionOptions, card},
    settings::{HostSettings, server_address},
};

/// The user's labels of the project's servers, by the labels of the project.
pub(super) type OwnLabels = BTreeMap<String, ServerLabel>;

/// Configures servers that the user does not have yet; the same address counts as the same server. With
/// `--dry-run` they are reported, and get no label.
pub(super) fn configure(
    args: &SyncArgs,
    settings: &HostSettings,
    files: &ProjectFiles,
    report: &mut SyncReport,
) -> Result<OwnLabels, Failure> {
    let servers = settings.servers();
    let mut labels = OwnLabels::new();
    for server in &files.file().servers {
        let config = config(server, files.root())?;
        let configured = servers.load()?.servers;
        let address = server_address(&config);
        let own = configured.iter().find(|(_, known)| server_address(known) == address);
        let own = if let Some((label, _)) = own {
            label.clone()
        } else {
            let label = free_label(&server.label, |label| configured.contains_key(label))?;
            report.servers.push(label.clone());
            if args.dry_run {
                continue;
            }
            servers.add(&label, &config)?;
            label
        };
        labels.insert(server.label.clone(), own);
    }
    Ok(labels)
}

fn config(server: &ProjectServer, root: &Path) -> Result<ServerConfig, Failure> {
    let invalid = |error: skillwire_client::InvalidServer| {
        let label = printable(&server.label);
        Failure::usage(format!("The server `{label}` of the project cannot be used."))
            .because(error)
    };
    match (&server.url, server.command.as_slice()) {
        (Some(url), _) => {
            let url = ServerUrl::parse(url).map_err(invalid)?;
            HttpServer::new(url, BTreeMap::new(), None).map(ServerConfig::Http).map_err(invalid)
        }
        (None, [program, arguments @ ..]) => {
            StdioServer::new(program, arguments.to_vec(), BTreeMap::new())
                .and_then(|server| server.in_folder(Some(root.to_owned())))
                .map(ServerConfig::Stdio)
                .map_err(invalid)
        }
        (None, []) => Err(Failure::usage("A server of the project has neither URL nor program.")),
    }
}

/// Takes servers out again that [`configure`] has put in for a sync that failed, with the approvals that
/// it came to.
pub(super) async fn take_back(
    settings: &HostSettings,
    added: &[ServerLabel],
) -> Result<(), Failure> {
    if added.is_empty() {
        return Ok(());
    }
    let session = Session::open(&SessionOptions { offline: true, ..SessionOptions::default() })?;
    let removed = remove(settings, &session, added);
    session.host().disconnect().await;
    removed
}

/// Removes servers with everything that came from them.
pub(super) fn remove(
    settings: &HostSettings,
    session: &Session,
    labels: &[ServerLabel],
) -> Result<(), Failure> {
    for label in labels {
        // The configuration goes last, as in `server remove`: under a label that is free again, another
        // server would inherit what is left of this one.
        session.host().remove_server(label)?;
        settings.logins().remove(label)?;
        settings.servers().remove(label)?;
    }
    Ok(())
}

/// The project's label, or the first of `label-2`, `label-3` and so on that the user has not given.
fn free_label(
    wanted: &str,
    is_taken: impl Fn(&ServerLabel) -> bool,
) -> Result<ServerLabel, Failure> {
    let parse = |text: String| {
        ServerLabel::parse(&text).map_err(|error| {
            Failure::usage(format!("The label `{}` of the project {error}.", printable(wanted)))
        })
    };
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    for text in std::iter::once(wanted.to_owned()).chain(numbered).take(100) {
        let label = parse(text)?;
        if !is_taken(&label) {
            return Ok(label);
        }
    }
    Err(Failure::usage(format!("Every label like `{}` is taken.", printable(wanted))))
}

/// The skills of servers that are to be approved.
#[derive(Default)]
pub(super) struct PlannedApprovals {
    /// Each with its handle.
    skills: Vec<(String, ListedSkill)>,
    /// Every skill that the project names, also those that are approved already.
    named: BTreeSet<SkillId>,
    unattended: bool,
}

impl PlannedApprovals {
    /// Whether the project names a skill.
    pub(super) fn names(&self, id: &SkillId) -> bool {
        self.named.contains(id)
    }

    /// The skills of a server that are to be approved: their URIs and handles.
    pub(super) fn approved_of(
        &self,
        label: &ServerLabel,
    ) -> impl Iterator<Item = (String, String)> {
        let of_server = self
            .skills
            .iter()
            .filter(move |(_, listed)| listed.id().origin.server() == Some(label));
        of_server.map(|(handle, listed)| (listed.id().uri.to_string(), handle.clone()))
    }
}

/// Lists the skills that the project names, compares them with what is pinned, and pins those that are
/// not.
pub(super) async fn resolve(
    args: &SyncArgs,
    settings: &HostSettings,
    files: &mut ProjectFiles,
    labels: &OwnLabels,
) -> Result<PlannedApprovals, Failure> {
    let mut planned = PlannedApprovals { unattended: args.trust_project, ..Default::default() };
    if files.file().servers.iter().all(|server| server.skills.is_empty()) {
        if args.frozen && files.approvals().skills().next().is_some() {
            return Err(not_locked(format!("`{LOCK}` pins skills of servers that are not named.")));
        }
        files.set_approvals(LockFile::default());
        return Ok(planned);
    }
    let session = Session::open(&SessionOptions::default())?;
    let resolved = resolve_all(args, settings, files, labels, &session, &mut planned).await;
    session.host().disconnect().await;
    resolved.map(|()| planned)
}

async fn resolve_all(
    args: &SyncArgs,
    settings: &HostSettings,
    files: &mut ProjectFiles,
    labels: &OwnLabels,
    session: &Session,
    planned: &mut PlannedApprovals,
) -> Result<(), Failure> {
    let mut lock = LockFile::default();
    for (label, keys) in files.approvals().trust_keys() {
        lock.trust(label.clone(), keys.clone());
    }
    let mut unpinned = Vec::new();
    for server in files.file().servers.iter().filter(|server| !server.skills.is_empty()) {
        // Only with `--dry-run` has a server no label yet, and then it is not asked.
        let Some(own) = labels.get(&server.label) else { continue };
        let in_file = ServerLabel::parse(&server.label).map_err(|error| {
            Failure::usage(format!("The label `{}` {error}.", printable(&server.label)))
        })?;
        lock.set_server(&in_file, server_address(&config(server, files.root())?));
        for (handle, listed) in named(session, own, server).await? {
            let id =
                SkillId { origin: Origin::Server(in_file.clone()), uri: listed.id().uri.clone() };
            let content = listed.content().ok_or_else(|| {
                let uri = printable(id.uri.as_str());
                Failure::new(
                    Exit::Declined,
                    format!("`{uri}` has no digests, so it cannot be pinned."),
                )
            })?;
            match files.approvals().allows(&id, &content) {
                Ok(grants) => {
                    lock.insert(&id, &content, grants);
                }
                Err(mismatch) if args.frozen => {
                    let uri = printable(id.uri.as_str());
                    let failure =
                        not_locked(format!("`{}:{uri}` is not what is pinned.", server.label));
                    return Err(failure.because(mismatch));
                }
                Err(_) => {
                    lock.insert(&id, &content, Grants::load_only());
                    if !args.json {
                        show(session, &handle, &listed)?;
                    }
                    unpinned.push(handle.clone());
                }
            }
            planned.named.insert(listed.id().clone());
            if !matches!(session.host().standing(&listed)?, Standing::Approved(_)) {
                planned.skills.push((handle, listed));
            }
        }
    }
    let all_asked = labels.len() == files.file().servers.len();
    if args.frozen && all_asked && lock.skills().ne(files.approvals().skills()) {
        return Err(not_locked(format!("`{LOCK}` pins skills that the project no longer names.")));
    }
    if !unpinned.is_empty() && !args.dry_run {
        let names: Vec<_> = unpinned.iter().map(|handle| printable(handle)).collect();
        let question = match names.as_slice() {
            [one] => format!("Approve `{one}` as it is now, and pin it?"),
            many => format!(
                "Approve {} of servers as they are now, and pin them ({})?",
                counted(many.len(), "skill"),
                many.join(", ")
            ),
        };
        if !agrees(settings, &question, args.yes)? {
            return Err(Failure::new(Exit::Approval, "Nothing was changed."));
        }
    }
    files.set_approvals(lock);
    Ok(())
}

/// Shows a skill before the user is asked to pin it: what it is, and how it differs from what the user
/// approved before.
fn show(session: &Session, handle: &str, listed: &ListedSkill) -> Result<(), Failure> {
    let review = session.host().review(listed)?;
    let shown = review.card();
    let mut err = prose::stderr();
    card::write(&mut err, handle, shown)?;
    if let Some(changes) = &shown.changes {
        card::changes(&mut err, &listed.id().uri, changes)?;
    }
    Ok(())
}

/// The skills of a server that the project names, as the server lists them now, by their handles.
async fn named(
    session: &Session,
    own: &ServerLabel,
    server: &ProjectServer,
) -> Result<Vec<(String, ListedSkill)>, Failure> {
    let found = session.discover(Some(&Origin::Server(own.clone()))).await?;
    let items = found.registry.items();
    let mut skills = Vec::new();
    for wanted in &server.skills {
        let before = skills.len();
        for item in items {
            let below_label = item.handle.split_once(':').map_or("", |(_, path)| path);
            let fits =
                wanted == "*" || wanted == item.skill.name().as_str() || wanted == below_label;
            if fits {
                skills.push((item.handle.clone(), session.host().refresh(&item.skill).await?));
            }
        }
        if skills.len() == before {
            let label = printable(&server.label);
            let message = format!("The server `{label}` has no skill `{}`.", printable(wanted));
            let failure = Failure::new(Exit::NotFound, message);
            return Err(match nearest(wanted, items.iter().map(|it| it.skill.name().as_str())) {
                Some(near) => failure.hint(format!("Did you mean `{near}`?")),
                None => failure.hint(format!("`skillwire list --server {own}` shows its skills.")),
            });
        }
    }
    skills.sort_by(|(_, a), (_, b)| a.id().cmp(b.id()));
    skills.dedup_by(|(_, a), (_, b)| a.id() == b.id());
    Ok(skills)
}

/// Approves skills of servers as they were listed: the user trusted the project that pins them. What the
/// lock file grants beside loading is not granted by that.
pub(super) async fn approve(
    settings: &HostSettings,
    planned: &PlannedApprovals,
) -> Result<Vec<String>, Failure> {
    if planned.skills.is_empty() {
        return Ok(Vec::new());
    }
    if planned.unattended && !settings.user()?.unattended_approvals {
        return Err(Failure::new(
            Exit::Declined,
            "Your settings let no skill be approved unattended.",
        ));
    }
    let session = Session::open(&SessionOptions::default())?;
    let channel =
        if planned.unattended { DecisionChannel::Unattended } else { DecisionChannel::Terminal };
    let mut approved = Vec::new();
    for (handle, listed) in &planned.skills {
        let shown = session.host().review(listed)?.show();
        session.host().record_review(shown.answer(Answer::Yes(Grants::load_only()), channel))?;
        approved.push(handle.clone());
    }
    session.host().disconnect().await;
    Ok(approved)
}
