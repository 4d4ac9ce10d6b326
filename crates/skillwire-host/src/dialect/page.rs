//! Skills that are read by name: `skills/read` and `skills/read_reference`.

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::strict_json;

use super::by_name::ANSWER;
use crate::contents;

/// Reads a skill.
pub(super) const READ: &str = "skills/read";

/// Reads a file of a skill.
pub(super) const READ_REFERENCE: &str = "skills/read_reference";

/// What `skills/read` says about a skill.
pub(super) struct ReadSkill {
    pub(super) description: Option<String>,
    pub(super) instructions: String,
}

impl ReadSkill {
    /// Reads the answer to `skills/read`, which must be about the skill that was asked for.
    pub(super) fn read(text: &str, name: &str) -> Result<Self, String> {
        let answer = strict_json::object(text, ANSWER).map_err(|error| error.to_string())?;
        let skill = answer.get("skill").filter(|skill| skill.is_object());
        let skill = skill.ok_or("no object `skill`")?;
        let text = |key: &str| skill.get(key).and_then(Value::as_str).map(str::to_owned);
        if text("name").is_some_and(|found| found != name) {
            return Err("another skill".to_owned());
        }
        let instructions = text("instructions").ok_or("no text `instructions`")?;
        Ok(Self { description: text("description"), instructions })
    }
}

/// Reads the answer to `skills/read_reference`.
pub(super) fn reference(text: &str) -> Result<Bytes, String> {
    let answer = strict_json::object(text, ANSWER).map_err(|error| error.to_string())?;
    let content = answer.get("content").ok_or("no `content`")?;
    contents::bytes_of(content)
}
