//! A server's description of itself, and how much of it counts.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use skillwire_core::{
    Digest,
    strict_json::{self, JsonLimits},
};
use skillwire_protocol::{Era, SKILLS_EXTENSION, meta, truncated};

use super::{connection::ServerConnection, error::ClientError};

/// The JSON limits of a declaration; a deeper or larger one is not read.
const LIMITS: JsonLimits = JsonLimits::new(32, 10_000);

/// A server's latest description of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerDescription {
    /// The era that the client speaks with it.
    pub era: Era,
    /// The protocol revision that the client speaks with it.
    pub protocol_version: &'static str,
    /// What it offers of the Skills extension; `None` unless it declared the extension.
    pub skills: Option<SkillsOffer>,
    /// The server's text for a model; as untrusted as anything it sends.
    pub instructions: Option<String>,
    /// The name that the server claims: for display only, never an identity.
    pub claimed_name: Option<String>,
    /// The version that the server claims: for display, and to notice that it changed.
    pub claimed_version: Option<String>,
    /// Everything it declared.
    pub capabilities: Map<String, Value>,
    /// Oddities of the declaration, in sentences.
    pub oddities: Vec<String>,
}

/// What a server offers of the Skills extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillsOffer {
    /// Whether the client may read directories; only the value `true` allows it.
    pub directory_read: bool,
}

#[derive(Deserialize)]
struct DiscoverResult<'a> {
    #[serde(rename = "supportedVersions", default)]
    supported_versions: Option<Vec<String>>,
    #[serde(rename = "protocolVersion", default)]
    protocol_version: Option<String>,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(rename = "serverInfo", borrow, default)]
    server_info: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<&'a RawValue>,
}

/// The answer to `server/discover` or `initialize`.
pub(super) struct HandshakeAnswer {
    /// The revisions that the server lists, if any.
    pub(super) supported: Option<Vec<String>>,
    /// The revision that the server chose, if any.
    pub(super) chosen: Option<String>,
    capabilities: Map<String, Value>,
    instructions: Option<String>,
    claimed_name: Option<String>,
    claimed_version: Option<String>,
}

impl HandshakeAnswer {
    /// Reads either answer; a member of a wrong type makes the whole answer unusable.
    pub(super) fn read(result: &RawValue) -> Result<Self, ClientError> {
        let malformed = |what: &str| ClientError::protocol(format!("its description {what}"));
        let read: DiscoverResult<'_> = serde_json::from_str(result.get())
            .map_err(|error| malformed(&truncated(&error.to_string())))?;
        let capabilities = strict_json::object(read.capabilities.get(), LIMITS)
            .map_err(|error| malformed(&format!("has `capabilities` with {error}")))?;
        let of_meta = read.meta.and_then(|raw| member(raw, meta::SERVER_INFO));
        let info = of_meta.or_else(|| read.server_info.and_then(value));
        let claimed = |key: &str| Some(info.as_ref()?.get(key)?.as_str()?.to_owned());
        let (claimed_name, claimed_version) = (claimed("name"), claimed("version"));
        Ok(Self {
            supported: read.supported_versions,
            chosen: read.protocol_version,
            capabilities,
            instructions: read.instructions,
            claimed_name,
            claimed_version,
        })
    }

    /// Decides which parts of the answer count.
    pub(super) fn settle(self, era: Era, protocol_version: &'static str) -> ServerDescription {
        let (skills, oddities) = offer(&self.capabilities);
        ServerDescription {
            era,
            protocol_version,
            skills,
            instructions: self.instructions,
            claimed_name: self.claimed_name,
            claimed_version: self.claimed_version,
            capabilities: self.capabilities,
            oddities,
        }
    }
}

impl ServerDescription {
    /// Masks configured secrets in the texts that people or models may see.
    pub(super) fn masked(self, connection: &ServerConnection) -> Self {
        let mask = |text: String| connection.masked(&text);
        Self {
            instructions: self.instructions.map(mask),
            claimed_name: self.claimed_name.map(mask),
            claimed_version: self.claimed_version.map(mask),
            oddities: self.oddities.into_iter().map(mask).collect(),
            ..self
        }
    }

    /// Returns one digest over the server's declaration and its claimed identity.
    pub fn fingerprint(&self) -> Digest {
        let Self { protocol_version, claimed_name, claimed_version, capabilities, .. } = self;
        let said = json!([protocol_version, claimed_name, claimed_version, capabilities]);
        Digest::of(said.to_string().as_bytes())
    }
}

/// Reads a value that is only shown; an unreadable one is dropped.
fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

fn member(raw: &RawValue, key: &str) -> Option<Value> {
    value(raw)?.get(key).cloned()
}

/// Finds the declaration of the extension: an object, or the empty array that some encoders write
/// for one.
fn offer(capabilities: &Map<String, Value>) -> (Option<SkillsOffer>, Vec<String>) {
    let mut oddities = Vec::new();
    let declared = capabilities.get("extensions").and_then(|all| all.get(SKILLS_EXTENSION));
    let settings = match declared {
        Some(Value::Object(settings)) => settings.clone(),
        Some(Value::Array(items)) if items.is_empty() => {
            oddities.push("The Skills extension is declared as `[]`; taken as `{}`.".to_owned());
            Map::new()
        }
        Some(other) => {
            let shown = truncated(&other.to_string());
            oddities.push(format!(
                "The Skills extension is declared as `{shown}`; only an object declares it."
            ));
            return (None, oddities);
        }
        None => {
            if capabilities.get("experimental").and_then(|all| all.get(SKILLS_EXTENSION)).is_some()
            {
                oddities.push(
                    "The Skills extension stands under `experimental`; only `extensions` declares it."
                        .to_owned(),
                );
            }
            return (None, oddities);
        }
    };
    let directory_read = match settings.get("directoryRead") {
        Some(Value::Bool(offered)) => *offered,
        None => false,
        Some(other) => {
            let shown = truncated(&other.to_string());
            oddities.push(format!("`directoryRead` is `{shown}`; only `true` offers it."));
            false
        }
    };
    (Some(SkillsOffer { directory_read }), oddities)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(capabilities: &Value) -> (Option<SkillsOffer>, usize) {
        let result = json!({ "supportedVersions": [], "capabilities": capabilities });
        let raw = RawValue::from_string(result.to_string()).unwrap();
        let description = HandshakeAnswer::read(&raw).unwrap().settle(Era::Modern, "2026-07-28");
        (description.skills, description.oddities.len())
    }

    #[test]
    fn only_an_object_declares_the_extension_hst_03_h_02() {
        let plain = Some(SkillsOffer { directory_read: false });
        let declared = |value: Value| json!({ "extensions": { SKILLS_EXTENSION: value } });
        assert_eq!(offered(&declared(json!({}))), (plain, 0));
        assert_eq!(offered(&declared(json!([]))), (plain, 1));
        for other in [json!(true), json!("yes"), json!(null), json!(1), json!([1])] {
            assert_eq!(offered(&declared(other.clone())), (None, 1), "{other}");
        }
        assert_eq!(offered(&json!({ "experimental": { SKILLS_EXTENSION: {} } })), (None, 1));
        assert_eq!(offered(&json!({ "extensions": [SKILLS_EXTENSION] })), (None, 0));
        assert_eq!(offered(&json!({})), (None, 0));
    }

    #[test]
    fn only_true_offers_directories_hst_02_h_03() {
        let declared = |value: Value| json!({ "extensions": { SKILLS_EXTENSION: { "directoryRead": value } } });
        let offer = |value| offered(&declared(value)).0.unwrap().directory_read;
        assert!(offer(json!(true)));
        for other in [json!(false), json!("true"), json!(1), json!({}), json!(null), json!([true])]
        {
            assert!(!offer(other.clone()), "{other}");
        }
    }

    #[test]
    fn a_declaration_that_parsers_read_differently_is_refused_hst_03() {
        let text = format!(
            r#"{{"capabilities":{{"extensions":{{"{SKILLS_EXTENSION}":true,"{SKILLS_EXTENSION}":{{}}}}}}}}"#
        );
        let raw = RawValue::from_string(text).unwrap();
        assert!(matches!(HandshakeAnswer::read(&raw), Err(ClientError::Protocol(_))));
    }

    #[test]
    fn a_name_is_only_claimed_and_never_needed_hst_07() {
        for (info, name) in [(json!({ "name": "local" }), Some("local")), (json!(7), None)] {
            let result = json!({ "capabilities": {}, "_meta": { meta::SERVER_INFO: info } });
            let raw = RawValue::from_string(result.to_string()).unwrap();
            let description =
                HandshakeAnswer::read(&raw).unwrap().settle(Era::Modern, "2026-07-28");
            assert_eq!(description.claimed_name.as_deref(), name);
        }
    }
}
