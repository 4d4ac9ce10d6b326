//! The entry that starts the bridge, in the words of each agent.

use serde_json::{Map, Value};

/// How an agent starts the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeEntry {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl BridgeEntry {
    /// Starts `command` with `args`.
    pub fn new(command: impl Into<String>, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { command: command.into(), args, env: Vec::new() }
    }

    /// Sets a variable of the bridge's environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The program.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Its arguments.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Fills an agent's template; `env` is where variables go, as names with dots between them.
    pub(crate) fn render(&self, template: &Map<String, Value>, env: &str) -> Map<String, Value> {
        let mut entry = template.clone();
        for value in entry.values_mut() {
            self.fill(value);
        }
        if !self.env.is_empty() {
            let mut table = &mut entry;
            for name in env.split('.') {
                let inner = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
                table = inner.as_object_mut().expect("the template has a table there, or nothing");
            }
            table
                .extend(self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
        }
        entry
    }

    fn fill(&self, value: &mut Value) {
        match value {
            Value::String(text) if text == "{command}" => *text = self.command.clone(),
            Value::String(text) if text == "{args}" => *value = self.args.clone().into(),
            Value::String(text) if text == "{line}" => {
                let line = std::iter::once(&self.command).chain(&self.args);
                *value = line.cloned().collect();
            }
            Value::Object(inner) => inner.values_mut().for_each(|value| self.fill(value)),
            _ => {}
        }
    }
}
