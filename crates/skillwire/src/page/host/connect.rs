//! The entries that give this user's skills to agents.

use skillwire_agents::agents;
use skillwire_page::{
    Filled, PageProblem,
    model::{ConnectView, ConnectionEntry},
};

use crate::{page::texts, settings::AgentSettings};

pub(super) fn view() -> Filled<ConnectView> {
    let settings = AgentSettings::resolve().map_err(|failure| {
        PageProblem::Refused(anstream::adapter::strip_str(&failure.to_string()).to_string())
    })?;
    let mut entries: Vec<ConnectionEntry> = agents()
        .iter()
        .map(|agent| {
            let entry = settings.entry(agent);
            ConnectionEntry {
                client: agent.name().to_owned(),
                file: settings.short(&settings.file(agent)),
                text: agent.snippet(&entry),
                is_present: settings.is_present(agent),
                is_connected: settings.written(agent).is_some_and(|written| written == entry),
            }
        })
        .collect();
    entries.sort_by_key(|entry| !(entry.is_connected || entry.is_present));
    Ok(ConnectView {
        about: texts::CONNECT_ABOUT.to_owned(),
        line: Some(format!("{} setup", settings.program())),
        entries,
    })
}
