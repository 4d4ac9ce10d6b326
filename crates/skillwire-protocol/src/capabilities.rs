//! The capabilities that servers and clients declare.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The identifier of the Skills extension.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Returns the capabilities of a server of skills.
///
/// An extension without options is the empty object, never an array, null or a boolean. The server
/// declares tools and prompts even if it has none, because it answers requests for their lists, and
/// declaration and handlers must agree. `lists_change` says whether it announces changes of these
/// lists.
pub fn skills_server_capabilities(directory_read: bool, lists_change: bool) -> Value {
    let settings = if directory_read { json!({ "directoryRead": true }) } else { json!({}) };
    let lists = if lists_change { json!({ "listChanged": true }) } else { json!({}) };
    json!({
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "prompts": lists,
        "tools": lists,
        "extensions": { SKILLS_EXTENSION: settings },
    })
}

/// The capabilities of a client that Skillwire uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientCapabilities {
    /// Whether the client can show its user a form.
    pub forms: bool,
}

#[derive(Deserialize)]
struct RawCapabilities {
    #[serde(default)]
    elicitation: Option<Value>,
}

impl ClientCapabilities {
    /// Reads the capabilities that a client declares; a capability that cannot be read counts as
    /// absent.
    pub fn read(raw: Option<&RawValue>) -> Self {
        // Serde would also accept an array, as the members in their order.
        let raw = raw.filter(|raw| raw.get().starts_with('{'));
        let read = raw.and_then(|raw| serde_json::from_str::<RawCapabilities>(raw.get()).ok());
        let Some(Value::Object(modes)) = read.and_then(|read| read.elicitation) else {
            return Self::default();
        };
        // A client that names no mode has forms, which were once the only mode.
        Self { forms: modes.contains_key("form") || !modes.contains_key("url") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_options_are_an_empty_object_srv_08() {
        let text = skills_server_capabilities(false, false).to_string();
        assert!(text.contains(r#""io.modelcontextprotocol/skills":{}"#), "{text}");
    }

    #[test]
    fn forms_are_declared_by_name_or_by_naming_no_mode() {
        let forms = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            ClientCapabilities::read(Some(&raw)).forms
        };
        assert!(forms(r#"{"elicitation":{}}"#));
        assert!(forms(r#"{"elicitation":{"form":{},"url":{}}}"#));
        for without in [
            "{}",
            "[{}]",
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":null}"#,
            r#"{"elicitation":true}"#,
        ] {
            assert!(!forms(without), "{without}");
        }
        assert!(!ClientCapabilities::read(None).forms);
    }
}
