//! What a caller passes to a script: command-line words and standard input.

use serde_json::{Map, Value};

/// The key whose values become positional words.
const POSITIONAL: &str = "_";

/// The key whose values become the first words, such as the name of a subcommand.
const COMMAND: &str = "_command";

/// The most words that a script is given.
const MAX_WORDS: usize = 256;

/// The most bytes of words, and of standard input.
const MAX_BYTES: usize = 1024 * 1024;

/// The most bytes of one word. The kernel refuses longer ones.
const MAX_WORD: usize = 128 * 1024 - 1;

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
        "the arguments have the key `{}`, and a key is made of letters, digits, `-` and `_` and begins with a letter or digit",
        .0.escape_debug()
    )]
    Key(String),
    /// The first words are not text, or one of them begins with `-`.
    #[error("the arguments hold something else than words in `_command`; none may begin with `-`")]
    Command,
    /// A word is longer than the kernel allows.
    #[error(
        "the arguments hold a word of more than {MAX_WORD} bytes; give the script a file instead"
    )]
    LongWord,
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
    /// The whole object arrives as JSON on standard input. Of its keys,
    ///
    /// - `_command`, a word or an array of words, becomes the first words: a subcommand;
    /// - any other key becomes an option: `--key value`, or `-k value` if it is one letter. `true` is
    ///   a switch without a value, `false` and `null` leave it out, and an array repeats it for each
    ///   of its values;
    /// - `_`, an array, becomes positional words.
    ///
    /// Nested values are on standard input alone. A client chooses the values, so none of them may
    /// become an option of its own: a value that begins with `-` is written `--key=value`, and
    /// positional words come after `--` if one begins with `-`.
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, InvalidArguments> {
        let mut words = command_words(object.get(COMMAND))?;
        for (key, value) in object {
            if key == POSITIONAL || key == COMMAND {
                continue;
            }
            if !is_option_name(key) {
                return Err(InvalidArguments::Key(key.chars().take(64).collect()));
            }
            let single = std::slice::from_ref(value);
            let values = value.as_array().map_or(single, Vec::as_slice);
            // An array with anything nested in it is data, and no option that is repeated.
            if values.iter().all(|value| !value.is_array() && !value.is_object()) {
                for value in values {
                    push_option(&mut words, key, value)?;
                }
            }
        }
        if let Some(values) = object.get(POSITIONAL) {
            let Value::Array(values) = values else { return Err(InvalidArguments::Positional) };
            let values = scalar_words(values)?;
            if values.iter().any(|value| value.starts_with('-')) {
                words.push("--".to_owned());
            }
            words.extend(values);
        }
        let stdin = Value::Object(object.clone()).to_string().into_bytes();
        Self::bounded(words, stdin)
    }

    /// Takes words as a client wrote them, options included. Standard input is empty.
    pub fn from_array(values: &[Value]) -> Result<Self, InvalidArguments> {
        Self::from_words(scalar_words(values)?, Vec::new())
    }

    /// Takes words as a user typed them, options included, and bytes for standard input.
    pub fn from_words(words: Vec<String>, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
        if words.iter().any(|word| word.contains('\0')) {
            return Err(InvalidArguments::Nul);
        }
        Self::bounded(words, stdin)
    }

    /// Replaces what the script reads from standard input.
    pub fn with_stdin(self, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
        Self::bounded(self.words, stdin)
    }

    fn bounded(words: Vec<String>, stdin: Vec<u8>) -> Result<Self, InvalidArguments> {
        if words.iter().any(|word| word.len() > MAX_WORD) {
            return Err(InvalidArguments::LongWord);
        }
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
    key.starts_with(|c: char| c.is_ascii_alphanumeric())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn command_words(value: Option<&Value>) -> Result<Vec<String>, InvalidArguments> {
    let values = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
    };
    let words = values.iter().map(|value| {
        let word = value.as_str().filter(|word| !word.is_empty() && !word.starts_with('-'));
        word.filter(|word| !word.contains('\0')).map(str::to_owned).ok_or(InvalidArguments::Command)
    });
    words.collect()
}

/// Adds an option with one value, or a switch.
fn push_option(words: &mut Vec<String>, key: &str, value: &Value) -> Result<(), InvalidArguments> {
    let is_short = key.len() == 1;
    let option = if is_short { format!("-{key}") } else { format!("--{key}") };
    match value {
        Value::Bool(true) => words.push(option),
        Value::Bool(false) | Value::Null => {}
        value => match scalar_word(value)? {
            None => {}
            Some(value) if value.starts_with('-') && is_short => words.push(option + &value),
            Some(value) if value.starts_with('-') => words.push(format!("{option}={value}")),
            Some(value) => words.extend([option, value]),
        },
    }
    Ok(())
}

fn scalar_words(values: &[Value]) -> Result<Vec<String>, InvalidArguments> {
    values.iter().map(|value| scalar_word(value)?.ok_or(InvalidArguments::Positional)).collect()
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
        let words = ["--amount", "100", "--dry-run", "--note", "a b", "file", "2"];
        assert_eq!(arguments.words(), words);
        assert_eq!(serde_json::from_slice::<Value>(arguments.stdin()).unwrap(), object);
    }

    #[test]
    fn false_leaves_a_switch_out_and_true_gives_it_no_value_b_10() {
        let object = json!({ "verbose": false, "force": true, "n": true, "none": null });
        assert_eq!(from_object(&object).unwrap().words(), ["--force", "-n"]);
    }

    #[test]
    fn short_and_repeated_options_and_subcommands_are_words_too() {
        let object = json!({ "_command": "check", "color": ["red", "blue"], "o": "x.png", "n": -5,
                             "max_depth": 3, "K": 1, "rows": [[1], [2]], "_": ["a"] });
        let words = [
            "check",
            "--color",
            "red",
            "--color",
            "blue",
            "-o",
            "x.png",
            "-n-5",
            "--max_depth",
            "3",
            "-K",
            "1",
            "a",
        ];
        assert_eq!(from_object(&object).unwrap().words(), words);
        let two = from_object(&json!({ "_command": ["remote", "add"] })).unwrap();
        assert_eq!(two.words(), ["remote", "add"]);
        for command in [json!("--help"), json!(["a", "-x"]), json!(1), json!(""), json!("a\0")] {
            let refused = from_object(&json!({ "_command": command })).unwrap_err();
            assert_eq!(refused, InvalidArguments::Command, "{command}");
        }
    }

    #[test]
    fn an_array_is_words_as_they_are() {
        let words = json!(["check", "--background", "#fff", 3, "-x", true]);
        let arguments = ScriptArguments::from_array(words.as_array().unwrap()).unwrap();
        assert_eq!(arguments.words(), ["check", "--background", "#fff", "3", "-x", "true"]);
        assert_eq!(arguments.stdin(), b"");
        for bad in [json!([["a"]]), json!([null]), json!([{}])] {
            let refused = ScriptArguments::from_array(bad.as_array().unwrap()).unwrap_err();
            assert_eq!(refused, InvalidArguments::Positional);
        }
    }

    #[test]
    fn no_value_can_turn_into_an_option() {
        let object = json!({ "name": "--delete-everything", "n": "-x", "_": ["-rf", "x"] });
        let words = ["--name=--delete-everything", "-n-x", "--", "-rf", "x"];
        assert_eq!(from_object(&object).unwrap().words(), words);
    }

    #[test]
    fn keys_that_are_not_option_names_are_refused() {
        for key in ["", "-", "-x", "a b", "a=b", "ä", "_x", "__proto__"] {
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
        let long = json!({ "a": "x".repeat(MAX_WORD + 1) });
        assert_eq!(from_object(&long).unwrap_err(), InvalidArguments::LongWord);
        let long = json!({ "_": vec!["x".repeat(MAX_WORD); 9] });
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
