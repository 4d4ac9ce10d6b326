//! What an author says about who a skill is for: audience, priority, date.

use serde_json::{Map, Value, json};

/// Reads `audience`, `priority` and `lastModified` of a skill's frontmatter.
///
/// Each is taken from the field of its name, or from `metadata`, whose values are texts: a list is
/// separated by commas there. What cannot be read is left out, as a client could only guess what it
/// means; without any of them the result is `None`.
pub fn annotations(frontmatter: &Map<String, Value>) -> Option<Map<String, Value>> {
    let field = |key: &str| {
        let in_metadata = || frontmatter.get("metadata").and_then(|metadata| metadata.get(key));
        frontmatter.get(key).or_else(in_metadata)
    };
    let mut found = Map::new();
    let audience = field("audience").map(audience).filter(|audience| !audience.is_empty());
    if let Some(audience) = audience {
        found.insert("audience".to_owned(), json!(audience));
    }
    if let Some(priority) = field("priority").and_then(priority) {
        found.insert("priority".to_owned(), json!(priority));
    }
    let modified = field("lastModified").and_then(Value::as_str).filter(|when| is_time(when));
    if let Some(when) = modified {
        found.insert("lastModified".to_owned(), when.into());
    }
    (!found.is_empty()).then_some(found)
}

/// The readers that the protocol knows, in its order.
fn audience(value: &Value) -> Vec<&'static str> {
    let named = |reader: &str| match value {
        Value::String(text) => text.split(',').any(|word| word.trim() == reader),
        Value::Array(items) => items.iter().any(|item| item == reader),
        _ => false,
    };
    ["user", "assistant"].into_iter().filter(|reader| named(reader)).collect()
}

/// A number from 0 (optional) to 1 (required).
fn priority(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number| (0.0..=1.0).contains(number))
}

/// Tells whether a text is a date, or a date and a time.
fn is_time(text: &str) -> bool {
    let digits = |part: Option<&str>, count| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut date = text.get(..10).unwrap_or_default().split('-');
    text.is_ascii()
        && digits(date.next(), 4)
        && digits(date.next(), 2)
        && digits(date.next(), 2)
        && text.len() <= 40
        && (text.len() == 10 || text.as_bytes().get(10) == Some(&b'T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(frontmatter: &Value) -> Value {
        json!(annotations(frontmatter.as_object().unwrap()))
    }

    #[test]
    fn an_author_decides_about_audience_and_priority_p_07() {
        let typed = json!({ "audience": ["user"], "priority": 0.4, "lastModified": "2026-01-15" });
        assert_eq!(read(&typed), typed);
        let metadata = json!({ "metadata": { "audience": "assistant, user", "priority": "1" } });
        let expected = json!({ "audience": ["user", "assistant"], "priority": 1.0 });
        assert_eq!(read(&metadata), expected);
    }

    #[test]
    fn what_no_client_understands_is_left_out_p_07() {
        for nothing in [
            json!({}),
            json!({ "audience": "everyone", "priority": 2 }),
            json!({ "audience": 5, "priority": "high", "lastModified": "yesterday" }),
            json!({ "priority": "NaN" }),
        ] {
            assert_eq!(read(&nothing), Value::Null, "{nothing}");
        }
    }
}
