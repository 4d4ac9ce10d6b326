//! The tools and prompts of skilljack (D8): `skill`, `skill-resource`, and a prompt for each skill.

use std::sync::{Arc, Weak};

use futures_util::{FutureExt, future::BoxFuture};
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use skillwire_catalog::ViewId;
use skillwire_core::RelPath;
use skillwire_dialects::{
    SkillCard,
    sep_2076::{ArgumentValues, InvalidArguments},
    skilljack::{self, AvailableSkill, AvailableSkills, MAX_NAMED, SKILL, file_uri},
};
use skillwire_protocol::{Era, RpcError};
use skillwire_source::Skill;

use super::{skills_page::push_content, templates};
use crate::engine::{EngineState, OwnedCall, media_type};
use crate::{
    caller::Caller,
    offer::{Interrupt, Invocation, Items, Offer, PromptReply, ToolReply, Typing},
};

/// The most bytes that one call returns.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most values of one completion.
const MAX_VALUES: usize = 100;

/// The most views whose lists are cached.
const REMEMBERED: usize = 8;

/// The tools and the prompts for one snapshot.
type ToolsAndPrompts = (Arc<Items>, Arc<Items>);

/// Skills as tools and prompts.
#[derive(Debug)]
pub(crate) struct SkilljackOffer {
    /// The state of the engine, which contains this offer.
    state: Weak<EngineState>,
    lists: Cache<(u64, ViewId), ToolsAndPrompts>,
}

impl SkilljackOffer {
    /// Offers the skills of an engine.
    pub(crate) fn new(state: Weak<EngineState>) -> Self {
        Self { state, lists: Cache::new(REMEMBERED) }
    }

    /// Creates a request of a caller, if the engine still exists and has skills.
    fn call_of(&self, caller: &Caller) -> Option<OwnedCall> {
        let state = self.state.upgrade()?;
        let snapshot = state.catalog.now(caller.view)?;
        let style = state.style(caller, Era::Legacy);
        Some(OwnedCall { state, snapshot, caller: caller.clone(), style })
    }

    fn lists(&self, caller: &Caller) -> ToolsAndPrompts {
        let Some(call) = self.call_of(caller) else { return ToolsAndPrompts::default() };
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
            let (call, arguments) = (call?, &invocation.arguments);
            if invocation.name == SKILL {
                let name = text(arguments, "name").unwrap_or(SKILL);
                return Ok(prompt(&call, name, None).await?);
            }
            let texts = arguments.iter();
            let texts = texts.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            let values = texts
                .collect::<Option<ArgumentValues>>()
                .ok_or_else(|| RpcError::invalid_params(InvalidArguments::Malformed.to_string()))?;
            Ok(prompt(&call, &invocation.name, Some(&values)).await?)
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
    Items::of(skilljack::tools(&describe(call)))
}

/// Describes the tool that loads skills, and names the skills.
fn describe(call: &OwnedCall) -> String {
    let names = call.names_now();
    let mut available = AvailableSkills::new();
    let known = call.snapshot.listed();
    let known = known.filter_map(|skill| Some((names.of_skill(&call.snapshot, skill)?, skill)));
    for (name, skill) in known.take(MAX_NAMED) {
        let description = &skill.description();
        available.push(AvailableSkill { name, description, uri: skill.uri.as_str() });
    }
    available.finish(call.snapshot.listed_count().saturating_sub(MAX_NAMED))
}

fn prompts(call: &OwnedCall) -> Arc<Items> {
    let names = call.names_now();
    let each = call.snapshot.listed().filter_map(|skill| {
        let name = names.of_skill(&call.snapshot, skill)?;
        let mut prompt = json!({ "name": name, "description": skill.description() });
        let arguments = SkillCard::of_entry(&skill.entry.text()).arguments();
        if !arguments.is_empty() {
            prompt["arguments"] = json!(arguments);
        }
        Some(prompt)
    });
    Items::of(std::iter::once(skilljack::prompt()).chain(each))
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// The result of a tool, or a message for the model instead.
type ToolAttempt<T> = Result<Result<T, String>, RpcError>;

async fn find(call: &OwnedCall, name: Option<&str>) -> ToolAttempt<Arc<Skill>> {
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

async fn load(call: &OwnedCall, arguments: &Map<String, Value>) -> ToolAttempt<ToolReply> {
    let skill = match find(call, text(arguments, "name")).await? {
        Ok(skill) => skill,
        Err(message) => return Ok(Err(message)),
    };
    let bytes = call.bytes(&skill, &RelPath::skill_file()).await?;
    let bytes = bytes.ok_or_else(RpcError::internal)?;
    Ok(Ok(ToolReply::text(String::from_utf8_lossy(&bytes))))
}

/// Returns one file, all files below a directory, or the list of files.
async fn files(call: &OwnedCall, arguments: &Map<String, Value>) -> ToolAttempt<ToolReply> {
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
        let uri = file_uri(&skilljack::uri(name.unwrap_or_default()), path);
        reply = reply.with(block(&uri, media_type(&skill, path, &bytes), &bytes));
    }
    Ok(if reply.content.is_empty() {
        Err("The skill has no such file; an empty `path` lists its files.".to_owned())
    } else {
        Ok(reply)
    })
}

/// Creates a block of content from a file.
fn block(uri: &str, media_type: &str, bytes: &[u8]) -> Value {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return json!({ "type": "text", "text": text });
    }
    let mut resource = String::new();
    push_content(&mut resource, uri, media_type, bytes);
    let resource: Value = serde_json::from_str(&resource).unwrap_or_default();
    json!({ "type": "resource", "resource": resource })
}

/// Returns a skill as a prompt, with the values of its arguments if the prompt can take them.
async fn prompt(
    call: &OwnedCall,
    name: &str,
    values: Option<&ArgumentValues>,
) -> Result<PromptReply, RpcError> {
    let skill = match find(call, Some(name)).await? {
        Ok(skill) => skill,
        Err(message) => return Err(RpcError::invalid_params(message)),
    };
    let card = SkillCard::of_entry(&skill.entry.text());
    let text = match values {
        // Some clients send words with every prompt; they are for no skill that declares none.
        Some(values) if !card.arguments().is_empty() => {
            call.skill_file_for(&skill, &card, values).await?
        }
        _ => {
            let bytes = call.bytes(&skill, &RelPath::skill_file()).await?;
            String::from_utf8_lossy(&bytes.ok_or_else(RpcError::internal)?).into_owned()
        }
    };
    let message = skilljack::prompt_message(name, &text);
    let messages = vec![message];
    Ok(PromptReply { description: Some(skill.description()), messages, ..PromptReply::default() })
}
