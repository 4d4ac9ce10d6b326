//! The arguments of a tool, which a model wrote and may have got wrong.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use skillwire_core::visible::one_line_within;

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub struct ToolArguments<'a> {
    tool: &'a str,
    given: &'a Map<String, Value>,
}

/// The error for an argument that does not fit; a model reads it and tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` cannot be called like this: {problem}. Call it again with other arguments.")]
pub struct BadArgument {
    tool: String,
    problem: String,
}

impl<'a> ToolArguments<'a> {
    /// Takes the arguments of a call of this tool.
    pub fn new(tool: &'a str, given: &'a Map<String, Value>) -> Self {
        Self { tool, given }
    }

    /// Refuses every argument that has another name.
    pub fn only(&self, known: &[&str]) -> Result<(), BadArgument> {
        match self.given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(other) => {
                let other = one_line_within(other, 64);
                Err(self.bad(format!("it has no argument `{other}`, only {}", known.join(", "))))
            }
        }
    }

    /// Returns a text that may be absent; an empty one counts as absent.
    pub fn optional(&self, name: &str) -> Result<Option<&'a str>, BadArgument> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.bad(format!("`{name}` must be a string"))),
        }
    }

    /// Returns a text that must be there.
    pub fn required(&self, name: &str) -> Result<&'a str, BadArgument> {
        self.optional(name)?.ok_or_else(|| self.bad(format!("`{name}` is required")))
    }

    /// Returns a number that may be absent. Some models write numbers as strings.
    pub fn number(&self, name: &str) -> Result<Option<usize>, BadArgument> {
        let number = match self.given.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        let bad = || self.bad(format!("`{name}` must be a whole number that is not negative"));
        number.map(Some).ok_or_else(bad)
    }

    /// Returns texts by name; an object that is absent has none.
    pub fn texts(&self, name: &str) -> Result<BTreeMap<String, String>, BadArgument> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(BTreeMap::new()),
            Some(value) => serde_json::from_value(value.clone())
                .map_err(|_| self.bad(format!("`{name}` must be an object of strings"))),
        }
    }

    /// Creates the error for a problem, which is part of a sentence.
    pub fn bad(&self, problem: impl Into<String>) -> BadArgument {
        BadArgument { tool: self.tool.to_owned(), problem: problem.into() }
    }
}
