//! Input files that a client sends with its request, or names by a URI of this server.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use skillwire_core::RelPath;
use skillwire_source::FileTree;

/// The most inputs of one request.
const MAX_INPUTS: usize = 64;

/// The most bytes of all inputs of one request together.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// An input of a request: where it lies in the script's working folder, and what it holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SentInput {
    /// Its path in the working folder.
    pub path: RelPath,
    pub(crate) content: InputContent,
}

/// What an input holds.
#[derive(Debug, Clone)]
pub(crate) enum InputContent {
    /// Bytes that the client sent, or that an earlier run left.
    Bytes(Bytes),
    /// The only file of this tree. It is read when it is the request's turn.
    SkillFile(FileTree),
}

impl SentInput {
    /// The bytes that the input holds while the request waits.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.content {
            InputContent::Bytes(bytes) => bytes.len(),
            InputContent::SkillFile(_) => 256,
        }
    }
}

/// Why the inputs of a request cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidInputs {
    /// They are not an array of objects.
    #[error(
        "the inputs are not an array of objects, each with `name` and one of `text`, `blob` and `uri`"
    )]
    Shape,
    /// An input has a name that is no path in the working folder.
    #[error("the input `{0}` has no name that is a path in the script's working folder")]
    Name(String),
    /// The bytes of an input are not Base64.
    #[error("the `blob` of the input `{0}` is not Base64")]
    Base64(String),
    /// No file with this URI can be read by the caller.
    #[error("the input `{0}` names a resource that this server does not have for you")]
    NoSuchResource(String),
    /// There are too many inputs, or too many bytes.
    #[error("the inputs are more than {MAX_INPUTS} files or {} MiB", MAX_BYTES / (1024 * 1024))]
    TooLarge,
}

/// Reads the inputs of a request. `resource` finds what a URI names for the caller.
pub(crate) fn read(
    inputs: &Value,
    resource: impl Fn(&str) -> Option<InputContent>,
) -> Result<Vec<SentInput>, InvalidInputs> {
    let inputs = match inputs {
        Value::Null => return Ok(Vec::new()),
        Value::Array(inputs) => inputs,
        _ => return Err(InvalidInputs::Shape),
    };
    if inputs.len() > MAX_INPUTS {
        return Err(InvalidInputs::TooLarge);
    }
    let mut bytes = 0_u64;
    let mut read = Vec::with_capacity(inputs.len());
    for input in inputs {
        let input = input.as_object().ok_or(InvalidInputs::Shape)?;
        let input = read_one(input, &resource)?;
        bytes = bytes.saturating_add(match &input.content {
            InputContent::Bytes(bytes) => bytes.len() as u64,
            InputContent::SkillFile(tree) => tree.files.iter().map(|file| file.size).sum(),
        });
        read.push(input);
    }
    if bytes > MAX_BYTES { Err(InvalidInputs::TooLarge) } else { Ok(read) }
}

fn read_one(
    input: &Map<String, Value>,
    resource: impl Fn(&str) -> Option<InputContent>,
) -> Result<SentInput, InvalidInputs> {
    // An embedded resource as results of tools have it, or its members directly.
    let embedded = input.get("resource").and_then(Value::as_object).unwrap_or(input);
    let text = |key: &str| embedded.get(key).and_then(Value::as_str);
    let uri = text("uri");
    let name = input.get("name").and_then(Value::as_str).map(str::to_owned);
    let name = name.or_else(|| uri.map(file_name)).unwrap_or_default();
    let shown = || name.chars().take(64).collect::<String>().escape_debug().to_string();
    let path = RelPath::parse(&name).map_err(|_| InvalidInputs::Name(shown()))?;
    let content = match (text("text"), text("blob"), uri) {
        (Some(text), None, _) => InputContent::Bytes(Bytes::copy_from_slice(text.as_bytes())),
        (None, Some(blob), _) => {
            let bytes = STANDARD.decode(blob).map_err(|_| InvalidInputs::Base64(shown()))?;
            InputContent::Bytes(bytes.into())
        }
        (None, None, Some(uri)) => {
            resource(uri).ok_or_else(|| InvalidInputs::NoSuchResource(shown()))?
        }
        _ => return Err(InvalidInputs::Shape),
    };
    Ok(SentInput { path, content })
}

/// The last part of a URI's path.
fn file_name(uri: &str) -> String {
    let last = uri.rsplit('/').next().unwrap_or_default();
    percent_decode_str(last).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(inputs: &Value) -> Result<Vec<(String, usize)>, InvalidInputs> {
        let known = |uri: &str| {
            (uri == "skill-output://1/a%20b.csv")
                .then(|| InputContent::Bytes(Bytes::from_static(b"12345")))
        };
        let inputs = read(inputs, known)?;
        Ok(inputs
            .iter()
            .map(|input| (input.path.as_str().to_owned(), input.held_bytes()))
            .collect())
    }

    #[test]
    fn inputs_are_embedded_or_named_by_a_resource_of_the_server() {
        let inputs = json!([
            { "name": "data/a.csv", "text": "a,b" },
            { "name": "b.bin", "blob": "AAE=" },
            { "type": "resource", "resource": { "uri": "file:///home/x/c.txt", "text": "c" } },
            { "uri": "skill-output://1/a%20b.csv" },
        ]);
        let expected = [("data/a.csv", 3), ("b.bin", 2), ("c.txt", 1), ("a b.csv", 5)];
        let expected = expected.map(|(name, size)| (name.to_owned(), size));
        assert_eq!(names(&inputs).unwrap(), expected);
        assert_eq!(names(&Value::Null).unwrap(), []);
    }

    #[test]
    fn inputs_that_are_unsafe_unknown_or_too_large_are_refused() {
        for (inputs, refused) in [
            (json!({}), InvalidInputs::Shape),
            (json!(["a"]), InvalidInputs::Shape),
            (json!([{ "name": "a" }]), InvalidInputs::Shape),
            (json!([{ "name": "a", "text": "x", "blob": "AA==" }]), InvalidInputs::Shape),
            (json!([{ "name": "../a", "text": "x" }]), InvalidInputs::Name("../a".to_owned())),
            (json!([{ "text": "x" }]), InvalidInputs::Name(String::new())),
            (json!([{ "name": "a", "blob": "?" }]), InvalidInputs::Base64("a".to_owned())),
            (
                json!([{ "uri": "file:///etc/passwd" }]),
                InvalidInputs::NoSuchResource("passwd".to_owned()),
            ),
            (
                json!(vec![json!({ "name": "a", "text": "" }); MAX_INPUTS + 1]),
                InvalidInputs::TooLarge,
            ),
        ] {
            assert_eq!(names(&inputs), Err(refused), "{inputs}");
        }
    }
}
