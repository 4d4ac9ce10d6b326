//! Reading one message from a server; its bytes are untrusted.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use skillwire_core::raw_text::{Text, as_text};
use skillwire_protocol::{
    Envelope, RequestId, message::nests_deeper_than, method, present, truncated,
};

use super::{changes::Change, error::ClientError};

/// The deepest nesting of a message.
///
/// The limit is far above that of one skill, so that a skill that nests too deeply is refused alone
/// and does not take the others on its page with it.
const MAX_DEPTH: usize = 2_048;

/// One message from a server.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// The answer to a request; one without an id belongs to the request whose response carries it.
    Answer { id: Option<RequestId>, outcome: Result<&'a RawValue, ClientError> },
    /// A notification.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// A request of the server.
    Request { id: RequestId, method: Cow<'a, str>, params: Option<&'a RawValue> },
}

/// A message that cannot be understood.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// The id of the request it was meant for, if that can be read.
    pub(super) id: Option<RequestId>,
    /// What is wrong, as a clause that follows "the server broke the protocol".
    pub(super) problem: ClientError,
}

#[derive(Deserialize)]
struct ErrorObject<'a> {
    code: i64,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ResultType<'a> {
    #[serde(rename = "resultType", borrow, default, deserialize_with = "present")]
    result_type: Option<&'a RawValue>,
}

/// Reads one message.
pub(super) fn read(bytes: &[u8]) -> Result<Incoming<'_>, Unreadable> {
    let unreadable = |problem: &str| Unreadable {
        id: id_in(bytes),
        problem: ClientError::protocol(problem.to_owned()),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("a message is not UTF-8"))?;
    // serde would accept an array and assign its items to the members in order.
    if !text.trim_start().starts_with('{') {
        return Err(unreadable("a message is not an object"));
    }
    if nests_deeper_than(text, MAX_DEPTH) {
        return Err(unreadable("a message nests too deeply"));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text)
        .map_err(|_| unreadable("a message is not JSON, or repeats a member"))?;
    if !envelope.is_version_2() {
        return Err(unreadable("a message has another `jsonrpc` than \"2.0\""));
    }
    let id = match envelope.id {
        // JSON-RPC lets the error for an unreadable request carry no id, or null.
        None => None,
        Some(raw) if raw.get() == "null" && envelope.error.is_some() => None,
        Some(raw) => match RequestId::from_raw(raw) {
            Some(id) => Some(id),
            None => return Err(unreadable("an id is neither a string nor an integer")),
        },
    };
    if let Some(method) = envelope.method {
        let Some(method) = as_text(method) else {
            return Err(unreadable("a method is not a string"));
        };
        return Ok(match id {
            Some(id) => Incoming::Request { id, method, params: envelope.params },
            None => Incoming::Notification { method, params: envelope.params },
        });
    }
    let outcome = match (envelope.result, envelope.error) {
        (Some(result), None) if id.is_some() => Ok(result),
        (None, Some(error)) => Err(failure(error)),
        _ => return Err(unreadable("an answer has not exactly one of `result` and `error`")),
    };
    Ok(Incoming::Answer { id, outcome })
}

/// Checks that a result is final; servers that know only final results omit the type.
pub(super) fn complete(result: &RawValue) -> Result<(), ClientError> {
    if !result.get().starts_with('{') {
        return Err(ClientError::protocol("a result is not an object"));
    }
    let typed: ResultType<'_> = serde_json::from_str(result.get())
        .map_err(|_| ClientError::protocol("a result repeats `resultType`"))?;
    let Some(raw) = typed.result_type else { return Ok(()) };
    match as_text(raw).as_deref() {
        Some("complete") => Ok(()),
        Some("input_required") => Err(ClientError::InputRequired),
        _ => {
            let kind = truncated(raw.get());
            Err(ClientError::protocol(format!("`resultType` {kind} is unknown")))
        }
    }
}

fn failure(error: &RawValue) -> ClientError {
    let read = Some(error.get())
        .filter(|text| text.starts_with('{'))
        .and_then(|text| serde_json::from_str::<ErrorObject<'_>>(text).ok());
    match read {
        Some(error) => ClientError::rpc(error.code, &error.message),
        None => ClientError::protocol("an error has no `code` and `message`"),
    }
}

/// Returns the change that a notification announces, if it is about skills or resources.
pub(super) fn change(method: &str, params: Option<&RawValue>) -> Option<Change> {
    #[derive(Deserialize)]
    struct Updated {
        uri: String,
    }
    match method {
        method::RESOURCES_LIST_CHANGED => Some(Change::SkillsChanged),
        method::TOOLS_LIST_CHANGED => Some(Change::ToolsChanged),
        method::PROMPTS_LIST_CHANGED => Some(Change::PromptsChanged),
        method::RESOURCES_UPDATED => {
            let updated: Updated = serde_json::from_str(object(params)?).ok()?;
            Some(Change::Updated(updated.uri))
        }
        _ => None,
    }
}

/// Returns the subscription that a notification belongs to, or that a server cancels.
pub(super) fn subscription(method: &str, params: Option<&RawValue>) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct NotificationParams<'a> {
        #[serde(rename = "_meta", borrow, default)]
        meta: Option<&'a RawValue>,
        #[serde(rename = "requestId", borrow, default)]
        request_id: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct NotificationMeta<'a> {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId", borrow, default)]
        id: Option<&'a RawValue>,
    }
    let params: NotificationParams<'_> = serde_json::from_str(object(params)?).ok()?;
    let raw = if method == method::CANCELLED {
        params.request_id?
    } else {
        serde_json::from_str::<NotificationMeta<'_>>(object(params.meta)?).ok()?.id?
    };
    RequestId::from_raw(raw)
}

fn object(raw: Option<&RawValue>) -> Option<&str> {
    raw.map(RawValue::get).filter(|text| text.starts_with('{'))
}

/// Looks for the id in a message that is cut off or malformed, so that only the request it was
/// meant for fails.
pub(super) fn id_in(bytes: &[u8]) -> Option<RequestId> {
    struct IdSeed<'a>(&'a mut Option<RequestId>);

    impl<'de> Visitor<'de> for IdSeed<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Text(key)) = map.next_key()? {
                if key == "id" {
                    *self.0 = RequestId::from_raw(map.next_value::<&RawValue>()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut found = None;
    // The text may end anywhere; an id that was found before the end counts.
    let _ = serde_json::Deserializer::from_slice(bytes).deserialize_map(IdSeed(&mut found));
    found
}

#[cfg(test)]
mod tests {
    use skillwire_protocol::meta::SUBSCRIPTION_ID;

    use super::*;

    fn outcome(text: &str) -> Result<String, ClientError> {
        match read(text.as_bytes()) {
            Ok(Incoming::Answer { outcome, .. }) => {
                let raw = outcome?;
                complete(raw).map(|()| raw.get().to_owned())
            }
            Ok(other) => panic!("not an answer: {other:?}"),
            Err(unreadable) => Err(unreadable.problem),
        }
    }

    fn of_result(result: &str) -> Result<String, ClientError> {
        outcome(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
    }

    #[test]
    fn only_a_complete_result_is_one_hst_06_h_11() {
        for complete in ["{}", r#"{"resultType":"complete"}"#, r#"{"resultType":"complet\u0065"}"#]
        {
            assert_eq!(of_result(complete).as_deref(), Ok(complete));
        }
        assert_eq!(
            of_result(r#"{"resultType":"input_required"}"#),
            Err(ClientError::InputRequired)
        );
        for wrong in [
            r#"{"resultType":"surprise"}"#,
            r#"{"resultType":null}"#,
            r#"{"resultType":7}"#,
            r#"{"resultType":"complete","resultType":"surprise"}"#,
            "[]",
            "null",
            "7",
        ] {
            assert!(matches!(of_result(wrong), Err(ClientError::Protocol(_))), "{wrong}");
        }
    }

    #[test]
    fn a_result_is_kept_to_the_letter_hst_05() {
        let result = r#"{"skills": [1,  2.50], "_meta":{"a":1e2}, "skill":{}}"#;
        assert_eq!(of_result(result).as_deref(), Ok(result));
    }

    #[test]
    fn messages_that_parsers_read_differently_are_refused_h_14() {
        let id = RequestId::from_raw(&RawValue::from_string("1".to_owned()).unwrap());
        for (text, known) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{"a":1}}"#.to_owned(), true),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#.to_owned(), true),
            (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), true),
            (r#"{"id":1,"result":{}}"#.to_owned(), true),
            (r#"{"jsonrpc":"2.0","result":{}}"#.to_owned(), false),
            (r#"["2.0",1]"#.to_owned(), false),
            (
                format!(r#"{{"id":1,"result":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
                true,
            ),
            (r#"{"id":1,"result":{"a"#.to_owned(), true),
            ("\u{1b}[31mlisten on 7\u{1b}[0m".to_owned(), false),
        ] {
            let unreadable = read(text.as_bytes()).unwrap_err();
            assert_eq!(unreadable.id, id.clone().filter(|_| known), "{text:.60}");
        }
    }

    #[test]
    fn errors_are_shortened_and_escaped_hst_05() {
        let long = format!("\u{1b}[2J{}", "x".repeat(1_000));
        let text = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": long },
        });
        let Err(ClientError::Rpc { code, message }) = outcome(&text.to_string()) else {
            panic!("not an error");
        };
        assert_eq!(code, -32602);
        assert!(message.len() < 300 && !message.contains('\u{1b}'), "{message}");
        let wrong = r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}"#;
        assert!(matches!(outcome(wrong), Err(ClientError::Protocol(_))));
    }

    #[test]
    fn notifications_belong_to_their_subscription_hst_05() {
        let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":3}},"uri":"skill://a/SKILL.md"}}"#);
        let params = RawValue::from_string(params).unwrap();
        let method = method::RESOURCES_UPDATED;
        assert_eq!(subscription(method, Some(&params)).unwrap().as_json(), "3");
        let updated = Change::Updated("skill://a/SKILL.md".to_owned());
        assert_eq!(change(method, Some(&params)), Some(updated));
        assert_eq!(change(method, None), None);
    }
}
