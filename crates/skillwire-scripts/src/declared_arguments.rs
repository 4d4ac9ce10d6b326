//! Arguments that a skill declares for its scripts, as JSON Schema.
//!
//! The frontmatter of `SKILL.md` names a JSON file of the skill in `metadata.skillwire-scripts`. The
//! file has one entry for each script: a schema for its arguments, and which of them are
//! positional. Arguments that do not fit are refused before the script starts, whether they come as
//! an object or as words.

mod schema;
mod words;

use serde::Deserialize;
use serde_json::{Map, Value};
use skillwire_core::{RelPath, visible::one_line};
use skillwire_sandbox::{InvalidArguments, JobFile, ScriptArguments};

use self::schema::Schema;

/// The most arguments of one script that are described.
const MAX_DESCRIBED: usize = 32;

/// The largest file of declarations.
const MAX_BYTES: usize = 256 * 1024;

/// Why arguments cannot be taken as a skill declares them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// The skill's own declaration cannot be used.
    #[error("the skill declares arguments in `{file}`, which cannot be used: {why}")]
    Declaration {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The arguments do not fit the schema.
    #[error("the arguments do not fit what the skill declares: {0}")]
    Arguments(String),
    /// The arguments fit, and cannot be passed.
    #[error(transparent)]
    Words(#[from] InvalidArguments),
}

/// Checks words for a script against what the skill declares in the file at `declarations`, if it names
/// one.
pub fn check_declared_words(
    declarations: Option<&str>,
    files: &[JobFile],
    script: &RelPath,
    words: &[String],
) -> Result<(), DeclarationError> {
    let Some(path) = declarations else { return Ok(()) };
    match DeclaredArguments::read(path, files, script)? {
        Some(declared) => declared.check_words(words),
        None => Ok(()),
    }
}

/// Says on one line which arguments a file of declarations names for a script, if any.
pub fn describe_declared(declarations: &[u8], script: &RelPath) -> Option<String> {
    DeclaredArguments::parse(declarations, script).ok()?.map(|declared| declared.describe())
}

/// What a skill declares about one script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredArguments {
    #[serde(rename = "arguments")]
    schema: Schema,
    /// The argument whose value is the first word, such as a subcommand.
    command: Option<String>,
    /// The arguments that are positional words, in this order.
    #[serde(default)]
    positional: Vec<String>,
}

impl DeclaredArguments {
    /// Reads what the file at `path` declares about a script, if anything.
    pub(crate) fn read(
        path: &str,
        files: &[JobFile],
        script: &RelPath,
    ) -> Result<Option<Self>, DeclarationError> {
        let shown: String = path.chars().take(128).collect::<String>().escape_debug().to_string();
        let unusable =
            |why: &str| DeclarationError::Declaration { file: shown.clone(), why: why.to_owned() };
        let file = files.iter().find(|file| file.path.as_str() == path);
        let file = file.ok_or_else(|| unusable("the skill has no such file"))?;
        Self::parse(&file.bytes, script).map_err(|why| unusable(&why))
    }

    fn parse(declarations: &[u8], script: &RelPath) -> Result<Option<Self>, String> {
        if declarations.len() > MAX_BYTES {
            return Err("it is too large".to_owned());
        }
        let mut scripts: Map<String, Value> =
            serde_json::from_slice(declarations).map_err(|error| error.to_string())?;
        let Some(declared) = scripts.remove(script.as_str()) else { return Ok(None) };
        serde_json::from_value(declared).map(Some).map_err(|error| error.to_string())
    }

    /// Names the arguments, where each belongs on a command line, and what it has to be.
    fn describe(&self) -> String {
        let command = self.command.as_deref();
        let positional = || self.positional.iter().map(String::as_str);
        let is_option = |name: &&str| command != Some(name) && positional().all(|it| it != *name);
        let options = self.schema.property_names().filter(is_option);
        let all = command.into_iter().chain(positional()).chain(options).take(MAX_DESCRIBED);
        let described = all.map(|name| {
            let schema = self.schema.property(name);
            let kind = schema.map_or_else(|| "any value".to_owned(), Schema::words);
            let place = if command == Some(name) {
                "the first word".to_owned()
            } else if positional().any(|it| it == name) {
                let several = schema.is_some_and(Schema::takes_array);
                if several { "positional words" } else { "a positional word" }.to_owned()
            } else if name.len() == 1 {
                format!("`-{name}`")
            } else {
                format!("`--{name}`")
            };
            let needed = if self.schema.requires(name) { ", required" } else { "" };
            one_line(&format!("{name} ({place}{needed}): {kind}"))
        });
        let described: Vec<_> = described.collect();
        if described.is_empty() { "none".to_owned() } else { described.join("; ") }
    }

    /// Checks arguments, and turns them into words. All of them are on standard input, too.
    pub(crate) fn apply(
        &self,
        arguments: Option<&Value>,
    ) -> Result<ScriptArguments, DeclarationError> {
        if let Some(Value::Array(values)) = arguments {
            let arguments = ScriptArguments::from_array(values)?;
            self.check_words(arguments.words())?;
            return Ok(arguments);
        }
        let none = Value::Object(Map::new());
        let arguments = arguments.filter(|value| !value.is_null()).unwrap_or(&none);
        self.schema.check(arguments, "arguments").map_err(DeclarationError::Arguments)?;
        let Value::Object(sent) = arguments else {
            return Err(DeclarationError::Arguments("`arguments` is not an object".to_owned()));
        };
        let mut words = sent.clone();
        let mut positional = Vec::new();
        for name in &self.positional {
            match words.shift_remove(name) {
                None | Some(Value::Null) => {}
                Some(Value::Array(values)) => positional.extend(values),
                Some(value) => positional.push(value),
            }
        }
        if let Some(command) = self.command.as_ref().and_then(|name| words.shift_remove(name)) {
            words.insert("_command".to_owned(), command);
        }
        if !positional.is_empty() {
            words.insert("_".to_owned(), Value::Array(positional));
        }
        let stdin = arguments.to_string().into_bytes();
        Ok(ScriptArguments::from_object(&words)?.with_stdin(stdin)?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) fn declared() -> DeclaredArguments {
        let file = json!({ "scripts/palette.py": {
            "arguments": {
                "type": "object",
                "properties": {
                    "action": { "enum": ["check", "sheet"] },
                    "colors": { "type": "array", "items": { "type": "string", "minLength": 4 },
                                "minItems": 1 },
                    "size": { "type": "integer", "minimum": 1, "maximum": 10 },
                    "quiet": { "type": "boolean" },
                },
                "required": ["action", "colors"],
                "additionalProperties": false,
            },
            "command": "action",
            "positional": ["colors"],
        } });
        let path = RelPath::parse("scripts.json").unwrap();
        let files = [JobFile { path, bytes: file.to_string().into() }];
        let script = RelPath::parse("scripts/palette.py").unwrap();
        DeclaredArguments::read("scripts.json", &files, &script).unwrap().unwrap()
    }

    #[test]
    fn declared_arguments_become_words_in_the_declared_places() {
        let sent =
            json!({ "colors": ["#fff", "#000"], "size": 3, "quiet": false, "action": "check" });
        let arguments = declared().apply(Some(&sent)).unwrap();
        assert_eq!(arguments.words(), ["check", "--size", "3", "#fff", "#000"]);
        assert_eq!(serde_json::from_slice::<Value>(arguments.stdin()).unwrap(), sent);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused_with_the_place() {
        for (sent, said) in [
            (json!({ "action": "check" }), "`arguments` lacks `colors`"),
            (json!({ "action": "x", "colors": ["#fff"] }), "`arguments.action` is not one of"),
            (json!({ "action": "check", "colors": [] }), "`arguments.colors` has fewer than 1"),
            (json!({ "action": "check", "colors": ["x"] }), "`arguments.colors[0]` is shorter"),
            (json!({ "action": "check", "colors": ["#fff"], "size": 11 }), "is more than 10"),
            (json!({ "action": "check", "colors": ["#fff"], "size": 1.5 }), "is not an integer"),
            (
                json!({ "action": "check", "colors": ["#fff"], "x": 1 }),
                "`arguments.x` is not known",
            ),
            (json!(["check"]), "`arguments` lacks `colors`"),
            (json!("check"), "`arguments` is not an object"),
        ] {
            let refused = declared().apply(Some(&sent)).unwrap_err().to_string();
            assert!(refused.contains(said), "{sent}: {refused}");
        }
    }

    #[test]
    fn a_declaration_is_described_on_one_line() {
        assert_eq!(
            declared().describe(),
            "action (the first word, required): \"check\" or \"sheet\"; colors (positional words, \
             required): an array of text; quiet (`--quiet`): true or false; size (`--size`): an \
             integer"
        );
    }

    #[test]
    fn a_declaration_that_is_not_understood_is_refused_whole() {
        let read = |text: &str| {
            let path = RelPath::parse("s.json").unwrap();
            let files = [JobFile { path, bytes: text.to_owned().into() }];
            DeclaredArguments::read("s.json", &files, &RelPath::parse("a.py").unwrap())
        };
        assert!(read("{}").unwrap().is_none());
        for bad in [
            "[]",
            r#"{ "a.py": {} }"#,
            r#"{ "a.py": { "arguments": { "pattern": "^a" } } }"#,
            r#"{ "a.py": { "arguments": { "oneOf": [] } } }"#,
            r#"{ "a.py": { "arguments": {}, "shell": "rm" } }"#,
        ] {
            assert!(matches!(read(bad), Err(DeclarationError::Declaration { .. })), "{bad}");
        }
        let script = RelPath::parse("a.py").unwrap();
        assert!(DeclaredArguments::read("none.json", &[], &script).is_err());
    }
}
