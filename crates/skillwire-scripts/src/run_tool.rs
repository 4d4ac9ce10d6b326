//! The tool `run_skill_script`, which every client can call.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_catalog::{Catalog, FoundFile, Snapshot};
use skillwire_core::RelPath;
use skillwire_engine::{
    Caller,
    offer::{Interrupt, Invocation, Items, Linked, Offer, ToolReply},
};
use skillwire_protocol::{RpcError, truncated};
use skillwire_source::{FileTree, Skill};

use crate::{
    audit::{self, AuditSubject},
    reply,
    runner::{ScriptRequest, ScriptRunner},
    script_not_run::ScriptNotRun,
    sent_inputs::{self, InputContent},
};

/// The tool's name.
const NAME: &str = "run_skill_script";

/// The most skills of one name that an error lists.
const MAX_CHOICES: usize = 10;

/// Offers to run scripts of the skills in a catalogue.
pub struct RunScriptTool {
    catalog: Arc<Catalog>,
    runner: Arc<ScriptRunner>,
    tools: Arc<Items>,
}

impl RunScriptTool {
    /// Offers scripts of the skills in this catalogue, as far as the runner's rules allow them.
    pub fn new(catalog: Arc<Catalog>, runner: Arc<ScriptRunner>) -> Self {
        let tools = Items::of([description(&runner.granted_destinations())]);
        Self { catalog, runner, tools }
    }
}

/// Describes the tool, with the destinations that the operator grants to scripts.
fn description(destinations: &[String]) -> Value {
    let network = match destinations {
        [] => "no network".to_owned(),
        few if few.len() <= MAX_CHOICES => {
            format!("no network but what the operator grants some scripts ({})", few.join(", "))
        }
        _ => "no network but what the operator grants some scripts".to_owned(),
    };
    json!({
        "name": NAME,
        "title": "Run a script of a skill",
        "description": format!(
            "Runs a script that a skill on this server ships, isolated from everything else: \
             {network}, no files but the skill's own, bounded time and memory. Returns what it wrote, \
             and links to files it left. Only scripts that the operator allows are run; without \
             `script`, the call lists them, with their arguments where the skill declares them."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "skill": {
                    "type": "string",
                    "description": "The skill's path, such as `billing/refunds`, the URI of its \
                        `SKILL.md`, or its name if no other skill has it.",
                },
                "script": {
                    "type": "string",
                    "description": "The script's path in the skill, such as `scripts/report.py`.",
                },
                "arguments": {
                    "type": ["object", "array"],
                    "description": "What the script is given. An array is its words as they are. Of an \
                        object, all arrives as JSON on standard input, and its keys become words: \
                        `_command` the first ones, such as a subcommand; `_`, an array, the \
                        positional ones; every other key an option `--key value`, or `-k value` if it \
                        is one letter. `true` is a switch, `false` leaves it out, an array repeats \
                        the option.",
                    "properties": {
                        "_": {
                            "type": "array",
                            "items": { "type": ["string", "number", "boolean"] },
                        },
                        "_command": {
                            "type": ["string", "array"],
                            "items": { "type": "string" },
                        },
                    },
                },
                "inputs": {
                    "type": "array",
                    "description": "Files for the script's working folder, each with its `name` there \
                        and its content: `text`, `blob` (Base64), or the `uri` of a file of a skill \
                        or of an earlier run on this server.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string" },
                            "text": { "type": "string" },
                            "blob": { "type": "string" },
                            "uri": { "type": "string" },
                            "resource": { "type": "object" },
                        },
                    },
                },
            },
            "required": ["skill"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": false, "destructiveHint": false,
                         "openWorldHint": !destinations.is_empty() },
    })
}

impl Offer for RunScriptTool {
    fn tools(&self, caller: &Caller) -> Arc<Items> {
        if caller.may_run { Arc::clone(&self.tools) } else { Arc::default() }
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let runner = Arc::clone(&self.runner);
        let found = self.find(&invocation);
        let catalog = Arc::clone(&self.catalog);
        async move {
            let Invocation { mut arguments, client, .. } = invocation;
            let (skill, script) = found?;
            let Some(script) = script else {
                let described = runner.described_scripts(&skill).await;
                return Ok(ToolReply::text(reply::allowed_scripts(&described)));
            };
            let caller = client.caller().name.clone();
            let inputs = arguments.remove("inputs").unwrap_or_default();
            let snapshot = catalog.now(client.caller().view);
            let inputs = sent_inputs::read(&inputs, |uri| {
                let left = runner.outputs().read(&caller, uri);
                let skill_file = || snapshot.as_ref().and_then(|now| skill_file(now, uri));
                left.map(|file| InputContent::Bytes(file.bytes)).or_else(skill_file)
            });
            let inputs = match inputs {
                Ok(inputs) => inputs,
                Err(invalid) => {
                    let reason = ScriptNotRun::from(invalid);
                    let subject = AuditSubject::without_file(&skill, script.as_str(), &caller);
                    audit::log_refused(&subject, &reason);
                    return Ok(ToolReply::error(reason.to_string()));
                }
            };
            let arguments = arguments.remove("arguments");
            let request = ScriptRequest { skill, script, arguments, inputs, caller };
            let run = runner.run(request, |run| reply::report_progress(client.progress(), run));
            match run.await {
                Ok(run) => {
                    let mut reply = ToolReply::text(run.summary());
                    reply.is_error = !run.outcome.end.is_success();
                    reply.content.extend(reply::content(&run.outcome, &run.files));
                    Ok(reply)
                }
                // A tool error rather than a protocol error, so that the model sees it and can
                // choose another script.
                Err(reason) => Ok(ToolReply::error(reason.to_string())),
            }
        }
        .boxed()
    }

    fn read(&self, caller: &Caller, uri: &str) -> Option<Linked> {
        let file = self.runner.outputs().read(&caller.name, uri)?;
        Some(Linked { bytes: file.bytes, media_type: file.media_type })
    }
}

impl RunScriptTool {
    /// Finds the skill, and reads the path of the script if the call names one.
    fn find(&self, invocation: &Invocation) -> Result<(Arc<Skill>, Option<RelPath>), RpcError> {
        let text = |key: &str| {
            let value = invocation.arguments.get(key).and_then(Value::as_str);
            value.ok_or_else(|| {
                RpcError::invalid_params(format!("`arguments.{key}` must be a string."))
            })
        };
        let skill = text("skill")?;
        let is_named = invocation.arguments.get("script").is_some_and(|value| !value.is_null());
        let script = if is_named { Some(text("script")?) } else { None };
        let known = ["skill", "script", "arguments", "inputs"];
        if let Some(other) = invocation.arguments.keys().find(|key| !known.contains(&key.as_str()))
        {
            let other = truncated(other);
            return Err(RpcError::invalid_params(format!("`arguments.{other}` is not known.")));
        }
        let view = invocation.client.caller().view;
        let snapshot = self.catalog.now(view).ok_or_else(RpcError::internal)?;
        let skill = find_skill(&snapshot, skill)?;
        let path = script.map(RelPath::parse).transpose().map_err(|error| {
            let reason = format!("The path of the script {error}.");
            let caller = &invocation.client.caller().name;
            let subject = AuditSubject::without_file(&skill, script.unwrap_or_default(), caller);
            audit::log_refused(&subject, &reason);
            RpcError::invalid_params(reason)
        })?;
        Ok((skill, path))
    }
}

/// The file of a skill that a URI names, if the caller can read it. It is not read here.
fn skill_file(snapshot: &Snapshot, uri: &str) -> Option<InputContent> {
    let FoundFile::Stored { tree, record, .. } = snapshot.file(uri)? else { return None };
    Some(InputContent::SkillFile(FileTree { files: [record.clone()].into(), ..tree.clone() }))
}

/// Finds a skill by the URI of its `SKILL.md`, by its path, or by its name if no other skill has
/// it.
fn find_skill(snapshot: &Snapshot, text: &str) -> Result<Arc<Skill>, RpcError> {
    let mut uris = snapshot.schemes().map(|scheme| format!("{scheme}://{text}/SKILL.md"));
    let exact = snapshot.skill(text).or_else(|| uris.find_map(|uri| snapshot.skill(&uri)));
    if let Some(skill) = exact {
        return Ok(Arc::clone(skill));
    }
    let named: Vec<_> = snapshot.named(text).take(MAX_CHOICES + 1).collect();
    match named.as_slice() {
        [] => Err(RpcError::invalid_params(format!("There is no skill `{}`.", truncated(text)))),
        [skill] => Ok(Arc::clone(skill)),
        several => {
            let paths = several.iter().take(MAX_CHOICES).map(|skill| format!("`{}`", skill.path()));
            let paths = paths.collect::<Vec<_>>().join(", ");
            let more = if several.len() > MAX_CHOICES { ", and others" } else { "" };
            let name = truncated(text);
            let message =
                format!("Several skills are called `{name}`: {paths}{more}. Name one by its path.");
            Err(RpcError::invalid_params(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_says_which_network_is_granted() {
        let none = description(&[]);
        assert!(none["description"].as_str().unwrap().contains("else: no network, no files but"));
        assert_eq!(none["annotations"]["openWorldHint"], false);
        let granted = description(&["api.example.com:443".to_owned()]);
        let text = granted["description"].as_str().unwrap();
        let words =
            "no network but what the operator grants some scripts (api.example.com:443), no";
        assert!(text.contains(words), "{text}");
        assert_eq!(granted["annotations"]["openWorldHint"], true);
    }
}
