//! The entries that connect clients to a hub.

use serde_json::json;
use skillwire_page::model::{ConnectView, ConnectionEntry};

use crate::page::texts;

pub(super) fn view(name: &str, url: &str) -> ConnectView {
    let label = label(name);
    let endpoint = format!("{url}/mcp");
    let servers = |key: &str, more: serde_json::Value| {
        let mut entry =
            json!({"url": endpoint, "headers": {"Authorization": "Bearer ${SKILLWIRE_TOKEN}"}});
        if let (Some(entry), Some(more)) = (entry.as_object_mut(), more.as_object()) {
            entry.extend(more.clone());
        }
        serde_json::to_string_pretty(&json!({key: {&label: entry}})).unwrap_or_default()
    };
    let entry = |client: &str, file: &str, text: String| ConnectionEntry {
        client: client.to_owned(),
        file: file.to_owned(),
        text,
        is_present: false,
        is_connected: false,
    };
    let http = json!({"type": "http"});
    ConnectView {
        about: texts::connect_hub(&endpoint),
        line: None,
        entries: vec![
            entry("Skillwire", texts::TERMINAL, format!("skillwire server add {label} {endpoint}")),
            entry("Claude Code", ".mcp.json", servers("mcpServers", http.clone())),
            entry("Cursor", ".cursor/mcp.json", servers("mcpServers", json!({}))),
            entry("VS Code", ".vscode/mcp.json", servers("servers", http)),
            entry(
                "Codex",
                "~/.codex/config.toml",
                format!(
                    "[mcp_servers.{label}]\nurl = \"{endpoint}\"\nbearer_token_env_var = \"SKILLWIRE_TOKEN\"\n"
                ),
            ),
        ],
    }
}

/// The name of a hub as clients label servers.
fn label(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let label: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    if label.is_empty() { "skills".to_owned() } else { label }
}
