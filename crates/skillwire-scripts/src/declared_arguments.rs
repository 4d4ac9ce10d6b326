//! Arguments that a skill declares for its scripts, as JSON Schema.
//!
//! The frontmatter of `SKILL.md` names a JSON file of the skill in `metadata.skillwire-scripts`. The
//! file has one entry for each script: a schema for its arguments, and which of them are
//! positional. Arguments that do not fit are refused before the script starts.

mod schema;

use serde::Deserialize;
use serde_json::{Map, Value};
use skillwire_core::RelPath;
use skillwire_sandbox::{InvalidArguments, JobFile, ScriptArguments};

use self::schema::Schema;

/// The key of `metadata` whose value is the path of the declarations.
pub(crate) const METADATA_KEY: &str = "skillwire-scripts";

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
        if file.bytes.len() > MAX_BYTES {
            return Err(unusable("it is too large"));
        }
        let mut scripts: Map<String, Value> =
            serde_json::from_slice(&file.bytes).map_err(|error| unusable(&error.to_string()))?;
        let Some(declared) = scripts.remove(script.as_str()) else { return Ok(None) };
        serde_json::from_value(declared).map(Some).map_err(|error| unusable(&error.to_string()))
    }

    /// Checks arguments, and turns them into words. All of them are on standard input, too.
    pub(crate) fn apply(
        &self,
        arguments: Option<&Value>,
    ) -> Result<ScriptArguments, DeclarationError> {
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

    fn declared() -> DeclaredArguments {
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
            (json!(["check"]), "`arguments` is not an object"),
        ] {
            let refused = declared().apply(Some(&sent)).unwrap_err().to_string();
            assert!(refused.contains(said), "{sent}: {refused}");
        }
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
