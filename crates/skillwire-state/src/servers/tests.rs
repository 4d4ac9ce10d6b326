//! What the configuration holds, and what it never shows.

use std::fs;

use skillwire_client::{HttpServer, Secret, ServerUrl, StdioServer};
use tempfile::TempDir;

use super::*;

const SECRET: &str = "s3cr3t-value";

fn servers() -> (TempDir, Servers) {
    let place = TempDir::new().unwrap();
    let servers = Servers::new(place.path().join("state"), "servers.json");
    (place, servers)
}

fn label(text: &str) -> ServerLabel {
    ServerLabel::parse(text).unwrap()
}

fn secrets(name: &str) -> BTreeMap<String, Secret> {
    [(name.to_owned(), Secret::new(SECRET))].into()
}

fn stdio() -> ServerConfig {
    let args = vec!["-y".to_owned(), "--token".to_owned(), SECRET.to_owned()];
    ServerConfig::Stdio(StdioServer::new("npx", args, secrets("API")).unwrap())
}

fn http() -> ServerConfig {
    let url = ServerUrl::parse(&format!("https://example.com/mcp?key={SECRET}")).unwrap();
    #[cfg(windows)]
    let token = "C:\\token";
    #[cfg(not(windows))]
    let token = "/run/token";
    ServerConfig::Http(HttpServer::new(url, secrets("X-Key"), Some(token.into())).unwrap())
}

#[test]
fn servers_are_kept_with_their_secrets_and_found_again() {
    let (_place, servers) = servers();
    assert_eq!(servers.load().unwrap(), Configured::default());
    assert!(!servers.remove(&label("acme")).unwrap());
    assert!(servers.add(&label("acme"), &stdio()).unwrap());
    assert!(servers.add(&label("other"), &http()).unwrap());
    let configured = servers.load().unwrap();
    assert!(configured.problems.is_empty(), "{:?}", configured.problems);
    assert_eq!(configured.servers[&label("acme")], stdio());
    assert_eq!(configured.servers[&label("other")], http());
    // A taken label keeps its server, because approvals are bound to the label.
    assert!(!servers.add(&label("acme"), &http()).unwrap());
    assert_eq!(servers.load().unwrap().servers[&label("acme")], stdio());
    assert!(servers.remove(&label("acme")).unwrap());
    assert_eq!(servers.load().unwrap().servers.len(), 1);
}

#[test]
fn the_folder_of_a_program_is_kept_and_one_without_is_read_as_before_fu_02() {
    let (place, servers) = servers();
    let ServerConfig::Stdio(program) = stdio() else { unreachable!("it is a program") };
    let folder = place.path().to_owned();
    let there = ServerConfig::Stdio(program.in_folder(Some(folder)).unwrap());
    servers.add(&label("acme"), &there).unwrap();
    servers.add(&label("old"), &stdio()).unwrap();
    let configured = servers.load().unwrap();
    assert_eq!(configured.servers[&label("acme")], there);
    assert_eq!(configured.servers[&label("old")], stdio());
    assert!(configured.problems.is_empty(), "{:?}", configured.problems);
}

#[test]
fn a_value_with_a_variable_is_kept_as_it_is_written_and_not_warned_about_fu_25() {
    let text = r#"{"mcpServers": {
        "web": {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "all": {"url": "${ADDRESS}"}}}"#;
    let imported = import(text).unwrap();
    assert!(imported.problems.is_empty(), "{:?}", imported.problems);
    let (_place, servers) = servers();
    for (label, config) in &imported.servers {
        servers.add(label, config).unwrap();
    }
    let written: Value = serde_json::from_slice(&fs::read(servers.path()).unwrap()).unwrap();
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!(written["mcpServers"]["web"]["headers"], read["mcpServers"]["web"]["headers"]);
    assert_eq!(written["mcpServers"]["web"]["url"], "https://${HOST}/mcp");
    assert_eq!(servers.load().unwrap().problems, []);
}

#[test]
fn no_secret_is_shown_in_any_form() {
    for config in [stdio(), http()] {
        for shown in [
            format!("{config}"),
            format!("{config:?}"),
            format!("{config:#?}"),
            serde_json::to_string(&config).unwrap(),
        ] {
            assert!(!shown.contains(SECRET), "{shown}");
        }
    }
    assert_eq!(stdio().to_string(), "npx -y --token ***");
    assert_eq!(http().to_string(), "https://example.com/mcp?***");
}

#[test]
fn what_else_is_in_the_file_stays() {
    let (_place, servers) = servers();
    servers.add(&label("acme"), &stdio()).unwrap();
    let text = r#"{"theme": "dark", "mcpServers": {
        "acme": {"command": "a", "timeout": 5, "note": ["x"]},
        "B": {"command": "b"},
        "off": {"command": "c", "disabled": true}}}"#;
    fs::write(servers.path(), text).unwrap();
    servers.add(&label("new"), &http()).unwrap();
    let written: Value = serde_json::from_slice(&fs::read(servers.path()).unwrap()).unwrap();
    let mut expected: Value = serde_json::from_str(text).unwrap();
    expected["mcpServers"]["new"] = written["mcpServers"]["new"].clone();
    assert_eq!(written, expected);
    let configured = servers.load().unwrap();
    let labels: Vec<&str> = configured.servers.keys().map(ServerLabel::as_str).collect();
    assert_eq!(labels, ["acme", "new"]);
    let told: Vec<String> = configured.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "Server `acme`: the key `timeout` means nothing here and is not followed.",
            "Server `acme`: the key `note` means nothing here and is not followed.",
            "Server `B`: the label may hold only a-z, 0-9, `-`, `_` and `.`.",
            "Server `off`: it is switched off by `disabled`.",
        ]
    );
}

#[test]
fn how_a_server_is_reached_changes_and_the_rest_of_it_stays_fu_08() {
    let (_place, servers) = servers();
    assert!(!servers.set(&label("acme"), &http()).unwrap(), "there is no such server");
    servers.add(&label("other"), &http()).unwrap();
    servers.add(&label("acme"), &stdio()).unwrap();
    servers.set_legacy(&label("acme"), true).unwrap();
    assert!(servers.set(&label("acme"), &http()).unwrap());
    assert!(!servers.set(&label("none"), &http()).unwrap());
    let configured = servers.load().unwrap();
    assert_eq!(configured.servers[&label("acme")], http());
    assert_eq!(configured.legacy, [label("acme")].into());
    let written: Value = serde_json::from_slice(&fs::read(servers.path()).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["acme"].get("command"), None);
    let labels: Vec<_> = written["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(labels, ["other", "acme"], "the order stays");
}

#[test]
fn a_corrupt_file_is_an_error_and_not_overwritten_h_65() {
    let (_place, servers) = servers();
    servers.add(&label("acme"), &stdio()).unwrap();
    for text in ["", "[]", "{", r#"{"mcpServers": []}"#, r#"{"mcpServers": {}, "mcpServers": {}}"#]
    {
        fs::write(servers.path(), text).unwrap();
        assert!(servers.load().is_err(), "{text}");
        assert!(servers.add(&label("b"), &stdio()).is_err(), "{text}");
        assert!(servers.remove(&label("acme")).is_err(), "{text}");
        assert_eq!(fs::read_to_string(servers.path()).unwrap(), text);
    }
}

#[test]
fn servers_added_at_once_are_all_there_h_66() {
    let (_place, servers) = servers();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let servers = servers.clone();
            let label = label(&format!("s{number}"));
            scope.spawn(move || assert!(servers.add(&label, &stdio()).unwrap()));
        }
    });
    assert_eq!(servers.load().unwrap().servers.len(), 8);
}

#[test]
fn what_cannot_be_a_server_is_told_without_its_values() {
    let read = |text: &str| {
        let imported = import(&format!(r#"{{"mcpServers": {{"x": {text}}}}}"#)).unwrap();
        assert!(imported.servers.is_empty(), "{text}");
        imported.problems[0].to_string()
    };
    for bad in [
        r#""s3cr3t-value""#,
        "{}",
        r#"{"command": "a", "url": "https://a.b"}"#,
        r#"{"command": ["s3cr3t-value"]}"#,
        r#"{"command": ""}"#,
        r#"{"command": "a\u0000b"}"#,
        r#"{"command": "a", "args": "s3cr3t-value"}"#,
        r#"{"command": "a", "args": ["s3cr3t-value", 1]}"#,
        r#"{"command": "a", "env": {"A": ["s3cr3t-value"]}}"#,
        r#"{"command": "a", "env": {"A=B": "s3cr3t-value"}}"#,
        r#"{"command": "a", "env": {"A": "s3cr3t-value\u0000"}}"#,
        r#"{"type": "stdio", "url": "https://a.b"}"#,
        r#"{"type": "stdio"}"#,
        r#"{"type": "http"}"#,
        r#"{"type": "http", "command": "a"}"#,
        r#"{"type": "sse", "url": "https://s3cr3t-value.b"}"#,
        r#"{"type": "s3cr3t-value", "url": "https://a.b"}"#,
        r#"{"url": "ftp://s3cr3t-value.b"}"#,
        r#"{"url": "https://me:s3cr3t-value@a.b"}"#,
        r#"{"url": "https://a.b/#s3cr3t-value"}"#,
        r#"{"url": "https:///s3cr3t-value"}"#,
        r#"{"url": "a b"}"#,
        r#"{"url": "https://a.b", "headers": {"a b": "s3cr3t-value"}}"#,
        r#"{"url": "https://a.b", "headers": {"A": "s3cr3t-value\r\nB: c"}}"#,
        r#"{"url": "https://a.b", "bearerTokenFile": "relative"}"#,
        r#"{"command": "a", "disabled": "yes"}"#,
        r#"{"command": "a", "cwd": "relative"}"#,
    ] {
        let told = read(bad);
        assert!(!told.contains(SECRET), "{told}");
        assert!(told.starts_with("Server `x`: ") && told.ends_with('.'), "{told}");
    }
}

#[test]
fn files_of_other_clients_are_imported() {
    let imported = import(
        r#"{"inputs": [], "servers": {
            "local": {"command": "a"},
            "My Server!": {"type": "streamable-http", "url": "https://a.b/mcp"},
            "my-server": {"type": "stdio", "command": "b", "args": ["${HOME}"], "cwd": "/x"},
            "\u001b[31m": {"command": "c"},
            "old": {"type": "sse", "url": "https://a.b/sse"}}}"#,
    )
    .unwrap();
    let found: Vec<String> =
        imported.servers.iter().map(|(label, config)| format!("{label}: {config}")).collect();
    assert_eq!(
        found,
        ["local-2: a", "my-server-2: https://a.b/mcp", "my-server: b ${HOME}", "31m: c"]
    );
    let told: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told.iter().all(|line| !line.chars().any(char::is_control)));
    for bad in ["", "{}", "null", r#"{"servers": []}"#, &" ".repeat(2_000_000)] {
        assert!(import(bad).is_err());
    }
}

#[cfg(unix)]
#[test]
fn the_file_is_the_users_alone_h_64() {
    use std::os::unix::fs::PermissionsExt;

    let (_place, servers) = servers();
    servers.add(&label("acme"), &stdio()).unwrap();
    let mode = || fs::metadata(servers.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    // Other users could make the client run their commands.
    fs::set_permissions(servers.path(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(servers.load().is_err());
    // The next write narrows the mode of a file that the user made by hand.
    fs::set_permissions(servers.path(), fs::Permissions::from_mode(0o644)).unwrap();
    servers.add(&label("b"), &stdio()).unwrap();
    assert_eq!(mode(), 0o600);
}
