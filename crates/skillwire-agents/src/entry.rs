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

    /// The variables of its environment.
    pub fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    /// Reads an entry that was written by `render` and perhaps changed by the user since.
    pub(crate) fn read(template: &Map<String, Value>, env: &str, written: &Value) -> Option<Self> {
        let mut line = Vec::new();
        read_line(template, written, &mut line);
        let env = env.split('.').try_fold(written, |table, name| table.get(name));
        let env = env.and_then(Value::as_object).into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let mut words = line.into_iter();
        Some(Self { command: words.next()?, args: words.collect(), env: env.collect() })
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
            Value::String(text) if text == "{command}" => text.clone_from(&self.command),
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

/// Collects what `written` has where the template has the program and its arguments.
fn read_line(template: &Map<String, Value>, written: &Value, line: &mut Vec<String>) {
    for (name, wanted) in template {
        let Some(value) = written.get(name) else { continue };
        match (wanted, value) {
            (Value::String(place), Value::String(command)) if place == "{command}" => {
                line.insert(0, command.clone());
            }
            (Value::String(place), Value::Array(words))
                if place == "{args}" || place == "{line}" =>
            {
                line.extend(words.iter().filter_map(|word| Some(word.as_str()?.to_owned())));
            }
            (Value::Object(template), value) => read_line(template, value, line),
            _ => {}
        }
    }
}
