//! Reads every skill that a server or a web origin offers; each file is compared with what was listed.

use bytes::Bytes;
use skillwire_client::ServerConfig;
use skillwire_core::{RelPath, Resources};
use skillwire_host::Host;
use skillwire_trust::{Budgets, ListedSkill, Policy, ServerLabel};

use crate::{exit::Exit, failure::Failure, report::printable, session, settings::address};

/// The files of one skill, and its URI.
pub(in crate::commands) struct ServedFiles {
    pub(in crate::commands) uri: String,
    pub(in crate::commands) files: Vec<(RelPath, Bytes)>,
}

/// Reads all skills of a server.
pub(in crate::commands) async fn read_all(
    label: ServerLabel,
    config: &ServerConfig,
) -> Result<Vec<ServedFiles>, Failure> {
    let budgets = Budgets::default().with_session_bytes(u64::MAX);
    let host = Host::builder()
        .policy(Policy::default().with_budgets(budgets))
        .client_options(session::client_options())
        .build();
    host.add_server(label.clone(), address(&label, config)?);
    let found = read_listed(&host, &label).await;
    host.disconnect().await;
    found
}

async fn read_listed(host: &Host, label: &ServerLabel) -> Result<Vec<ServedFiles>, Failure> {
    // A server that cannot be listed is a failure here, and only a note in a discovery.
    host.list(label).await?;
    let discovered = host.discover().await;
    if let Some(incomplete) = discovered.incomplete.into_iter().next() {
        return Err(incomplete.into());
    }
    let mut skills = Vec::new();
    for item in discovered.registry.items() {
        let listed = host.refresh(&item.skill).await?;
        skills.push(read_skill(host, &listed).await?);
    }
    Ok(skills)
}

async fn read_skill(host: &Host, listed: &ListedSkill) -> Result<ServedFiles, Failure> {
    let uri = &listed.id().uri;
    let shown = printable(uri.as_str());
    let Resources::Listed(resources) = &listed.entry().resources else {
        // Content that is made anew for each reader has no version.
        let message = format!("`{shown}` is made on request, so there is no copy to take.");
        return Err(Failure::new(Exit::Declined, message));
    };
    let mut files = Vec::new();
    for resource in resources {
        let path = uri.below(&resource.uri).ok_or_else(|| {
            Failure::new(Exit::Verification, format!("`{shown}` lists a file outside of it."))
        })?;
        let read = host.inspect(listed, path.as_str()).await?;
        files.push((path, read.bytes.clone()));
    }
    files.sort_by(|a: &(RelPath, _), b| a.0.cmp(&b.0));
    Ok(ServedFiles { uri: uri.to_string(), files })
}
