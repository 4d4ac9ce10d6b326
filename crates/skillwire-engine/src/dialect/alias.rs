//! Resolves URIs that are not those of files as the extension knows them.
//!
//! An alias becomes a skill and a path before anything else looks at it, so that access rules for
//! the skill apply to every spelling of it. It is decoded exactly once and compared with what is
//! served. It never becomes part of another URI or path, so it cannot lead out of a skill.

use std::sync::Arc;

use skillwire_core::{RelPath, percent::decode};
use skillwire_dialects::{
    fastmcp::MANIFEST,
    index,
    skills_over_mcp::{INDEX, PROMPT_XML},
    usage::Usage,
};
use skillwire_protocol::{Era, RpcError};
use skillwire_source::{Skill, SkillContent};

use super::{
    Dialect, DialectPart,
    archives::{self, ArchiveFormat},
    fastmcp,
    names::{LookupNames, NameLookup},
    skills_over_mcp, usage,
};
use crate::engine::OwnedCall;

/// The longest URI that is examined; a name has 64 characters.
const MAX_BYTES: usize = 16 * 1024;

/// The resource that an alias stands for.
#[derive(Debug, Clone)]
pub(crate) enum AliasTarget {
    /// `skill://index.json`.
    Index,
    /// A whole skill as an archive.
    Archive(Arc<Skill>, ArchiveFormat),
    /// The list of a skill's files.
    Manifest(Arc<Skill>),
    /// `skill://index`.
    PlainIndex,
    /// `skill://prompt-xml`.
    PromptXml,
    /// A file of a skill.
    File(Arc<Skill>, RelPath),
    /// All files of a skill but `SKILL.md`.
    Collection(Arc<Skill>),
    /// The list of a skill's other files, under the name by which the skill was requested.
    Documents(Arc<Skill>, String),
    /// The guide to the server.
    Usage(Arc<Skill>),
}

/// Resolves a URI that is not a file.
pub(crate) async fn resolve(call: &OwnedCall, uri: &str) -> Result<Option<AliasTarget>, RpcError> {
    if let Some(found) = without_names(call, uri) {
        return Ok(Some(found));
    }
    let Some(alias) = by_name(call, uri) else { return Ok(None) };
    let names = call.names().await?;
    Ok(alias.find(call, &names, uri))
}

/// Resolves a URI without waiting, for callers that cannot await.
pub(crate) fn resolve_now(call: &OwnedCall, uri: &str) -> Option<AliasTarget> {
    without_names(call, uri).or_else(|| by_name(call, uri)?.find(call, &call.names_now(), uri))
}

/// Resolves aliases that contain no skill name.
fn without_names(call: &OwnedCall, uri: &str) -> Option<AliasTarget> {
    if uri == index::URI && call.speaks(Dialect::Index) {
        return Some(AliasTarget::Index);
    }
    if call.shows(DialectPart::Archives)
        && let Some((skill, format)) = archives::named_by(&call.snapshot, uri)
    {
        return Some(AliasTarget::Archive(Arc::clone(skill), format));
    }
    if call.speaks(Dialect::FastMcp)
        && let Some(skill) = fastmcp::skill_of(&call.snapshot, uri)
    {
        return Some(AliasTarget::Manifest(Arc::clone(skill)));
    }
    let over_mcp = call.speaks(Dialect::SkillsOverMcp);
    match uri {
        INDEX if over_mcp => Some(AliasTarget::PlainIndex),
        PROMPT_XML if over_mcp => Some(AliasTarget::PromptXml),
        _ => None,
    }
}

/// A URI that begins with the name of a skill, in segments.
#[derive(Debug)]
struct ByName {
    segments: Vec<String>,
    slash: bool,
}

/// Cuts a URI into decoded segments, if the client may use names and every segment is safe.
fn by_name(call: &OwnedCall, uri: &str) -> Option<ByName> {
    let spoken = [Dialect::FastMcp, Dialect::Skilljack, Dialect::SkillsOverMcp, Dialect::Usage];
    if uri.len() > MAX_BYTES || !call.config().dialects.any(&spoken, call.era()) {
        return None;
    }
    let rest = uri.strip_prefix("skill://")?;
    let slash = rest.ends_with('/');
    let path = rest.strip_suffix('/').unwrap_or(rest);
    let segments: Option<Vec<String>> = path.split('/').map(segment).collect();
    segments.map(|segments| ByName { segments, slash })
}

/// Decodes a segment once; returns `None` if the result is more than one segment or leads upwards.
fn segment(encoded: &str) -> Option<String> {
    let plain = decode(encoded).ok()?;
    let hides = plain.contains(['/', '\\', '\0']) || matches!(&*plain, "" | "." | "..");
    (!hides).then_some(plain)
}

impl ByName {
    fn find(&self, call: &OwnedCall, names: &LookupNames, uri: &str) -> Option<AliasTarget> {
        let on = |dialect| call.speaks(dialect);
        let by_name = |name: &str| match names.find(&call.snapshot, name) {
            NameLookup::Skill(skill) => Some(Arc::clone(skill)),
            NameLookup::Ambiguous(_) | NameLookup::Nothing => None,
        };
        let whole = |skill| AliasTarget::File(skill, RelPath::skill_file());
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let (jack, over_mcp) = (on(Dialect::Skilljack), on(Dialect::SkillsOverMcp));
        let flat = call.era() == Era::Legacy && (jack || over_mcp || on(Dialect::FastMcp));
        let found = match (&*segments, self.slash) {
            ([name], false) if jack || over_mcp => by_name(name).map(whole),
            ([name], true) if jack => by_name(name).map(AliasTarget::Collection),
            (["lookup", name], false) if over_mcp => by_name(name).map(whole),
            _ => None,
        };
        let documents = || match &*segments {
            [name, "documents"] if over_mcp && !self.slash => by_name(name)
                .filter(|skill| skills_over_mcp::list(skill, name).is_some())
                .map(|skill| AliasTarget::Documents(skill, (*name).to_owned())),
            [name, "document", path @ ..] if over_mcp && !self.slash && !path.is_empty() => {
                file(by_name(name)?, path)
            }
            _ => None,
        };
        let below = || match &*segments {
            [name, path @ ..] if flat && !self.slash && !path.is_empty() => {
                let skill = by_name(name)?;
                let synthetic =
                    *path == [MANIFEST] && on(Dialect::FastMcp) && fastmcp::tree(&skill).is_some();
                if synthetic { Some(AliasTarget::Manifest(skill)) } else { file(skill, path) }
            }
            _ => None,
        };
        // A real file takes precedence; a list or document of the same name is served only without
        // one.
        let real = below().filter(|found| matches!(found, AliasTarget::File(..)));
        found.or(real).or_else(documents).or_else(below).or_else(|| {
            let address = call.config().usage.as_ref().map(Usage::uri);
            let guide = usage::skill(call).filter(|_| address.as_deref() == Some(uri))?;
            // A URI that is already a directory stays one.
            call.snapshot.directory(uri).is_none().then(|| AliasTarget::Usage(Arc::clone(guide)))
        })
    }
}

/// Returns a file of a skill, if the skill may have one at that path.
fn file(skill: Arc<Skill>, path: &[&str]) -> Option<AliasTarget> {
    let path = RelPath::parse(&path.join("/")).ok()?;
    match &skill.content {
        SkillContent::Files(tree) => tree.file(&path)?,
        // Only the generator knows its files, so it is asked when the file is read.
        SkillContent::Generated(_) => return Some(AliasTarget::File(skill, path)),
    };
    Some(AliasTarget::File(skill, path))
}
