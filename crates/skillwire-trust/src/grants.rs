//! What a user grants to a skill, each permission on its own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillwire_core::{Frontmatter, visible::one_line};

use crate::run_grants::RunGrants;

/// The permissions that a user granted besides loading.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// The requests in `allowed-tools` that the user granted, word for word.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<String>,
    /// Whether code may run while an agent acts on the skill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub execute: bool,
    /// What scripts of the skill get when they run in isolation.
    #[serde(default, skip_serializing_if = "RunGrants::is_empty")]
    pub run: RunGrants,
    /// Whether the skill's server may be asked to run its scripts with what a model sends. They then
    /// run on the server, where nothing isolates them from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remote_execute: bool,
}

impl Grants {
    /// Creates grants that allow nothing but loading.
    pub fn load_only() -> Self {
        Self::default()
    }

    /// Returns these grants with the right to run the skill's scripts in isolation, with `run`.
    #[must_use]
    pub fn with_scripts(self, run: RunGrants) -> Self {
        Self { execute: true, run, ..self }
    }

    /// Returns these grants with the right to have the skill's server run its scripts.
    #[must_use]
    pub fn with_remote_scripts(self) -> Self {
        Self { remote_execute: true, ..self }
    }

    /// Returns a sentence that says what an approval with these grants allows.
    pub fn sentence(&self) -> String {
        let tools = if self.tools.is_empty() {
            "gets no tools".to_owned()
        } else {
            let tools: Vec<_> = self.tools.iter().map(|tool| one_line(tool)).collect();
            format!("gets the tools {}", tools.join(", "))
        };
        let run = if self.execute { "code may run" } else { "code runs only after asking" };
        let remote = if self.remote_execute { ", also on its server" } else { "" };
        format!("it may be loaded, {tools}, and {run}{remote}.")
    }

    /// Returns what each script gets when it runs, one line for each thing; nothing if none may run.
    pub fn run_lines(&self) -> Vec<String> {
        if self.execute { self.run.lines() } else { Vec::new() }
    }
}

/// Returns the tools that a skill asks for in `allowed-tools`, in any form the author may use.
///
/// They are requests: they have no effect unless the user grants them.
pub fn requested_tools(frontmatter: &Frontmatter) -> Vec<String> {
    match frontmatter.fields().get("allowed-tools") {
        Some(Value::String(text)) => split_outside_parentheses(text),
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Splits at blanks and commas, but not in `Bash(git add:*, git commit:*)`.
fn split_outside_parentheses(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let separates = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    };
    text.split(separates).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_three_forms_of_allowed_tools_are_read_fmt_15() {
        let tools = |value: Value| {
            let fields = json!({"name": "a", "description": "Does a.", "allowed-tools": value});
            let Value::Object(fields) = fields else { unreachable!("written as an object") };
            requested_tools(&Frontmatter::from_fields(fields).unwrap())
        };
        assert_eq!(
            tools(json!("Read Bash(git add:*, git commit:*)")),
            ["Read", "Bash(git add:*, git commit:*)"]
        );
        assert_eq!(tools(json!("Read, Write")), ["Read", "Write"]);
        assert_eq!(tools(json!(["Read", 5, "Write"])), ["Read", "Write"]);
        assert!(tools(json!(true)).is_empty());
    }
}
