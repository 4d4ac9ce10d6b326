//! The arguments of a call, which a model wrote and may have got wrong.

use serde_json::{Map, Value};
use skillwire_trust::{ArgumentValues, Reason, Refusal, Subject};

/// The arguments of a tool or prompt. An empty string counts as absent: models and forms of clients
/// send one for what they do not want to say.
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
            Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
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

    /// Returns an array of words; numbers count as words. An empty array counts as absent.
    pub(crate) fn words(&self, name: &str) -> Result<Option<Vec<String>>, Refusal> {
        let items = match self.given.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::Array(items)) if items.is_empty() => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.refuse(&format!("an array as `{name}`"), "something else")),
        };
        let word = |item: &Value| match item {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let words: Option<Vec<_>> = items.iter().map(word).collect();
        let refuse = || self.refuse(&format!("strings in `{name}`"), "something else");
        words.map(Some).ok_or_else(refuse)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'a str, Refusal> {
        let found = self.optional(name)?;
        found.ok_or_else(|| self.refuse(&format!("a string as `{name}`"), "nothing"))
    }

    /// A whole number; models also write numbers as strings.
    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let number = match self.given.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        let refuse = || self.refuse(&format!("a whole number as `{name}`"), "something else");
        number.map(Some).ok_or_else(refuse)
    }

    pub(crate) fn is_true(&self, name: &str) -> Result<bool, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(false),
            Some(_) => Err(self.refuse(&format!("true or false as `{name}`"), "something else")),
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_string_is_absent_and_a_wrong_argument_is_named_cl_11_cl_13() {
        let given = json!({
            "server": " ", "limit": "20", "offset": 3, "name": 5, "all": "x", "args": ["a b", 7],
            "empty": [], "mixed": ["a", {}],
        });
        let given = given.as_object().unwrap();
        let arguments = ToolArguments::new("list_skills", given);
        assert_eq!(arguments.optional("server"), Ok(None));
        assert_eq!(
            (arguments.number("limit"), arguments.number("offset")),
            (Ok(Some(20)), Ok(Some(3)))
        );
        assert_eq!(arguments.words("args"), Ok(Some(vec!["a b".to_owned(), "7".to_owned()])));
        assert_eq!((arguments.words("none"), arguments.words("empty")), (Ok(None), Ok(None)));
        assert_eq!((arguments.number("none"), arguments.is_true("none")), (Ok(None), Ok(false)));
        for (refusal, named) in [
            (arguments.required("name").unwrap_err(), "a string as `name`"),
            (arguments.required("server").unwrap_err(), "a string as `server`"),
            (arguments.number("all").unwrap_err(), "a whole number as `all`"),
            (arguments.is_true("all").unwrap_err(), "true or false as `all`"),
            (arguments.words("all").unwrap_err(), "an array as `all`"),
            (arguments.words("mixed").unwrap_err(), "strings in `mixed`"),
        ] {
            assert_eq!(refusal.reason, Reason::ToolInputInvalid);
            assert_eq!(refusal.expected.as_deref(), Some(named));
        }
    }
}
