//! An entry as it is passed on: every URI mapped, everything else as its server wrote it.

use std::borrow::Cow;

use serde_json::{Map, Value, value::RawValue};
use skillwire_core::ResourceUri;
use skillwire_protocol::json_text::{ObjectText, RawObject, compact, object, string};
use skillwire_trust::{ListedSkill, Origin, UriMapping};

use crate::passing_on::provenance::{GatewayId, MAX_HOPS, PROVENANCE, Provenance};

/// The reason why an entry is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPassedOn {
    /// The gateway cannot rewrite its URIs without changing something else that it says.
    #[error("it has a member twice, or a URI that cannot be rewritten")]
    Unreadable,
    /// This gateway passed it on before, or too many others did.
    #[error("it was passed on by this gateway before, or by more than {MAX_HOPS} others")]
    Circle,
}

/// Writes the entry that is passed on, with a note on where it came from and what else the gateway says
/// about the skill in `_meta`.
///
/// What the origin wrote there under the same names is replaced, so that no origin speaks for the gateway.
pub fn passed_on_entry(
    text: &str,
    mapping: &UriMapping,
    instance: &GatewayId,
    notes: &Map<String, Value>,
) -> Result<String, NotPassedOn> {
    let RawObject(members) = object(text).ok_or(NotPassedOn::Unreadable)?;
    let mut entry = ObjectText::new();
    let mut has_meta = false;
    for (name, value) in members {
        match name.as_str() {
            "uri" => entry.member(&name, &rewritten(value, mapping)?),
            "resources" => entry.member(&name, &resources(value, mapping)?),
            "_meta" => {
                entry.member(&name, &annotated(value, mapping.origin(), instance, notes)?);
                has_meta = true;
            }
            _ => entry.member(&name, &compact(value)),
        }
    }
    if !has_meta {
        let mut meta = ObjectText::new();
        meta.member(PROVENANCE, &note(&Provenance::default(), mapping.origin(), instance)?);
        add_notes(&mut meta, notes);
        entry.member("_meta", &meta.finish());
    }
    Ok(entry.finish())
}

/// The text of an entry: as its server wrote it if the host kept that, otherwise written anew from
/// the members that the host understood, which are then all that the server wrote.
pub fn text_of(listed: &ListedSkill) -> Cow<'_, str> {
    let understood = || {
        let entry = serde_json::to_string(&**listed.entry()).unwrap_or_default();
        match (listed.meta(), entry.strip_suffix('}')) {
            (Some(meta), Some(open)) => format!("{open},\"_meta\":{meta}}}").into(),
            _ => entry.into(),
        }
    };
    listed.text().map_or_else(understood, |text| Cow::Borrowed(&**text))
}

fn rewritten(uri: &RawValue, mapping: &UriMapping) -> Result<String, NotPassedOn> {
    let text: String = serde_json::from_str(uri.get()).map_err(|_| NotPassedOn::Unreadable)?;
    let uri = ResourceUri::parse(&text).map_err(|_| NotPassedOn::Unreadable)?;
    let uri = mapping.passed_on(&uri).ok_or(NotPassedOn::Unreadable)?;
    Ok(string(uri.as_str()))
}

/// Rewrites the URIs of a manifest; `"dynamic"` is passed on unchanged.
fn resources(value: &RawValue, mapping: &UriMapping) -> Result<String, NotPassedOn> {
    if !value.get().starts_with('[') {
        return Ok(compact(value));
    }
    let files: Vec<&RawValue> =
        serde_json::from_str(value.get()).map_err(|_| NotPassedOn::Unreadable)?;
    let mut list = Vec::with_capacity(files.len());
    for file in files {
        let RawObject(members) = object(file.get()).ok_or(NotPassedOn::Unreadable)?;
        let mut element = ObjectText::new();
        for (name, value) in members {
            let json = if name == "uri" { rewritten(value, mapping)? } else { compact(value) };
            element.member(&name, &json);
        }
        list.push(element.finish());
    }
    Ok(format!("[{}]", list.join(",")))
}

/// Adds the gateway's note to `_meta`. A note that is already there under the same key lists the
/// gateways before this one; the new note continues that list and replaces it.
fn annotated(
    meta: &RawValue,
    origin: &Origin,
    instance: &GatewayId,
    notes: &Map<String, Value>,
) -> Result<String, NotPassedOn> {
    // Only an object has room for a note; anything else is passed on as it is.
    let Some(RawObject(members)) = object(meta.get()) else { return Ok(compact(meta)) };
    let mut hops = Provenance::default();
    let mut annotated = ObjectText::new();
    for (name, value) in members {
        if name == PROVENANCE {
            let before = serde_json::from_str(value.get()).map_err(|_| NotPassedOn::Unreadable)?;
            hops = Provenance::read(&before);
        } else if !notes.contains_key(&name) {
            annotated.member(&name, &compact(value));
        }
    }
    annotated.member(PROVENANCE, &note(&hops, origin, instance)?);
    add_notes(&mut annotated, notes);
    Ok(annotated.finish())
}

fn add_notes(meta: &mut ObjectText, notes: &Map<String, Value>) {
    for (name, value) in notes {
        meta.member(name, &value.to_string());
    }
}

fn note(hops: &Provenance, origin: &Origin, instance: &GatewayId) -> Result<String, NotPassedOn> {
    let hops = hops.clone().and(instance).ok_or(NotPassedOn::Circle)?;
    Ok(hops.note(origin).to_string())
}
