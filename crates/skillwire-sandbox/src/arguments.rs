//! What a caller gives to a script: an object that becomes words and standard input.

use serde_json::{Map, Value};

/// The key whose values become positional words.
const POSITIONAL: &str = "_";

/// The most words that an object may become.
const MAX_WORDS: usize = 256;

/// The most bytes of words, and of standard input.
const MAX_BYTES: usize = 1024 * 1024;

/// Words for the command line and bytes for standard input.
///
/// The object arrives whole, as JSON, on standard input. Its key `_`, an array, becomes positional
/// words, and every other key with text, a number or a boolean becomes `--key value`. Nested values
/// and `null` are on standard input alone.
///
/// No value can turn into an option: one that begins with `-` is written `--key=value`, and
/// positional words of which one begins with `-` come after `--`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<String>,
    stdin: Vec<u8>,
}

/// Why an object cannot be given to a script; reads on from "the arguments".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArguments {
    /// Keys become options and must look like some.
    #[error("have the key `{}`, and keys are made of `a-z`, `0-9` and `-` and do not begin with `-`", .0.escape_debug())]
    Key(String),
    /// Positional values are a list.
    #[error("hold something else than an array of text, numbers and booleans in `_`")]
    Positional,
    /// A word cannot hold a NUL.
    #[error("hold a NUL character")]
    Nul,
    /// There are bounds.
    #[error("are more than {MAX_WORDS} words or {MAX_BYTES} bytes")]
    TooMany,
}

impl Arguments {
    /// Turns an object into words and standard input.
    pub fn of(object: &Map<String, Value>) -> Result<Self, InvalidArguments> {
        let mut words = Vec::new();
        for (key, value) in object.iter().filter(|(key, _)| *key != POSITIONAL) {
            if !is_option_name(key) {
                return Err(InvalidArguments::Key(key.chars().take(64).collect()));
            }
            match word(value)? {
                None => {}
                Some(value) if value.starts_with('-') => words.push(format!("--{key}={value}")),
                Some(value) => words.extend([format!("--{key}"), value]),
            }
        }
        if let Some(values) = object.get(POSITIONAL) {
            let Value::Array(values) = values else { return Err(InvalidArguments::Positional) };
            let values = values
                .iter()
                .map(|value| word(value)?.ok_or(InvalidArguments::Positional))
                .collect::<Result<Vec<_>, _>>()?;
            if values.iter().any(|value| value.starts_with('-')) {
                words.push("--".to_owned());
            }
            words.extend(values);
        }
        let stdin = Value::Object(object.clone()).to_string().into_bytes();
        Self::bounded(words, stdin)
    }

    /// Takes words as somebody typed them, and bytes for standard input.
    pub fn typed(words: Vec<String>, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
        if words.iter().any(|word| word.contains('\0')) {
            return Err(InvalidArguments::Nul);
        }
        Self::bounded(words, stdin)
    }

    fn bounded(words: Vec<String>, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
        let bytes: usize = words.iter().map(String::len).sum();
        if words.len() > MAX_WORDS || bytes > MAX_BYTES || stdin.len() > MAX_BYTES {
            return Err(InvalidArguments::TooMany);
        }
        Ok(Self { words, stdin })
    }

    /// The words after the script's name.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// What the script reads from standard input.
    pub fn stdin(&self) -> &[u8] {
        &self.stdin
    }
}

fn is_option_name(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with('-')
        && key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// A scalar as a word; nothing for what has no such form.
fn word(value: &Value) -> Result<Option<String>, InvalidArguments> {
    let word = match value {
        Value::String(text) if text.contains('\0') => return Err(InvalidArguments::Nul),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return Ok(None),
    };
    Ok(Some(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Result<Arguments, InvalidArguments> {
        Arguments::of(value.as_object().unwrap())
    }

    #[test]
    fn scalars_become_options_and_the_whole_object_is_on_standard_input() {
        let object = json!({ "amount": 100, "dry-run": true, "note": "a b", "deep": { "x": [1] },
                             "none": null, "_": ["file", 2] });
        let arguments = of(&object).unwrap();
        let words = ["--amount", "100", "--dry-run", "true", "--note", "a b", "file", "2"];
        assert_eq!(arguments.words(), words);
        assert_eq!(serde_json::from_slice::<Value>(arguments.stdin()).unwrap(), object);
    }

    #[test]
    fn no_value_can_turn_into_an_option() {
        let object = json!({ "name": "--delete-everything", "n": -5, "_": ["-rf", "x"] });
        let words = ["--name=--delete-everything", "--n=-5", "--", "-rf", "x"];
        assert_eq!(of(&object).unwrap().words(), words);
    }

    #[test]
    fn keys_that_are_no_option_names_are_refused() {
        for key in ["", "-", "-x", "A", "a b", "a=b", "ä", "a_b", "__proto__"] {
            let refused = of(&json!({ key: 1 })).unwrap_err();
            assert_eq!(refused, InvalidArguments::Key(key.to_owned()), "{key}");
        }
    }

    #[test]
    fn positional_values_are_a_list_of_scalars() {
        for value in [json!("x"), json!({ "a": 1 }), json!([[1]]), json!([null])] {
            assert_eq!(of(&json!({ "_": value })).unwrap_err(), InvalidArguments::Positional);
        }
    }

    #[test]
    fn words_are_bounded_and_hold_no_nul() {
        assert_eq!(of(&json!({ "a": "x\0y" })).unwrap_err(), InvalidArguments::Nul);
        assert_eq!(of(&json!({ "_": ["\0"] })).unwrap_err(), InvalidArguments::Nul);
        let many = vec!["x"; MAX_WORDS + 1];
        assert_eq!(of(&json!({ "_": many })).unwrap_err(), InvalidArguments::TooMany);
        let long = json!({ "a": "x".repeat(MAX_BYTES + 1) });
        assert_eq!(of(&long).unwrap_err(), InvalidArguments::TooMany);
    }
}
