//! The arguments of a call, which a model wrote and may have got wrong.

use serde_json::{Map, Value};
use skillwire_trust::{ArgumentValues, Reason, Refusal, Subject};

/// The arguments of a tool or prompt; all of them are strings.
pub(crate) struct ToolArguments<'a> {
    tool: &'a str,
    given: &'a Map<String, Value>,
}

impl<'a> ToolArguments<'a> {
    pub(crate) fn new(tool: &'a str, given: &'a Map<String, Value>) -> Self {
        Self { tool, given }
    }

    pub(crate) fn optional(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refuse(&format!("a string as `{name}`"), "something else")),
        }
    }

    /// Returns an object of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<ArgumentValues, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(ArgumentValues::new()),
            Some(value) => serde_json::from_value(value.clone()).map_err(|_| {
                self.refuse(&format!("an object of strings as `{name}`"), "something else")
            }),
        }
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'a str, Refusal> {
        let found = self.optional(name)?;
        found.ok_or_else(|| self.refuse(&format!("the argument `{name}`"), "nothing"))
    }

    /// Refuses an argument that does not fit the schema.
    pub(crate) fn refuse(&self, expected: &str, actual: &str) -> Refusal {
        Refusal::new(Reason::ToolInputInvalid)
            .about(Subject::tool(self.tool))
            .expected(expected)
            .actual(actual)
            .hint("Call the tool again with the arguments its schema describes.")
    }
}
