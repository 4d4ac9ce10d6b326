//! The arguments of a tool call. A model wrote them, so they may be anything.

use serde_json::{Map, Value};
use skillwire_dialects::sep_2076::ArgumentValues;
use skillwire_trust::{Reason, Refusal, Subject};

/// Arguments that are an object of strings and numbers.
pub(super) struct ToolInput<'a> {
    tool: &'a str,
    arguments: Option<&'a Map<String, Value>>,
}

impl<'a> ToolInput<'a> {
    pub(super) fn new(tool: &'a str, arguments: &'a Value) -> Result<Self, Refusal> {
        match arguments {
            Value::Null => Ok(Self { tool, arguments: None }),
            Value::Object(arguments) => Ok(Self { tool, arguments: Some(arguments) }),
            other => {
                let input = Self { tool, arguments: None };
                Err(input.refuse("an object of arguments", &kind(other)))
            }
        }
    }

    pub(super) fn optional(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.arguments.and_then(|arguments| arguments.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.refuse(&format!("a string as `{name}`"), &kind(other))),
        }
    }

    /// Returns an object of strings.
    pub(super) fn texts(&self, name: &str) -> Result<ArgumentValues, Refusal> {
        match self.arguments.and_then(|arguments| arguments.get(name)) {
            None | Some(Value::Null) => Ok(ArgumentValues::new()),
            Some(value) => serde_json::from_value(value.clone()).map_err(|_| {
                self.refuse(&format!("an object of strings as `{name}`"), &kind(value))
            }),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        match self.arguments.and_then(|arguments| arguments.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
                let expected = format!("a whole number as `{name}`");
                number.map(Some).ok_or_else(|| self.refuse(&expected, &kind(value)))
            }
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a str, Refusal> {
        let found = self.optional(name)?;
        found.ok_or_else(|| self.refuse(&format!("the argument `{name}`"), "nothing"))
    }

    pub(super) fn unknown_tool(&self) -> Refusal {
        self.refuse("one of the tools that were offered", "another one")
    }

    fn refuse(&self, expected: &str, actual: &str) -> Refusal {
        Refusal::new(Reason::ToolInputInvalid)
            .about(Subject::tool(self.tool.escape_debug().to_string()))
            .expected(expected)
            .actual(actual)
    }
}

fn kind(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    kind.to_owned()
}
