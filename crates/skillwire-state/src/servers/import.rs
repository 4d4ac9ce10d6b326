//! Importing the servers of another MCP client.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use skillwire_client::{InvalidServer, ServerConfig};
use skillwire_trust::ServerLabel;

use super::{ServerProblem, json};

/// The servers in another client's configuration, and the problems with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Every usable server, under its own label or a suggested one.
    pub servers: Vec<(ServerLabel, ServerConfig)>,
    /// Problems with the other servers, and changes to these.
    pub problems: Vec<ServerProblem>,
}

/// Reads a configuration with `mcpServers`, or with `servers`, as some editors call it.
pub fn import(text: &str) -> Result<Imported, InvalidServer> {
    let document = json::document(text)?;
    let servers = servers(&document)?;
    let mut imported = Imported { servers: Vec::new(), problems: Vec::new() };
    // Valid labels are reserved first, so that no suggestion for another server takes one of them.
    let mut taken: BTreeSet<String> =
        servers.keys().filter(|label| ServerLabel::parse(label).is_ok()).cloned().collect();
    for (name, value) in servers {
        let mut tell = |problem: String| imported.problems.push(ServerProblem::new(name, problem));
        // A file of another program is not the user's consent to search all resources.
        let json::ReadServer { config, notes, .. } = json::read(value);
        let config = match config {
            Ok(config) => config,
            Err(error) => {
                tell(error.to_string());
                continue;
            }
        };
        let label = match ServerLabel::parse(name) {
            Ok(label) => Some(label),
            Err(error) => {
                let label = suggest(name, &mut taken);
                tell(match &label {
                    Some(label) => format!("the label {error}; it is called `{label}` here"),
                    None => format!("the label {error}"),
                });
                label
            }
        };
        notes.into_iter().for_each(tell);
        imported.servers.extend(label.map(|label| (label, config)));
    }
    Ok(imported)
}

fn servers(document: &Map<String, Value>) -> Result<&Map<String, Value>, InvalidServer> {
    match (document.get("mcpServers"), document.get("servers")) {
        (Some(Value::Object(servers)), _) | (None, Some(Value::Object(servers))) => Ok(servers),
        (None, None) => Err(InvalidServer::new("has neither `mcpServers` nor `servers`")),
        _ => Err(InvalidServer::new("has an `mcpServers` or `servers` that is not an object")),
    }
}

/// Suggests a valid label for an invalid name, different from every taken one.
fn suggest(name: &str, taken: &mut BTreeSet<String>) -> Option<ServerLabel> {
    let mut label = String::new();
    for c in name.chars().flat_map(char::to_lowercase).take(56) {
        let plain = c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
        match plain {
            true => label.push(c),
            false if label.ends_with('-') => {}
            false => label.push('-'),
        }
    }
    let label = label.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let label = if label.is_empty() { "server" } else { label };
    // `local` and `project` are reserved, so they are numbered like taken labels.
    let numbered = (2..1000).map(|number| format!("{label}-{number}"));
    let free = std::iter::once(label.to_owned())
        .chain(numbered)
        .find(|label| !taken.contains(label) && ServerLabel::parse(label).is_ok())?;
    taken.insert(free.clone());
    ServerLabel::parse(&free).ok()
}
