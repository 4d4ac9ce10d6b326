//! URIs inside results, as clients of a mount that several servers share see them.

use serde_json::value::RawValue;

use super::resource_uris::ResourceUris;
use skillwire_protocol::json_text::{ObjectText, compact, object, string};

/// Rewrites `contents[].uri` of an answer to `resources/read`; everything else stays as it was written.
/// `None` if it has no contents.
pub(super) fn read_result(text: &str, uris: &ResourceUris) -> Option<String> {
    let mut result = ObjectText::new();
    let members = object(text)?.0;
    if !members.iter().any(|(name, _)| name == "contents") {
        return None;
    }
    for (name, raw) in members {
        let value = if name == "contents" {
            each(raw, |content| with_link(content, uris))?
        } else {
            compact(raw)
        };
        result.member(&name, &value);
    }
    Some(result.finish())
}

/// Rewrites the URIs of links and embedded resources in the result of a tool or prompt.
///
/// A result without any, and one that cannot be understood, is returned as it was written: a client
/// that does not understand it either follows no link of it.
pub(super) fn call_result(text: Box<str>, uris: &ResourceUris) -> Box<str> {
    if !uris.renames() || !text.contains("resource") {
        return text;
    }
    rewritten_call(&text, uris).map_or(text, Into::into)
}

fn rewritten_call(text: &str, uris: &ResourceUris) -> Option<String> {
    let mut result = ObjectText::new();
    for (name, raw) in object(text)?.0 {
        let value = match name.as_str() {
            "content" => each(raw, |block| block_text(block, uris))?,
            "messages" => each(raw, |message| message_text(message, uris))?,
            _ => compact(raw),
        };
        result.member(&name, &value);
    }
    Some(result.finish())
}

fn message_text(message: &RawValue, uris: &ResourceUris) -> Option<String> {
    let mut written = ObjectText::new();
    for (name, raw) in object(message.get())?.0 {
        let value = if name == "content" { block_text(raw, uris)? } else { compact(raw) };
        written.member(&name, &value);
    }
    Some(written.finish())
}

/// Rewrites one block of content: a link has a URI, and an embedded resource holds an object with one.
fn block_text(block: &RawValue, uris: &ResourceUris) -> Option<String> {
    let Some(members) = object(block.get()) else { return Some(compact(block)) };
    let kind = members.0.iter().find(|(name, _)| name == "type").map(|(_, raw)| raw.get());
    match kind {
        Some("\"resource_link\"") => with_link(block, uris),
        Some("\"resource\"") => {
            let mut written = ObjectText::new();
            for (name, raw) in members.0 {
                let value = if name == "resource" { with_link(raw, uris)? } else { compact(raw) };
                written.member(&name, &value);
            }
            Some(written.finish())
        }
        _ => Some(compact(block)),
    }
}

/// Rewrites the member `uri` of an object.
fn with_link(value: &RawValue, uris: &ResourceUris) -> Option<String> {
    let mut written = ObjectText::new();
    for (name, raw) in object(value.get())?.0 {
        let own = (name == "uri").then(|| serde_json::from_str::<String>(raw.get()).ok()).flatten();
        let linked = own.and_then(|own| uris.link(&own));
        written.member(&name, &linked.map_or_else(|| compact(raw), |uri| string(&uri)));
    }
    Some(written.finish())
}

fn each(list: &RawValue, rewrite: impl Fn(&RawValue) -> Option<String>) -> Option<String> {
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let items: Option<Vec<String>> = items.into_iter().map(rewrite).collect();
    Some(format!("[{}]", items?.join(",")))
}

#[cfg(test)]
mod tests {
    use skillwire_trust::ServerLabel;

    use super::*;

    fn docs() -> ResourceUris {
        ResourceUris::new(&ServerLabel::parse("docs").unwrap(), true).unwrap()
    }

    #[test]
    fn every_uri_of_a_result_names_the_server_and_nothing_else_changes_gw_05() {
        let read = r#"{"contents":[{"uri":"x:1","text":"see x:1","n":1.50}],"ttlMs":5,"other":{"uri":"x:1"}}"#;
        assert_eq!(
            read_result(read, &docs()).unwrap(),
            r#"{"contents":[{"uri":"docs+x:1","text":"see x:1","n":1.50}],"ttlMs":5,"other":{"uri":"x:1"}}"#
        );
        let call = r#"{"content":[{"type":"text","text":"x:1","uri":"x:1"},{"type":"resource_link","uri":"skill://a/b","size":1e2},{"type":"resource","resource":{"uri":"x:2","text":"t"}}],"structuredContent":{"uri":"x:1"}}"#;
        assert_eq!(
            &*call_result(call.into(), &docs()),
            r#"{"content":[{"type":"text","text":"x:1","uri":"x:1"},{"type":"resource_link","uri":"skill://docs/a/b","size":1e2},{"type":"resource","resource":{"uri":"docs+x:2","text":"t"}}],"structuredContent":{"uri":"x:1"}}"#
        );
        let prompt = r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:2"}}}]}"#;
        assert_eq!(
            &*call_result(prompt.into(), &docs()),
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"docs+x:2"}}}]}"#
        );
        for odd in [r#"{"content":"resource"}"#, r#"["resource"]"#, "{\"content\":[]}"] {
            assert_eq!(&*call_result(odd.into(), &docs()), odd);
        }
        for odd in [r#"{"contents":{}}"#, "{}", "[]"] {
            assert_eq!(read_result(odd, &docs()), None, "{odd}");
        }
    }
}
