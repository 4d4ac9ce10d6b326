//! One event as one line of JSON, and back.

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, Digest, SkillUri};
use skillwire_trust::{Action, Decision, Event, Origin, Reason, SkillId};

use crate::time;

/// The longest detail that is kept, in characters; it may contain text from a model.
const MAX_DETAIL_CHARS: usize = 4096;

/// The JSON form of an event. JSON escapes control characters, so an event stays on one line and
/// cannot act on a terminal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    time: String,
    label: String,
    uri: Option<String>,
    digest_set: Option<String>,
    /// Lines of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_id: Option<ContentId>,
    action: Action,
    decision: Decision,
    reason: Option<String>,
    detail: Option<String>,
}

/// Writes an event as one line, with its line break.
pub(super) fn write(event: &Event) -> String {
    let detail = |text: &String| match text.char_indices().nth(MAX_DETAIL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.clone(),
    };
    let line = EventLine {
        time: time::to_text(event.time),
        label: event.label.clone(),
        uri: event.skill.as_ref().map(|skill| skill.uri.to_string()),
        digest_set: event.content.map(|digest| digest.to_string()),
        content_id: event.content_id,
        action: event.action,
        decision: event.decision,
        reason: event.reason.map(|reason| reason.code().to_owned()),
        detail: event.detail.as_ref().map(detail),
    };
    // Strings and unit variants always serialise.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// Reads a line; the error is a clause that follows "it".
pub(super) fn read(text: &str) -> Result<Event, String> {
    let line: EventLine =
        serde_json::from_str(text).map_err(|error| format!("is no event: {error}"))?;
    let time = time::from_text(&line.time).ok_or("holds a time that is none")?;
    let skill = line.uri.as_deref().map(|uri| skill(&line.label, uri)).transpose()?;
    let content = line.digest_set.as_deref().map(str::parse::<Digest>).transpose();
    let content = content.map_err(|error| format!("holds {error}"))?;
    let reason = line.reason.as_deref().map(|code| {
        let known = Reason::ALL.iter().find(|reason| reason.code() == code);
        known.copied().ok_or("holds a reason that this program does not know")
    });
    let reason = reason.transpose()?;
    let EventLine { label, content_id, action, decision, detail, .. } = line;
    Ok(Event { time, skill, label, content, content_id, action, decision, reason, detail })
}

fn skill(label: &str, uri: &str) -> Result<SkillId, String> {
    let origin = Origin::parse(label).map_err(|error| format!("holds a label that {error}"))?;
    let uri = SkillUri::parse(uri).map_err(|error| format!("holds a URI that {error}"))?;
    Ok(SkillId { origin, uri })
}
