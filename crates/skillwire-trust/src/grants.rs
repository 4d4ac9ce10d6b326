//! What a user grants to a skill, each permission on its own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillwire_core::Frontmatter;

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
}

impl Grants {
    /// Creates grants that allow nothing but loading.
    pub fn load_only() -> Self {
        Self::default()
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
