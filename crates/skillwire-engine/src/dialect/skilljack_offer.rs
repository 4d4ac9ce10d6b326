//! The tools and prompts that skilljack had: `skill`, `skill-resource`, and a prompt for each skill.

use std::{
    fmt::Write as _,
    sync::{Arc, Weak},
};

use futures_util::{FutureExt, future::BoxFuture};
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use skillwire_catalog::catalog::ViewId;
use skillwire_core::path::RelPath;
use skillwire_protocol::{error::RpcError, version::Era};
use skillwire_source::Skill;

use super::{
    skilljack::{self, below},
    skills_over_mcp::xml,
    templates,
};
use crate::engine::{EngineState, OwnedCall, media_type};
use crate::{
    caller::Caller,
    offer::{Interrupt, Invocation, Items, Offer, PromptReply, ToolReply, Typing},
};

/// The tool that loads a skill, and the prompt that does.
const SKILL: &str = "skill";

/// The tool that reads files of a skill.
const SKILL_RESOURCE: &str = "skill-resource";

/// The most skills that a tool's description names.
const MAX_NAMED: usize = 500;

/// The most bytes that one call returns.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most values that complete what is typed.
const MAX_VALUES: usize = 100;

/// Lists for a few views are kept.
const REMEMBERED: usize = 8;

/// The tools and the prompts of one state of the catalogue.
type Lists = (Arc<Items>, Arc<Items>);

/// Skills as tools and prompts.
#[derive(Debug)]
pub(crate) struct SkilljackOffer {
    /// The engine this is a part of.
    state: Weak<EngineState>,
    lists: Cache<(u64, ViewId), Lists>,
}

impl SkilljackOffer {
    /// Offers the skills of an engine.
    pub(crate) fn new(state: Weak<EngineState>) -> Self {
        Self { state, lists: Cache::new(REMEMBERED) }
    }

    /// A request of a caller, as long as the engine is there and has skills.
    fn call_of(&self, caller: &Caller) -> Option<OwnedCall> {
        let state = self.state.upgrade()?;
        let snapshot = state.catalog.now(caller.view)?;
        let style = state.style(caller, Era::Legacy);
        Some(OwnedCall { state, snapshot, caller: caller.clone(), style })
    }

    fn lists(&self, caller: &Caller) -> Lists {
        let Some(call) = self.call_of(caller) else { return Lists::default() };
        let key = (call.snapshot.generation(), call.caller.view);
        self.lists.get(&key).unwrap_or_else(|| {
            let lists = (tools(&call), prompts(&call));
            self.lists.insert(key, lists.clone());
            lists
        })
    }

    fn invoked(&self, invocation: &Invocation) -> Result<OwnedCall, RpcError> {
        self.call_of(invocation.client.caller()).ok_or_else(RpcError::internal)
    }
}

impl Offer for SkilljackOffer {
    fn tools(&self, caller: &Caller) -> Arc<Items> {
        self.lists(caller).0
    }

    fn prompts(&self, caller: &Caller) -> Arc<Items> {
        self.lists(caller).1
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let call = self.invoked(&invocation);
        async move {
            let (call, arguments) = (call?, &invocation.arguments);
            let reply = if invocation.name == SKILL {
                load(&call, arguments).await?
            } else {
                files(&call, arguments).await?
            };
            Ok(reply.unwrap_or_else(ToolReply::error))
        }
        .boxed()
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        let call = self.invoked(&invocation);
        async move {
            let given = text(&invocation.arguments, "name");
            let name = given.filter(|_| invocation.name == SKILL).unwrap_or(&invocation.name);
            Ok(prompt(&call?, name).await?)
        }
        .boxed()
    }

    fn complete(&self, caller: &Caller, typing: &Typing<'_>) -> Vec<String> {
        if typing.prompt != SKILL || typing.argument != "name" {
            return Vec::new();
        }
        let Some(call) = self.call_of(caller) else { return Vec::new() };
        templates::names(&call, &call.names_now(), typing.typed, false, MAX_VALUES)
    }
}

fn tools(call: &OwnedCall) -> Arc<Items> {
    let text = json!({ "type": "string" });
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    Items::of([
        json!({
            "name": SKILL,
            "description": describe(call),
            "inputSchema": object(json!({ "name": text }), json!(["name"])),
            "annotations": { "readOnlyHint": true },
        }),
        json!({
            "name": SKILL_RESOURCE,
            "description": "Reads one file of a skill, or all files below a directory of it. \
                            An empty path lists the files.",
            "inputSchema": object(json!({ "skill": text, "path": text }), json!(["skill", "path"])),
            "annotations": { "readOnlyHint": true },
        }),
    ])
}

/// The description of the tool that loads skills, with the skills there are.
fn describe(call: &OwnedCall) -> String {
    let names = call.names_now();
    let mut text = String::from(
        "Loads the instructions of a skill. Call it before doing the task a skill describes.\n\
         <available_skills>\n",
    );
    let known = call.snapshot.listed();
    let known = known.filter_map(|skill| Some((names.of_skill(&call.snapshot, skill)?, skill)));
    for (name, skill) in known.take(MAX_NAMED) {
        let _ = write!(
            text,
            "<skill>\n<name>{name}</name>\n<description>{}</description>\n\
             <location>{}</location>\n</skill>\n",
            xml(&skill.description()),
            xml(skill.uri.as_str()),
        );
    }
    text.push_str("</available_skills>");
    let more = call.snapshot.listed_count().saturating_sub(MAX_NAMED);
    if more > 0 {
        let _ = write!(text, "\nand {more} more.");
    }
    text
}

fn prompts(call: &OwnedCall) -> Arc<Items> {
    let names = call.names_now();
    let any = json!({
        "name": SKILL,
        "description": "Loads a skill by its name.",
        "arguments": [{ "name": "name", "description": "The skill.", "required": true }],
    });
    let each = call.snapshot.listed().filter_map(|skill| {
        let name = names.of_skill(&call.snapshot, skill)?;
        Some(json!({ "name": name, "description": skill.description() }))
    });
    Items::of(std::iter::once(any).chain(each))
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// What a tool comes to, or what to tell the model instead.
type Tried<T> = Result<Result<T, String>, RpcError>;

async fn find(call: &OwnedCall, name: Option<&str>) -> Tried<Arc<Skill>> {
    let names = call.names().await?;
    if let Some(Ok(skill)) = match name {
        Some(name) => Some(call.named(name).await?),
        None => None,
    } {
        return Ok(Ok(skill));
    }
    let all = call.snapshot.listed();
    let known: Vec<_> =
        all.filter_map(|skill| names.of_skill(&call.snapshot, skill)).take(MAX_NAMED).collect();
    Ok(Err(format!("There is no skill of that name. The skills are: {}.", known.join(", "))))
}

async fn load(call: &OwnedCall, arguments: &Map<String, Value>) -> Tried<ToolReply> {
    let skill = match find(call, text(arguments, "name")).await? {
        Ok(skill) => skill,
        Err(message) => return Ok(Err(message)),
    };
    let bytes = call.bytes(&skill, &RelPath::skill_file()).await?;
    let bytes = bytes.ok_or_else(RpcError::internal)?;
    Ok(Ok(ToolReply::text(String::from_utf8_lossy(&bytes))))
}

/// One file, all files below a directory, or the list of files.
async fn files(call: &OwnedCall, arguments: &Map<String, Value>) -> Tried<ToolReply> {
    let name = text(arguments, "skill");
    let skill = match find(call, name).await? {
        Ok(skill) => skill,
        Err(message) => return Ok(Err(message)),
    };
    let asked = text(arguments, "path").unwrap_or_default().trim_end_matches('/');
    let paths = call.paths(&skill).await?;
    if asked.is_empty() {
        let list: Vec<_> = paths.iter().map(RelPath::as_str).collect();
        return Ok(Ok(ToolReply::text(list.join("\n"))));
    }
    let prefix = format!("{asked}/");
    let wanted =
        paths.iter().filter(|path| path.as_str() == asked || path.as_str().starts_with(&prefix));
    let (mut reply, mut total) = (ToolReply::default(), 0);
    for path in wanted {
        let Some(bytes) = call.bytes(&skill, path).await? else { continue };
        total += bytes.len();
        if total > MAX_REPLY_BYTES {
            return Ok(Err("The files are too large for one call; ask for fewer.".to_owned()));
        }
        let uri = below(&skilljack::uri(name.unwrap_or_default()), path);
        reply = reply.with(block(&uri, media_type(&skill, path, &bytes), &bytes));
    }
    Ok(if reply.content.is_empty() {
        Err("The skill has no such file; an empty `path` lists its files.".to_owned())
    } else {
        Ok(reply)
    })
}

/// A file as a block of content.
fn block(uri: &str, media_type: &str, bytes: &[u8]) -> Value {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return json!({ "type": "text", "text": text });
    }
    let mut resource = String::new();
    super::skills_page::push_content(&mut resource, uri, media_type, bytes);
    let resource: Value = serde_json::from_str(&resource).unwrap_or_default();
    json!({ "type": "resource", "resource": resource })
}

async fn prompt(call: &OwnedCall, name: &str) -> Result<PromptReply, RpcError> {
    let skill = match find(call, Some(name)).await? {
        Ok(skill) => skill,
        Err(message) => return Err(RpcError::invalid_params(message)),
    };
    let bytes = call.bytes(&skill, &RelPath::skill_file()).await?;
    let bytes = bytes.ok_or_else(RpcError::internal)?;
    let content = json!({
        "type": "resource",
        "resource": {
            "uri": skilljack::uri(name),
            "mimeType": "text/markdown",
            "text": String::from_utf8_lossy(&bytes),
        },
        "annotations": { "audience": ["assistant"], "priority": 1.0 },
    });
    Ok(PromptReply {
        description: Some(skill.description()),
        messages: vec![json!({ "role": "user", "content": content })],
    })
}
