//! D6, the "Skills" page: `skills/read`, `skills/read_reference` and `skills/execute`.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use skillwire_core::RelPath;
use skillwire_dialects::{
    SkillCard,
    skills_page::{PageFileKind, PageFiles, PageSkill},
};
use skillwire_protocol::{Era, ErrorCode, RpcError, truncated};
use skillwire_source::Skill;

use crate::{
    engine::{Outcome, OwnedCall, about_name, item, media_type, uri_of},
    offer::Progress,
};

/// Runs scripts of skills; without an implementation a server does not offer `skills/execute`.
pub trait RunScripts: Send + Sync + fmt::Debug {
    /// Runs one script and returns the result of the call, an object with `content` and `isError`.
    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>>;

    /// Learns that a caller asked for a script that the skill does not have, for an audit log.
    fn not_found(&self, _skill: &Skill, _script: &str, _caller: &str) {}
}

/// A request to run a script.
#[derive(Debug)]
pub struct Script {
    /// The skill that contains the script.
    pub skill: Arc<Skill>,
    /// The path of the script, which is one of the skill's files.
    pub path: RelPath,
    /// The arguments: an object, or nothing.
    pub arguments: Option<Value>,
    /// The caller's name; empty without tokens.
    pub caller: String,
    /// Reports progress to the client.
    pub progress: Progress,
}

/// The error when a script could not be run; a script that failed has a result that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotRun(pub String);

/// Answers `skills/read`.
pub(crate) async fn read(call: OwnedCall, name: String) -> Outcome {
    let skill = find(&call, &name).await?;
    let body = call.instructions(&skill).await?;
    let files = files(&call, &skill, &body).await?;
    let card = SkillCard::of_entry(&skill.entry.text());
    let read = PageSkill {
        name: name.as_str().into(),
        description: Some(card.description().into()),
        instructions: body.as_str().into(),
        scripts: files.of_kind(PageFileKind::Script),
        references: files.of_kind(PageFileKind::Reference),
        assets: files.of_kind(PageFileKind::Asset),
        metadata: card.metadata(),
        annotations: card.annotations(),
    };
    let mut result = call.style.begin();
    result.json("skill", &item(&read));
    Ok(result.finish().into())
}

/// Answers `skills/read_reference`.
pub(crate) async fn read_reference(call: OwnedCall, name: String, reference: String) -> Outcome {
    let skill = find(&call, &name).await?;
    let body = call.instructions(&skill).await?;
    let files = files(&call, &skill, &body).await?;
    let found = files.find(&reference);
    let not_found = || {
        let message = format!("The skill has no reference `{}`.", truncated(&reference));
        let data = json!({ "name": truncated(&name), "reference": truncated(&reference) });
        RpcError::new(code(call.era(), ErrorCode::LegacyReferenceNotFound), message).with_data(data)
    };
    let path = &found.ok_or_else(not_found)?.path;
    let bytes = call.bytes(&skill, path).await?.ok_or_else(not_found)?;
    let mut content = String::new();
    let uri = uri_of(&skill, path);
    push_content(&mut content, uri.as_str(), media_type(&skill, path, &bytes), &bytes);
    let mut result = call.style.begin();
    result.json("content", &content);
    Ok(result.finish().into())
}

/// Answers `skills/execute`.
pub(crate) async fn execute(
    call: OwnedCall,
    runner: Arc<dyn RunScripts>,
    (name, script, arguments): (String, String, Option<Value>),
    progress: Progress,
) -> Outcome {
    let skill = find(&call, &name).await?;
    let failed = |reason: String| {
        let failed = match call.era() {
            Era::Legacy => ErrorCode::LegacyScriptFailed,
            Era::Modern => ErrorCode::Internal,
        };
        let data = json!({
            "name": truncated(&name), "script": truncated(&script), "reason": reason
        });
        RpcError::new(failed, format!("`{}` was not run: {reason}", truncated(&script)))
            .with_data(data)
    };
    let body = call.instructions(&skill).await?;
    let files = files(&call, &skill, &body).await?;
    let path = files.find_script(&script).map(|file| file.path.clone());
    let path = path.ok_or_else(|| {
        runner.not_found(&skill, &script, &call.caller.name);
        failed("The skill has no such script.".to_owned())
    })?;
    let wanted = Script { skill, path, arguments, caller: call.caller.name.clone(), progress };
    let ran = runner.run(wanted).await.map_err(|NotRun(reason)| failed(reason))?;
    let mut result = call.style.begin();
    for (member, value) in ran.as_object().into_iter().flatten() {
        result.json(member, &value.to_string());
    }
    Ok(result.finish().into())
}

/// Appends one element of `contents` as JSON.
pub(super) fn push_content(out: &mut String, uri: &str, media_type: &str, bytes: &[u8]) {
    let head = json!({ "uri": uri, "mimeType": media_type }).to_string();
    out.push_str(head.trim_end_matches('}'));
    // Rendered content is JSON and therefore UTF-8.
    out.push_str(&String::from_utf8_lossy(&crate::engine::contents::render(bytes)));
}

async fn find(call: &OwnedCall, name: &str) -> Result<Arc<Skill>, RpcError> {
    call.named(name).await?.map_err(|unnamed| {
        let message = if unnamed.candidates.is_empty() {
            "Skill not found."
        } else {
            "Several skills have this name; name one of them."
        };
        RpcError::new(code(call.era(), ErrorCode::LegacyResourceNotFound), message)
            .with_data(about_name(name, unnamed.candidates))
    })
}

/// Returns the page's own error code in the era in which that code has no other meaning.
fn code(era: Era, legacy: ErrorCode) -> ErrorCode {
    match era {
        Era::Legacy => legacy,
        Era::Modern => ErrorCode::InvalidParams,
    }
}

/// Lists all files besides `SKILL.md`.
async fn files(call: &OwnedCall, skill: &Skill, body: &str) -> Result<PageFiles, RpcError> {
    let card = SkillCard::of_entry(&skill.entry.text());
    Ok(PageFiles::new(skill.name(), body, call.paths(skill).await?).described_by(&card))
}
