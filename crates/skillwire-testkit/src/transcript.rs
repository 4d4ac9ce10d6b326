//! Conversations with a server as readable files, which can be replayed against any server.
//!
//! A file begins with prose. A line `Arguments: ...` in it says how our own server is started,
//! after `serve FOLDER`. Then come blocks: `-- client --` with messages that are sent,
//! `-- server --` with messages that must come back, in any order and among others. What must come
//! back is a pattern: an object must have at least these members, an array exactly these items,
//! `"<any>"` stands for anything, and `"<absent>"` for a member that must not be there.

use serde_json::{Deserializer, Value};

use crate::stdio_client::StdioClient;

/// A conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The prose on top.
    pub prose: String,
    /// The arguments with which our own server is started.
    pub arguments: Vec<String>,
    /// The blocks, in order.
    pub blocks: Vec<TranscriptBlock>,
}

/// The messages of one side.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptBlock {
    /// Messages that are sent.
    Client(Vec<Value>),
    /// Patterns of messages that must come back.
    Server(Vec<Value>),
}

impl Transcript {
    /// Parses a transcript; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = text.split("\n-- ");
        let prose = pieces.next().unwrap_or_default().trim().to_owned();
        let arguments = prose.lines().find_map(|line| line.strip_prefix("Arguments:"));
        let arguments = arguments.map(|line| line.split_whitespace().map(str::to_owned).collect());
        let mut blocks = Vec::new();
        for piece in pieces {
            let (title, body) = piece.split_once(" --\n").ok_or("a block has no title")?;
            let messages: Result<Vec<Value>, _> =
                Deserializer::from_str(body).into_iter::<Value>().collect();
            let messages = messages.map_err(|error| format!("`{title}`: {error}"))?;
            blocks.push(match title {
                "client" => TranscriptBlock::Client(messages),
                "server" => TranscriptBlock::Server(messages),
                other => return Err(format!("there is no block `{other}`")),
            });
        }
        if blocks.is_empty() {
            return Err("there is no block".to_owned());
        }
        Ok(Self { prose, arguments: arguments.unwrap_or_default(), blocks })
    }

    /// Sends the client's messages to a server and compares its answers with the patterns.
    pub async fn replay(&self, client: &mut StdioClient) -> Result<(), String> {
        for block in &self.blocks {
            match block {
                TranscriptBlock::Client(messages) => {
                    for message in messages {
                        client.send(message).await;
                    }
                }
                TranscriptBlock::Server(patterns) => {
                    let mut open: Vec<&Value> = patterns.iter().collect();
                    while !open.is_empty() {
                        let message = client
                            .next()
                            .await
                            .ok_or_else(|| format!("nothing more came: {open:?}"))?;
                        take(&mut open, &message)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Removes the pattern that a message is for and compares the two; other messages are ignored.
fn take(open: &mut Vec<&Value>, message: &Value) -> Result<(), String> {
    let key = |value: &Value| match value.get("id") {
        Some(id) => id.clone(),
        None => value["method"].clone(),
    };
    let Some(at) = open.iter().position(|pattern| key(pattern) == key(message)) else {
        return Ok(());
    };
    let pattern = open.remove(at);
    fits(pattern, message, "").map_err(|wrong| format!("{wrong}\nin {message}"))
}

/// Compares a value with a pattern.
fn fits(pattern: &Value, value: &Value, place: &str) -> Result<(), String> {
    match (pattern, value) {
        (Value::String(any), _) if any == "<any>" => Ok(()),
        (Value::Object(members), Value::Object(found)) => {
            for (name, pattern) in members {
                let place = format!("{place}/{name}");
                match (pattern.as_str() == Some("<absent>"), found.get(name)) {
                    (true, None) => {}
                    (true, Some(_)) => return Err(format!("{place} should not be there")),
                    (false, None) => return Err(format!("{place} is missing")),
                    (false, Some(value)) => fits(pattern, value, &place)?,
                }
            }
            Ok(())
        }
        (Value::Array(items), Value::Array(found)) if items.len() == found.len() => {
            let mut pairs = items.iter().zip(found).enumerate();
            pairs.try_for_each(|(index, (item, value))| {
                fits(item, value, &format!("{place}/{index}"))
            })
        }
        (pattern, value) if pattern == value => Ok(()),
        (pattern, value) => Err(format!("{place} should be {pattern}, and is {value}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_say_what_must_be_there_and_what_must_not() {
        let value = json!({ "a": [1, { "b": "x", "c": 2 }], "d": null });
        for good in [
            json!({}),
            json!({ "a": "<any>", "e": "<absent>" }),
            json!({ "a": [1, { "b": "x" }] }),
            json!({ "d": null }),
        ] {
            assert_eq!(fits(&good, &value, ""), Ok(()), "{good}");
        }
        for bad in [
            json!({ "a": [1] }),
            json!({ "a": [1, { "b": "y" }] }),
            json!({ "d": "<absent>" }),
            json!({ "e": "<any>" }),
            json!([]),
        ] {
            assert!(fits(&bad, &value, "").is_err(), "{bad}");
        }
    }

    #[test]
    fn files_have_prose_arguments_and_blocks() {
        let text = "Prose.\nArguments: --dialect x=on\n\n-- client --\n{\"id\":1}\n{}\n\n-- server --\n{}\n";
        let read = Transcript::parse(text).unwrap();
        assert_eq!(read.arguments, ["--dialect", "x=on"]);
        assert_eq!(read.blocks[0], TranscriptBlock::Client(vec![json!({ "id": 1 }), json!({})]));
        for bad in ["", "Prose.", "P\n-- other --\n{}", "P\n-- client --\n{", "P\n-- client"] {
            assert!(Transcript::parse(bad).is_err(), "{bad:?}");
        }
    }
}
