//! The tools that clients see. Every word here is part of every conversation, so there are few.

use std::sync::Arc;

use serde_json::{Value, json};
use skillwire_engine::offer::Items;

use super::running;

/// The most characters of a tool's description; some model interfaces refuse longer ones.
pub(crate) const MAX_DESCRIPTION: usize = 1_024;

/// What `load_skill` does, before the catalogue.
pub(crate) const LOAD: &str = "Loads a skill: instructions for one kind of task. Load the fitting \
                               one before you begin.";

/// What is offered only where there is a use for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedTools {
    /// Whether there are servers with resources to read.
    pub(crate) resources: bool,
    /// Whether some skills take arguments.
    pub(crate) skill_arguments: bool,
    /// Whether a skill may have scripts that can run, here or on a server.
    pub(crate) scripts: bool,
}

/// The tools, with this text at the end of the description of `load_skill`.
///
/// No tool but `run_skill_script` changes anything, none reaches beyond what the user configured, and
/// the hints say so: without them, headless clients refuse to call a tool. A headless client may refuse
/// to run scripts, which is right: nothing asks the user there. Names are open strings: some clients
/// check calls against the schema they read first, and would refuse skills that appear later.
pub(crate) fn tools(catalogue: &str, offered: OfferedTools) -> Arc<Items> {
    let load = if catalogue.is_empty() { LOAD.to_owned() } else { format!("{LOAD} {catalogue}") };
    let text = || json!({ "type": "string" });
    let about = |description: &str| json!({ "type": "string", "description": description });
    let number = || json!({ "type": "integer" });
    let mut loaded = json!({ "name": about("Handle of a skill") });
    if offered.skill_arguments {
        loaded["arguments"] = skillwire_host::tools::skill_arguments();
    }
    let mut tools = vec![
        tool(
            "list_skills",
            "List skills",
            "Finds skills by words, or lists all.",
            &json!({
                "query": text(),
                "server": about("Only this origin"),
                "loaded": { "type": "boolean" },
            }),
            &[],
        ),
        tool("load_skill", "Load a skill", &load, &loaded, &["name"]),
        tool(
            "read_skill_file",
            "Read a file of a skill",
            "Reads a file of a skill; `offset`, `limit`: characters.",
            &json!({
                "name": about("Handle"), "path": text(), "offset": number(), "limit": number(),
            }),
            &["name", "path"],
        ),
        tool(
            "list_skill_files",
            "List files of a skill",
            "Lists files of a skill.",
            &json!({ "name": text(), "path": text() }),
            &["name"],
        ),
        tool(
            "unload_skill",
            "Unload a skill",
            "Ends the use of a skill.",
            &json!({ "name": text() }),
            &["name"],
        ),
    ];
    if offered.resources {
        tools.push(tool(
            "read_resource",
            "Read a resource",
            "Reads a resource of a server.",
            &json!({ "server": text(), "uri": text() }),
            &["server", "uri"],
        ));
    }
    if offered.scripts {
        let words = || json!({ "type": "array", "items": { "type": "string" } });
        let mut run = tool(
            running::NAME,
            "Run a script of a skill",
            "Runs a script of a skill in isolation, after the user agreed; it sees copies of the files \
             in `inputs`. Without `script`, lists scripts.",
            &json!({
                "name": text(),
                "script": text(),
                "args": words(),
                "inputs": words(),
                "network": json!({
                    "type": "array", "items": { "type": "string" }, "description": "HOST:PORT",
                }),
                "env": words(),
            }),
            &["name"],
        );
        run["annotations"]["readOnlyHint"] = false.into();
        tools.push(run);
    }
    Items::of(tools)
}

fn tool(
    name: &str,
    title: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    json!({
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "title": title,
            "readOnlyHint": true,
            "destructiveHint": false,
            "openWorldHint": false,
        },
    })
}
