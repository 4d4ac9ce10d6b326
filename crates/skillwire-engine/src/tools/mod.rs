//! Read-only tools for clients that do not know skills: `list_skills`, `load_skill` and
//! `read_skill_file`.
//!
//! A tool answers from the caller's own view, reads a file as `resources/read` does, and says where
//! the text comes from. It never claims that a user approved anything: only a host can know that.

mod arguments;
mod find;
mod text;

use std::sync::{Arc, Weak};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_core::RelPath;
use skillwire_dialects::SkillCard;
use skillwire_protocol::{Era, RpcError};
use skillwire_source::{Skill, SkillContent};

pub use self::{
    arguments::{BadArgument, ToolArguments},
    text::{ListedSkills, handle},
};
use self::{
    find::find,
    text::{FramedContent, TextExcerpt},
};
use crate::{
    caller::Caller,
    engine::{EngineState, OwnedCall, media_type, uri_of},
    offer::{Interrupt, Invocation, Items, Offer, ToolReply},
};

/// The names of these tools; a program that offers them has no others of these names.
pub const SKILL_TOOLS: [&str; 3] = [LIST, LOAD, READ];

const LIST: &str = "list_skills";
const LOAD: &str = "load_skill";
const READ: &str = "read_skill_file";

/// The most skills that one answer lists.
const MOST_LISTED: usize = 100;

/// The most directories that another server is asked for when its skill is loaded.
const MOST_DIRECTORIES: usize = 8;

/// The most files that an answer names.
const MOST_FILES: usize = 50;

/// Offers the skills of an engine as read-only tools.
#[derive(Debug)]
pub(crate) struct SkillTools {
    /// The state of the engine, which contains this offer.
    state: Weak<EngineState>,
    tools: Arc<Items>,
}

impl SkillTools {
    /// Offers the skills of an engine.
    pub(crate) fn new(state: Weak<EngineState>) -> Self {
        Self { state, tools: Items::of(describe()) }
    }

    /// Creates a request of a caller, if the engine still exists and has skills.
    fn call_of(&self, caller: &Caller, era: Era) -> Result<OwnedCall, RpcError> {
        let state = self.state.upgrade().ok_or_else(RpcError::internal)?;
        let snapshot = state.catalog.now(caller.view).ok_or_else(RpcError::internal)?;
        let style = state.style(caller, era);
        Ok(OwnedCall { state, snapshot, caller: caller.clone(), style })
    }
}

impl Offer for SkillTools {
    fn instructions(&self, _: &Caller) -> Option<String> {
        let text = "To use a skill of this server, call `load_skill` with its name; `list_skills` \
                    says what each is for.";
        Some(text.to_owned())
    }

    fn tools(&self, _: &Caller) -> Arc<Items> {
        Arc::clone(&self.tools)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let client = &invocation.client;
        let call = self.call_of(client.caller(), client.era());
        async move {
            let call = call?;
            let arguments = ToolArguments::new(&invocation.name, &invocation.arguments);
            let reply = match &*invocation.name {
                LIST => list(&call, &arguments),
                LOAD => load(&call, &arguments).await,
                _ => read(&call, &arguments).await,
            };
            Ok(reply.unwrap_or_else(|ToolFailure(reason)| ToolReply::error(reason)))
        }
        .boxed()
    }
}

/// Describes the tools. Every argument is an open string or number, so that clients that check
/// arguments themselves accept skills that appear later.
fn describe() -> [Value; 3] {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number =
        |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    let name = || text("The skill's path or name, as `list_skills` shows it.");
    [
        tool(
            (LIST, "List skills"),
            "Lists the skills of this server: for each its path and what it is for.",
            &json!({ "after": text("Continue after this path, which an earlier answer named.") }),
            &[],
        ),
        tool(
            (LOAD, "Load a skill"),
            "Returns the instructions of a skill and the names of its files. Load a skill before \
             you do the task it describes.",
            &json!({
                "name": name(),
                "arguments": {
                    "type": "object",
                    "additionalProperties": { "type": "string" },
                    "description": "Values for the arguments that the skill asks for, if any.",
                },
            }),
            &["name"],
        ),
        tool(
            (READ, "Read a file of a skill"),
            "Returns a text file of a skill, or a part of it.",
            &json!({
                "name": name(),
                "path": text("The file's path below the skill's root, such as `references/a.md`."),
                "offset": number("The first character to return."),
                "limit": number("The most characters to return."),
            }),
            &["name", "path"],
        ),
    ]
}

fn tool(
    (name, title): (&str, &str),
    description: &str,
    properties: &Value,
    required: &[&str],
) -> Value {
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": { "title": title, "readOnlyHint": true, "openWorldHint": false },
    })
}

/// The reason why a tool has no answer, in words for a model.
struct ToolFailure(String);

impl From<BadArgument> for ToolFailure {
    fn from(error: BadArgument) -> Self {
        Self(error.to_string())
    }
}

impl From<RpcError> for ToolFailure {
    fn from(error: RpcError) -> Self {
        Self(error.message)
    }
}

fn list(call: &OwnedCall, arguments: &ToolArguments<'_>) -> Result<ToolReply, ToolFailure> {
    arguments.only(&["after"])?;
    let after = arguments.optional("after")?.map(|path| find::after(&call.snapshot, path));
    let mut rest = call.snapshot.listed_after(after.as_deref());
    let mut listed = ListedSkills::new(&call.snapshot);
    rest.by_ref().take(MOST_LISTED).for_each(|skill| listed.push(skill));
    let more = rest.next().is_some();
    let count = call.snapshot.listed_count();
    Ok(ToolReply::text(listed.finish(&call.config().identity.name, count, more)))
}

async fn load(call: &OwnedCall, arguments: &ToolArguments<'_>) -> Result<ToolReply, ToolFailure> {
    arguments.only(&["name", "arguments"])?;
    let skill = find(call, arguments.required("name")?).await.map_err(ToolFailure)?;
    let path = RelPath::skill_file();
    let values = arguments.texts("arguments")?;
    let card = SkillCard::of_entry(&skill.entry.text());
    let content = call.skill_file_for(&skill, &card, &values).await?;
    let excerpt = TextExcerpt::of(&content, 0, None);
    let handle = handle(&call.snapshot, &skill);
    let mut framed = FramedContent::begin(call, &format!("Skill `{handle}`"), skill.uri.as_str());
    framed.say(&files(call, &skill).await?);
    Ok(ToolReply::text(framed.finish(&excerpt, path.as_str())))
}

async fn read(call: &OwnedCall, arguments: &ToolArguments<'_>) -> Result<ToolReply, ToolFailure> {
    arguments.only(&["name", "path", "offset", "limit"])?;
    let name = arguments.required("name")?;
    let asked = arguments.required("path")?.trim_start_matches("./");
    let (offset, limit) = (arguments.number("offset")?, arguments.number("limit")?);
    let skill = find(call, name).await.map_err(ToolFailure)?;
    let handle = handle(&call.snapshot, &skill);
    let missing = || {
        ToolFailure(format!(
            "The skill `{handle}` has no file `{}`. `load_skill` names its files.",
            skillwire_core::visible::one_line_within(asked, 200)
        ))
    };
    let path = RelPath::parse(asked).map_err(|_| missing())?;
    let bytes = call.bytes(&skill, &path).await?.ok_or_else(missing)?;
    let uri = uri_of(&skill, &path);
    let Ok(content) = std::str::from_utf8(&bytes) else {
        let kind = media_type(&skill, &path, &bytes);
        return Ok(ToolReply::text(format!(
            "`{path}` of the skill `{handle}` is not text: {} bytes of {kind}. A client that reads \
             resources gets it at {uri}.\n",
            bytes.len()
        )));
    };
    let excerpt = TextExcerpt::of(content, offset.unwrap_or(0), limit);
    let framed =
        FramedContent::begin(call, &format!("`{path}` of the skill `{handle}`"), uri.as_str());
    Ok(ToolReply::text(framed.finish(&excerpt, path.as_str())))
}

/// Names the files of a skill besides its `SKILL.md`.
async fn files(call: &OwnedCall, skill: &Arc<Skill>) -> Result<String, RpcError> {
    let is_remote = matches!(&skill.content, SkillContent::Generated(it) if it.remote().is_some());
    let paths = match call.known_paths(skill, MOST_DIRECTORIES).await {
        // The skill is there, so it is shown also if its server does not answer this question.
        Err(_) if is_remote => None,
        paths => paths?,
    };
    let Some(paths) = paths else {
        return Ok("The server does not say which other files there are.".to_owned());
    };
    let own = RelPath::skill_file();
    let others: Vec<_> = paths.iter().filter(|path| **path != own).map(RelPath::as_str).collect();
    Ok(match others.len() {
        0 if is_remote => "Its server names no other files.".to_owned(),
        0 => "It has no other files.".to_owned(),
        count if count > MOST_FILES => format!(
            "Files: {} and {} more. Read one with `read_skill_file`.",
            others[..MOST_FILES].join(", "),
            count - MOST_FILES
        ),
        _ => format!("Files: {}. Read one with `read_skill_file`.", others.join(", ")),
    })
}
