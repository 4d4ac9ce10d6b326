//! What a server declares about itself.

use serde_json::{Value, json};

/// The identifier of the Skills extension.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The capabilities of a server of skills.
///
/// An extension without options is the empty object, never an array, null or a boolean. Tools and
/// prompts are declared because their lists are answered, though they are empty: declaration and
/// handlers must agree, and clients ask for these lists unasked.
pub fn of_skills_server(directory_read: bool) -> Value {
    let settings = if directory_read { json!({ "directoryRead": true }) } else { json!({}) };
    json!({
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "prompts": {},
        "tools": {},
        "extensions": { SKILLS_EXTENSION: settings },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srv_08_settings_without_options_are_an_empty_object() {
        let text = of_skills_server(false).to_string();
        assert!(text.contains(r#""io.modelcontextprotocol/skills":{}"#), "{text}");
    }
}
