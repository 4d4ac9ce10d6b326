//! Skills that the host keeps: served to every client by the bridge, in no agent's folder.

use skillwire_client::{ServerConfig, StdioServer};
use skillwire_install::{InstallScope, InstalledSkill};
use skillwire_trust::{Answer, DecisionChannel, Grants, ServerLabel};

use super::{state::InstallState, targets::TargetFolder};
use crate::{
    exit::Exit,
    failure::Failure,
    session::{Session, SessionOptions},
    settings::{AgentSettings, HostSettings},
};

/// The label of the server that offers kept skills.
pub(super) const LABEL: &str = "kept";

/// What the user calls an installed skill; one that the host keeps has the name of another at times.
pub(super) fn name_of(skill: &InstalledSkill) -> String {
    match skill.scope {
        InstallScope::Kept => format!("{LABEL}:{}", skill.name),
        InstallScope::User | InstallScope::Project(_) => skill.name.clone(),
    }
}

/// The folder of kept skills.
pub(super) fn target(settings: &HostSettings) -> TargetFolder {
    let folder = InstallState::new(settings).kept().to_owned();
    TargetFolder { folder, agents: vec!["skillwire bridge".to_owned()] }
}

fn label() -> Result<ServerLabel, Failure> {
    ServerLabel::parse(LABEL).map_err(|error| Failure::new(Exit::Internal, error.to_string()))
}

/// Offers the folder of kept skills as a server of this program.
fn serve(settings: &HostSettings, state: &InstallState) -> Result<(), Failure> {
    let program = AgentSettings::resolve()?.program().to_owned();
    let folder = state.kept().display().to_string();
    let arguments = vec!["serve".to_owned(), folder.clone()];
    let config = StdioServer::new(program, arguments, std::collections::BTreeMap::new())
        .map(ServerConfig::Stdio)
        .map_err(|error| Failure::caused(Exit::Internal, error))?;
    let servers = settings.servers();
    if servers.add(&label()?, &config)? {
        return Ok(());
    }
    let configured = servers.load()?;
    let own = configured.servers.get(&label()?).is_some_and(
        |server| matches!(server, ServerConfig::Stdio(server) if server.args().contains(&folder)),
    );
    if own {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "There is a server `{LABEL}` already, which is not that of kept skills."
    ))
    .hint(format!("Add that server under another label, then `skillwire server remove {LABEL}`.")))
}

/// Approves kept skills as they are now: the user has just seen and agreed to them.
pub(super) async fn approve(
    settings: &HostSettings,
    state: &InstallState,
    skills: &[InstalledSkill],
    unattended: bool,
) -> Result<(), Failure> {
    serve(settings, state)?;
    let session = Session::open(&SessionOptions::default())?;
    let channel = if unattended { DecisionChannel::Unattended } else { DecisionChannel::Terminal };
    let mut outcome = Ok(());
    for skill in skills {
        let handle = format!("{LABEL}:{}", skill.name);
        outcome = async {
            let named = session.find_now(&handle).await?;
            let shown = session.host().review(&named.listed)?.show();
            session.host().record_review(shown.answer(Answer::Yes(Grants::default()), channel))?;
            Ok(())
        }
        .await;
        if outcome.is_err() {
            break;
        }
    }
    session.host().disconnect().await;
    outcome
}

/// Forgets decisions about kept skills that are gone, and the server after the last of them.
pub(super) async fn forget(
    settings: &HostSettings,
    state: &InstallState,
    skills: &[InstalledSkill],
) -> Result<(), Failure> {
    let left = state.load()?.skills().iter().any(|skill| skill.scope == InstallScope::Kept);
    let options = SessionOptions { offline: true, ..SessionOptions::default() };
    let session = Session::open(&options)?;
    let outcome = if left {
        let forgotten = skills.iter().try_for_each(|skill| {
            let handle = skillwire_trust::Handle::parse(&format!("{LABEL}:{}", skill.name))?;
            if let Ok(listed) = session.host().recall(&handle) {
                session.host().revoke(listed.id())?;
            }
            Ok::<(), skillwire_trust::Refusal>(())
        });
        forgotten.map_err(Failure::from)
    } else {
        session.host().remove_server(&label()?)?;
        settings.servers().remove(&label()?)?;
        Ok(())
    };
    session.host().disconnect().await;
    outcome
}
