//! Merges what the wrapped handler declares and lists with what the skills need.

use rmcp::{
    ErrorData,
    model::{ResourcesCapability, ServerCapabilities},
};
use serde_json::{Value, json};
use skillwire_catalog::ViewId;
use skillwire_protocol::{Era, SKILLS_EXTENSION, skills_server_capabilities};
use skillwire_server::{Skills, dialect::Dialect};

use super::ask;

/// The prefix of cursors of the handler's own listing; our own cursors are base64 and have no
/// colon.
const OWN: &str = "own:";

/// Declares the capabilities that skills need.
pub(super) fn declare(skills: &Skills, capabilities: &mut ServerCapabilities) {
    let declared = skills_server_capabilities(skills.engine().config().directory_read, false);
    let settings = declared["extensions"][SKILLS_EXTENSION].as_object().cloned();
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(SKILLS_EXTENSION.to_owned(), settings.unwrap_or_default());
    let resources = capabilities.resources.get_or_insert_with(ResourcesCapability::default);
    resources.list_changed = Some(true);
    resources.subscribe = Some(true);
    capabilities.completions.get_or_insert_default();
    // Clients of older dialects look for `skills` beside `tools`. The SDK's type has no room for it
    // there, so it stands among the experimental capabilities.
    let dialects = skills.engine().config().dialects;
    if dialects.any(&[Dialect::Sep2076, Dialect::SkillsPage], Era::Legacy) {
        let changes = json!({ "listChanged": true }).as_object().cloned().unwrap_or_default();
        capabilities.experimental.get_or_insert_default().insert("skills".to_owned(), changes);
    }
}

/// Appends a description of the skills to a server's own instructions.
pub(super) fn instruct(skills: &Skills, instructions: &mut Option<String>) {
    let Some(snapshot) = skills.engine().catalog().now(ViewId::EVERYTHING) else { return };
    let ours = snapshot.instructions();
    *instructions = Some(match instructions.take() {
        Some(own) if !own.is_empty() => format!("{own}\n\n{ours}"),
        _ => ours.to_owned(),
    });
}

/// Returns the cursor that the handler gave out, if this is one of its cursors.
pub(super) fn own_cursor(cursor: Option<&str>) -> Option<String> {
    cursor?.strip_prefix(OWN).map(str::to_owned)
}

/// Marks the cursor of a page of the handler's own listing.
pub(super) fn mark_cursor(page: &mut Value) {
    if let Some(cursor) = page.get("nextCursor").and_then(Value::as_str) {
        page["nextCursor"] = format!("{OWN}{cursor}").into();
    }
}

/// Appends the handler's first page to our last one.
///
/// The result is as fresh as the staler of the two pages and as private as the more private one. If
/// the handler gives no caching hints, its page counts as stale and private, as it does for the
/// SDK.
pub(super) fn append(member: &str, ours: &mut Value, mut own: Value) -> Result<(), ErrorData> {
    let more = own[member].take();
    let (Value::Array(more), Some(items)) = (more, ours[member].as_array_mut()) else {
        return Err(ask::internal());
    };
    items.extend(more);
    mark_cursor(&mut own);
    if let Some(cursor) = own.get("nextCursor") {
        ours["nextCursor"] = cursor.clone();
    }
    // Only results of the modern era have these members.
    if let Some(ttl) = ours.get("ttlMs").and_then(Value::as_u64) {
        ours["ttlMs"] = json!(ttl.min(own["ttlMs"].as_u64().unwrap_or(0)));
        if own["cacheScope"] != "public" {
            ours["cacheScope"] = json!("private");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(own: Value) -> Value {
        let mut ours = json!({ "resources": [1], "ttlMs": 60_000, "cacheScope": "public" });
        append("resources", &mut ours, own).expect("both are pages");
        ours
    }

    #[test]
    fn a_joined_page_is_as_stale_and_as_private_as_either_part() {
        let silent = appended(json!({ "resources": [2], "nextCursor": "c" }));
        let expected = json!({
            "resources": [1, 2], "ttlMs": 0, "cacheScope": "private", "nextCursor": "own:c"
        });
        assert_eq!(silent, expected);
        let public = appended(json!({ "resources": [], "ttlMs": 90_000, "cacheScope": "public" }));
        assert_eq!(public["ttlMs"], 60_000);
        assert_eq!(public["cacheScope"], "public");
    }
}
