//! What a caller passes to a script: command-line words and standard input.

use serde_json::{Map, Value};

/// The key whose values become positional words.
const POSITIONAL: &str = "_";

/// The most words that a script is given.
const MAX_WORDS: usize = 256;

/// The most bytes of words, and of standard input.
const MAX_BYTES: usize = 1024 * 1024;

/// Words for a script's command line, and bytes for its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptArguments {
    words: Vec<String>,
    stdin: Vec<u8>,
}

/// Why arguments cannot be passed to a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArguments {
    /// A key is not the name of an option.
    #[error(
        "the arguments have the key `{}`, and a key is made of `a-z`, `0-9` and `-` and does not begin with `-`",
        .0.escape_debug()
    )]
    Key(String),
    /// The positional values are not a list of scalars.
    #[error("the arguments hold something else than an array of text, numbers and booleans in `_`")]
    Positional,
    /// A word holds a NUL character, which the kernel takes for the word's end.
    #[error("the arguments hold a NUL character")]
    Nul,
    /// There are too many words, or too many bytes.
    #[error("the arguments are more than {MAX_WORDS} words or {MAX_BYTES} bytes")]
    TooMany,
}

impl ScriptArguments {
    /// Turns a JSON object into words and standard input.
    ///
    /// The whole object arrives as JSON on standard input. Its key `_`, an array, becomes
    /// positional words, and every other key with text, a number or a boolean becomes
    /// `--key value`. Nested values and `null` are on standard input alone.
    ///
    /// A client chooses the values, so none of them may become an option of its own: a value that
    /// begins with `-` is written `--key=value`, and positional words come after `--` if one begins
    /// with `-`.
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, InvalidArguments> {
        let mut words = Vec::new();
        for (key, value) in object.iter().filter(|(key, _)| *key != POSITIONAL) {
            if !is_option_name(key) {
                return Err(InvalidArguments::Key(key.chars().take(64).collect()));
            }
            match scalar_word(value)? {
                None => {}
                Some(value) if value.starts_with('-') => words.push(format!("--{key}={value}")),
                Some(value) => words.extend([format!("--{key}"), value]),
            }
        }
        if let Some(values) = object.get(POSITIONAL) {
            let Value::Array(values) = values else { return Err(InvalidArguments::Positional) };
            let values = values
                .iter()
                .map(|value| scalar_word(value)?.ok_or(InvalidArguments::Positional))
                .collect::<Result<Vec<_>, _>>()?;
            if values.iter().any(|value| value.starts_with('-')) {
                words.push("--".to_owned());
            }
            words.extend(values);
        }
        let stdin = Value::Object(object.clone()).to_string().into_bytes();
        Self::bounded(words, stdin)
    }

    /// Takes words as a user typed them, options included, and bytes for standard input.
    pub fn from_words(words: Vec<String>, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
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

    /// The words that follow the script's path on its command line.
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

/// A scalar as a word; `None` for null, arrays and objects.
fn scalar_word(value: &Value) -> Result<Option<String>, InvalidArguments> {
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

    fn from_object(value: &Value) -> Result<ScriptArguments, InvalidArguments> {
        ScriptArguments::from_object(value.as_object().unwrap())
    }

    #[test]
    fn scalars_become_options_and_the_whole_object_is_on_standard_input() {
        let object = json!({ "amount": 100, "dry-run": true, "note": "a b", "deep": { "x": [1] },
                             "none": null, "_": ["file", 2] });
        let arguments = from_object(&object).unwrap();
        let words = ["--amount", "100", "--dry-run", "true", "--note", "a b", "file", "2"];
        assert_eq!(arguments.words(), words);
        assert_eq!(serde_json::from_slice::<Value>(arguments.stdin()).unwrap(), object);
    }

    #[test]
    fn no_value_can_turn_into_an_option() {
        let object = json!({ "name": "--delete-everything", "n": -5, "_": ["-rf", "x"] });
        let words = ["--name=--delete-everything", "--n=-5", "--", "-rf", "x"];
        assert_eq!(from_object(&object).unwrap().words(), words);
    }

    #[test]
    fn keys_that_are_not_option_names_are_refused() {
        for key in ["", "-", "-x", "A", "a b", "a=b", "ä", "a_b", "__proto__"] {
            let refused = from_object(&json!({ key: 1 })).unwrap_err();
            assert_eq!(refused, InvalidArguments::Key(key.to_owned()), "{key}");
        }
    }

    #[test]
    fn positional_values_are_a_list_of_scalars() {
        for value in [json!("x"), json!({ "a": 1 }), json!([[1]]), json!([null])] {
            let refused = from_object(&json!({ "_": value })).unwrap_err();
            assert_eq!(refused, InvalidArguments::Positional);
        }
    }

    #[test]
    fn words_and_standard_input_are_bounded_and_words_hold_no_nul() {
        assert_eq!(from_object(&json!({ "a": "x\0y" })).unwrap_err(), InvalidArguments::Nul);
        assert_eq!(from_object(&json!({ "_": ["\0"] })).unwrap_err(), InvalidArguments::Nul);
        let many = vec!["x"; MAX_WORDS + 1];
        assert_eq!(from_object(&json!({ "_": many })).unwrap_err(), InvalidArguments::TooMany);
        let long = json!({ "a": "x".repeat(MAX_BYTES + 1) });
        assert_eq!(from_object(&long).unwrap_err(), InvalidArguments::TooMany);
        let typed = |words: &[&str], stdin: usize| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            ScriptArguments::from_words(words, vec![0; stdin])
        };
        assert_eq!(typed(&["-x\0"], 0).unwrap_err(), InvalidArguments::Nul);
        assert_eq!(typed(&[], MAX_BYTES + 1).unwrap_err(), InvalidArguments::TooMany);
        assert_eq!(typed(&["-x"], MAX_BYTES).unwrap().words(), ["-x"]);
    }
}
