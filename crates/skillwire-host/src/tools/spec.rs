//! The schemas of the tools.

use serde::Serialize;
use serde_json::{Value, json};

/// One tool, in the shape that model interfaces share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub description: String,
    /// The JSON schema of its arguments.
    #[serde(rename = "inputSchema")]
    pub input_schema: Value,
}

/// Returns the schema of the arguments that `load_skill` passes on to the server of a skill.
///
/// Few skills take arguments, so the schema has it only where some do.
pub fn skill_arguments() -> Value {
    json!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "description": "Values for the arguments that the skill names.",
    })
}

/// Returns every tool.
///
/// Names of skills are open strings: some clients check arguments against the schema they read
/// first, and would refuse a skill that appeared later. A wrong name is answered with a refusal that
/// the model can read.
pub fn all() -> Vec<ToolSpec> {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let window = || text("The window that `load_skill` returned.");
    let name = text("The handle of a skill as `list_skills` gives it, or `label:URI`.");
    vec![
        ToolSpec::new(
            "list_skills",
            "Lists the skills there are, with where each comes from.",
            &json!({
                "query": text("Words to look for in handles and descriptions."),
                "server": text("The label of one origin."),
            }),
            &[],
        ),
        ToolSpec::new(
            "load_skill",
            "Loads a skill's instructions. The user may be asked first.",
            &json!({ "name": name }),
            &["name"],
        ),
        ToolSpec::new(
            "read_skill_file",
            "Reads a file of a loaded skill, or a part of it.",
            &json!({
                "window": window(),
                "path": text("The path below the skill's root."),
                "offset": number("The first character to show."),
                "limit": number("The most characters to show."),
            }),
            &["window", "path"],
        ),
        ToolSpec::new(
            "list_skill_files",
            "Lists files of a loaded skill.",
            &json!({ "window": window(), "path": text("A directory; the skill's root if absent.") }),
            &["window"],
        ),
        ToolSpec::new(
            "unload_skill",
            "Ends the use of a loaded skill.",
            &json!({ "window": window() }),
            &["window"],
        ),
        ToolSpec::new(
            "read_resource",
            "Reads an ordinary resource of a server. This never loads a skill.",
            &json!({ "server": text("The label of the server."), "uri": text("The resource.") }),
            &["server", "uri"],
        ),
    ]
}

impl ToolSpec {
    fn new(name: &'static str, description: &str, properties: &Value, required: &[&str]) -> Self {
        let input_schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        Self { name, description: description.to_owned(), input_schema }
    }
}
