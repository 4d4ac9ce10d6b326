//! The table of agents.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    edit::{self, Edit, EditError, Format, Removal},
    entry::BridgeEntry,
};

static AGENTS: LazyLock<Vec<Agent>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("agents.toml")).expect("a test reads it");
    table.agent
});

/// Every agent that is known, in the order in which users are shown them.
pub fn agents() -> &'static [Agent] {
    &AGENTS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agent: Vec<Agent>,
}

/// One agent: how to see that it is there, and where it keeps its MCP servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    id: String,
    name: String,
    program: Option<String>,
    places: Vec<String>,
    files: Vec<String>,
    format: Format,
    table: Vec<String>,
    #[serde(deserialize_with = "json")]
    entry: Map<String, Value>,
    env: String,
    #[serde(default)]
    newer: Option<NewerForm>,
    #[serde(default)]
    desktop: bool,
    project_skills: Option<String>,
    user_skills: Option<String>,
}

/// The table and the entry of a newer version of an agent, for files that have that table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewerForm {
    table: Vec<String>,
    #[serde(deserialize_with = "json")]
    entry: Map<String, Value>,
}

/// Reads JSON in a string, which keeps its order.
fn json<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Map<String, Value>, D::Error> {
    let text = String::deserialize(reader)?;
    serde_json::from_str(&text).map_err(serde::de::Error::custom)
}

/// The folders of the user that paths in the table are relative to.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    home: &'a Path,
    config: &'a Path,
}

impl<'a> Places<'a> {
    /// Takes the user's home and the system's folder for configuration.
    pub fn new(home: &'a Path, config: &'a Path) -> Self {
        Self { home, config }
    }

    fn resolve(self, written: &str) -> PathBuf {
        if let Some(rest) = written.strip_prefix("~/") {
            return self.home.join(rest);
        }
        written
            .strip_prefix("{config}/")
            .map_or_else(|| written.into(), |rest| self.config.join(rest))
    }
}

impl Agent {
    /// What users type.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What users read.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program that is on the `PATH` where this agent is installed, if it has one.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Whether it may be started from a desktop, and then without the `PATH` of the user's shell.
    pub fn is_desktop(&self) -> bool {
        self.desktop
    }

    /// Files or folders that only this agent makes.
    pub fn places(&self, places: Places<'_>) -> impl Iterator<Item = PathBuf> {
        self.places.iter().map(move |place| places.resolve(place))
    }

    /// The files that may hold its servers, best first.
    pub fn files(&self, places: Places<'_>) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(move |file| places.resolve(file))
    }

    /// The folder from which it reads skills of a project, relative to the project.
    pub fn project_skills(&self) -> Option<&str> {
        self.project_skills.as_deref()
    }

    /// The folder from which it reads skills of the user.
    pub fn user_skills(&self, places: Places<'_>) -> Option<PathBuf> {
        self.user_skills.as_deref().map(|folder| places.resolve(folder))
    }

    /// Returns `text` with the bridge as a server. An absent file is an empty text.
    ///
    /// Settings that the user added to an older entry stay.
    pub fn add(&self, text: &str, entry: &BridgeEntry) -> Result<Edit, EditError> {
        let (table, template) = self.form(text)?;
        edit::add(self.format, text, table, &entry.render(template, &self.env))
    }

    /// The table of servers and the entry that `text` wants, by the version of the agent that it is for.
    fn form(&self, text: &str) -> Result<(&[String], &Map<String, Value>), EditError> {
        match &self.newer {
            Some(newer) if edit::has_tables(self.format, text, &newer.table)? => {
                Ok((&newer.table, &newer.entry))
            }
            _ => Ok((&self.table, &self.entry)),
        }
    }

    /// Returns `text` without the bridge; everything else stays. `before` is the text from before the
    /// bridge was added, if there was a file: it is returned as it was if nothing else changed since.
    pub fn remove(&self, text: &str, before: Option<&str>) -> Result<Removal, EditError> {
        let Some(newer) = &self.newer else {
            return edit::remove(self.format, text, &self.table, before);
        };
        // An older version may have had an entry before the file was made for the newer one.
        match edit::remove(self.format, text, &newer.table, before)? {
            Removal::Unchanged => edit::remove(self.format, text, &self.table, before),
            Removal::Changed(text) => {
                Ok(match edit::remove(self.format, &text, &self.table, before)? {
                    Removal::Unchanged => Removal::Changed(text),
                    more => more,
                })
            }
            Removal::Empty => Ok(Removal::Empty),
        }
    }

    /// How `text` makes the agent start the bridge, if it does.
    pub fn current(&self, text: &str) -> Result<Option<BridgeEntry>, EditError> {
        let (table, template) = self.form(text)?;
        let written = edit::current(self.format, text, table)?;
        Ok(written.and_then(|written| BridgeEntry::read(template, &self.env, &written)))
    }

    /// What to paste where `text` cannot be changed safely.
    pub fn snippet(&self, entry: &BridgeEntry) -> String {
        let empty = edit::add(self.format, "", &self.table, &entry.render(&self.entry, &self.env));
        match empty {
            Ok(Edit::Changed(text)) => text,
            Ok(Edit::Unchanged) | Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_agent_of_the_table_can_be_added_and_removed() {
        let ids: BTreeSet<&str> = agents().iter().map(Agent::id).collect();
        assert_eq!(ids.len(), agents().len());
        let entry = BridgeEntry::new("/opt/skillwire", &["bridge"]).env("SKILLWIRE_HOME", "/state");
        for agent in agents() {
            let Edit::Changed(text) = agent.add("", &entry).unwrap() else { panic!("{agent:?}") };
            assert!(text.contains("/opt/skillwire") && text.contains("/state"), "{text}");
            assert_eq!(agent.add(&text, &entry).unwrap(), Edit::Unchanged, "{}", agent.id);
            assert_eq!(agent.current(&text).unwrap().as_ref(), Some(&entry), "{text}");
            assert_eq!(agent.remove(&text, None).unwrap(), Removal::Empty, "{text}");
            assert_eq!(agent.remove(&text, Some("")).unwrap(), Removal::Changed(String::new()));
            assert_eq!(agent.remove("", None).unwrap(), Removal::Unchanged);
            assert_eq!(agent.snippet(&entry), text);
        }
    }

    /// Files as users of each agent have them, and the table in which the servers are.
    const REAL: [(&str, &str); 17] = [
        ("claude-code", include_str!("../files/claude-code.json")),
        ("claude-desktop", include_str!("../files/claude-desktop.json")),
        ("codex", include_str!("../files/codex.toml")),
        ("cursor", include_str!("../files/cursor.json")),
        ("vscode", include_str!("../files/vscode.json")),
        ("gemini-cli", include_str!("../files/gemini-cli.json")),
        ("opencode", include_str!("../files/opencode.json")),
        ("opencode", include_str!("../files/opencode-2.json")),
        ("goose", include_str!("../files/goose.yaml")),
        ("qwen-code", include_str!("../files/qwen-code.json")),
        ("zed", include_str!("../files/zed.json")),
        ("windsurf", include_str!("../files/windsurf.json")),
        ("copilot-cli", include_str!("../files/copilot-cli.json")),
        ("cline", include_str!("../files/cline.json")),
        ("amp", include_str!("../files/amp.json")),
        ("crush", include_str!("../files/crush.json")),
        ("kiro", include_str!("../files/kiro.json")),
    ];

    #[test]
    fn files_as_users_have_them_keep_every_line_and_come_back() {
        let entry = BridgeEntry::new("/opt/skillwire", &["bridge"]).env("SKILLWIRE_HOME", "/state");
        let named: BTreeSet<&str> = REAL.iter().map(|(id, _)| *id).collect();
        assert_eq!(named, agents().iter().map(Agent::id).collect(), "each agent has a file");
        for (id, before) in REAL {
            let agent = agents().iter().find(|agent| agent.id == id).unwrap();
            assert_eq!(agent.current(before).unwrap(), None, "{id}");
            let Edit::Changed(added) = agent.add(before, &entry).unwrap() else { panic!("{id}") };
            assert_eq!(agent.current(&added).unwrap().as_ref(), Some(&entry), "{added}");
            // The line before the entry may get a comma, and no other line changes.
            let mut lines = added.lines().map(|line| line.trim_end_matches(','));
            for line in before.lines().map(|line| line.trim_end_matches(',')) {
                assert!(lines.any(|kept| kept == line), "{id} lost `{line}`:\n{added}");
            }
            assert_eq!(agent.add(&added, &entry).unwrap(), Edit::Unchanged, "{id}");
            let removed = agent.remove(&added, Some(before)).unwrap();
            assert_eq!(removed, Removal::Changed(before.to_owned()), "{id}");
            // Without the kept file, the same servers are left.
            let Removal::Changed(left) = agent.remove(&added, None).unwrap() else {
                panic!("{id}")
            };
            assert_eq!(
                agent.format.read(&left).unwrap(),
                agent.format.read(before).unwrap(),
                "{id}"
            );
        }
    }

    #[test]
    fn a_file_for_the_newer_version_of_an_agent_gets_the_newer_entry() {
        let agent = agents().iter().find(|agent| agent.id == "opencode").unwrap();
        let entry = BridgeEntry::new("skillwire", &["bridge"]);
        let added = |text: &str| match agent.add(text, &entry) {
            Ok(Edit::Changed(text)) => text,
            other => panic!("{other:?}"),
        };
        let servers = |text: &str, pointer: &str| {
            let read = Value::Object(agent.format.read(text).unwrap());
            read.pointer(pointer).cloned()
        };
        let (old, new) = ("/mcp/skillwire", "/mcp/servers/skillwire");
        for (text, is_new) in [
            ("{}", false),
            (r#"{ "mcp": {} }"#, false),
            // A server of the older version may have that name.
            (r#"{ "mcp": { "servers": { "type": "local", "command": ["x"] } } }"#, false),
            (r#"{ "mcp": { "servers": { "enabled": false } } }"#, false),
            (r#"{ "mcp": { "servers": {} } }"#, true),
            (r#"{ "mcp": { "timeout": 5, "servers": { "x": { "type": "local" } } } }"#, true),
        ] {
            let added = added(text);
            assert_eq!(servers(&added, new).is_some(), is_new, "{added}");
            assert_eq!(servers(&added, old).is_some(), !is_new, "{added}");
            // The newer version has no key for it.
            let enabled = servers(&added, &format!("{new}/enabled"));
            assert_eq!(enabled, None, "{added}");
            let removed = agent.remove(&added, Some(text)).unwrap();
            assert_eq!(removed, Removal::Changed(text.to_owned()));
        }
        // An entry of the older version does not count, and goes with the newer one.
        let both = r#"{ "model": "x", "mcp": { "skillwire": { "type": "local", "command": ["x"] }, "servers": {} } }"#;
        assert_eq!(agent.current(both).unwrap(), None);
        let Removal::Changed(left) = agent.remove(&added(both), None).unwrap() else { panic!() };
        assert!(!left.contains("skillwire"), "{left}");
    }

    #[test]
    fn what_was_there_before_comes_back_and_tables_of_the_entry_go() {
        let entry = BridgeEntry::new("skillwire", &["bridge"]);
        let newer = BridgeEntry::new("/opt/skillwire", &["bridge"]).env("SKILLWIRE_HOME", "/state");
        let agent = |id: &str| agents().iter().find(|agent| agent.id == id).unwrap();
        let added = |agent: &Agent, text: &str, entry: &BridgeEntry| match agent.add(text, entry) {
            Ok(Edit::Changed(text)) => text,
            other => panic!("{other:?}"),
        };
        let json = [
            "{}",
            "{ }\n",
            "{\n  \"theme\": \"dark\" // mine\n}",
            "{\"mcpServers\":{}}\n",
            "{\"mcpServers\": { /* none */ }}",
        ];
        let yaml = [
            "GOOSE_MODE: auto\n",
            "GOOSE_MODE: auto",
            "extensions:\nGOOSE_MODE: auto\n",
            "# mine\n",
        ];
        let toml = ["", "model = 'x' # mine", "[mcp_servers]\n\n[other]\nx = 1\n", "\n"];
        for (id, texts) in [("cursor", &json[..]), ("goose", &yaml), ("codex", &toml)] {
            for &text in texts {
                let agent = agent(id);
                let both = added(agent, &added(agent, text, &entry), &newer);
                assert_eq!(
                    agent.remove(&both, Some(text)).unwrap(),
                    Removal::Changed(text.to_owned())
                );
            }
        }
        // What the user changed since stays, and so does what was there before.
        let cursor = agent("cursor");
        for (before, theme) in
            [(Some("{}"), "{\n  \"theme\": 1\n}\n"), (None, "{\n  \"theme\": 1\n}\n")]
        {
            let now = added(cursor, "{\n  \"theme\": 1\n}\n", &entry);
            assert_eq!(cursor.remove(&now, before).unwrap(), Removal::Changed(theme.to_owned()));
        }
        let now = added(cursor, "{\n  \"theme\": 1,\n  \"mcpServers\": {}\n}\n", &entry);
        let Removal::Changed(kept) = cursor.remove(&now, Some("{ \"mcpServers\": {} }")).unwrap()
        else {
            panic!("{now}")
        };
        assert!(kept.contains("mcpServers"), "{kept}");
        // A text that has the entry is none from before.
        let goose = agent("goose");
        let now = added(goose, "GOOSE_MODE: auto\n", &entry);
        assert_eq!(
            goose.remove(&now, Some(&now)).unwrap(),
            Removal::Changed("GOOSE_MODE: auto\n".to_owned())
        );
    }

    #[test]
    fn paths_are_below_the_home_or_the_folder_for_configuration() {
        let places = Places::new(Path::new("/home/me"), Path::new("/home/me/.config"));
        for agent in agents() {
            let skills = agent.user_skills(places);
            for path in agent.files(places).chain(agent.places(places)).chain(skills) {
                assert!(path.starts_with("/home/me") && !path.ends_with("me"), "{path:?}");
            }
        }
    }

    #[test]
    fn folders_of_skills_are_ones_in_which_skills_are_discovered_hst_95() {
        let (home, project) = (Path::new("/home/me"), Path::new("/src/thing"));
        let known = skillwire_core::agent_folders::discovery_paths(Some(home), Some(project));
        let places = Places::new(home, Path::new("/home/me/.config"));
        for agent in agents() {
            let below = agent.project_skills().map(|folder| project.join(folder));
            assert_eq!(below.is_some(), agent.user_skills(places).is_some(), "{}", agent.id);
            for folder in below.into_iter().chain(agent.user_skills(places)) {
                assert!(known.contains(&folder), "{}: {}", agent.id, folder.display());
            }
        }
    }
}
