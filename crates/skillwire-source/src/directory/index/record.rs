//! Encodes everything that is reported of a group.
//!
//! Equal groups have equal bytes, so that a digest of them tells whether there is anything to
//! report. The bytes can be decoded, so that a later start need not read the files.

use std::{any::Any, collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use skillwire_core::{
    Code, Digest, Excerpt, Exemption, Finding, Level, Position, RelPath, SkillUri, Span,
    repair::{Edit, Repair},
};

use super::{
    Layout,
    codec::{ByteReader, put_bytes, put_number, put_text},
};
use crate::{
    directory::file_store::{DirectoryFiles, RootDir},
    entry_text::EntryText,
    skill::{FileRecord, FileTree, Skill, SkillContent},
    source::InspectedSkill,
};

/// Encodes a group.
pub(in crate::directory) fn encode(inspected: &[InspectedSkill]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2_048);
    put_number(&mut out, inspected.len());
    for InspectedSkill { origin, findings, skill } in inspected {
        put_text(&mut out, origin);
        put_number(&mut out, findings.len());
        for finding in findings {
            put_finding(&mut out, finding);
        }
        match skill {
            Some(skill) => put_skill(&mut out, skill),
            None => out.push(0),
        }
    }
    out
}

/// Decodes a group; `None` if the bytes are not valid, or what is reported of the same files has changed.
pub(super) fn decode(
    bytes: &[u8],
    layout: Layout,
    root: &Arc<RootDir>,
    group: &Arc<str>,
) -> Option<Vec<InspectedSkill>> {
    let mut reader = ByteReader::new(bytes);
    let inspected = reader.list(|reader| {
        let origin = reader.text()?.to_owned();
        let findings = reader.list(|reader| finding(reader, layout))?;
        let skill = match reader.byte()? {
            0 => None,
            1 => Some(Arc::new(skill(reader, root, group)?)),
            _ => return None,
        };
        Some(InspectedSkill { origin, findings, skill })
    })?;
    reader.is_at_end().then_some(inspected)
}

fn put_finding(out: &mut Vec<u8>, finding: &Finding) {
    let Finding {
        code,
        level,
        file,
        position,
        end,
        span,
        excerpt,
        message,
        help,
        repair,
        exemption,
    } = finding;
    put_text(out, code.as_str());
    put_text(out, level.as_str());
    put_text(out, file);
    put_text(out, message);
    put_pair(out, position.map(|position| (position.line, position.column)));
    put_pair(out, end.map(|end| (end.line, end.column)));
    put_pair(out, span.map(pair));
    put_option(out, help.as_deref());
    put_option(out, excerpt.as_ref().map(Excerpt::text));
    put_pair(out, excerpt.as_ref().map(|excerpt| pair(excerpt.marked())));
    let (edits, name) = match repair {
        None => (&[][..], None),
        Some(Repair::Replace(edits)) => (&edits[..], None),
        Some(Repair::Rename(name)) => (&[][..], Some(name.as_str())),
    };
    put_option(out, name);
    put_number(out, edits.len());
    for edit in edits {
        put_number(out, edit.span.start);
        put_number(out, edit.span.end);
        put_text(out, &edit.text);
    }
    let pattern = match exemption {
        Some(Exemption::SecretFile(pattern)) => Some(pattern.as_str()),
        _ => None,
    };
    out.push(exemption.as_ref().map_or(0, exemption_number));
    put_option(out, pattern);
}

fn exemption_number(exemption: &Exemption) -> u8 {
    match exemption {
        Exemption::SecretFile(_) => 1,
        Exemption::FollowLinks => 2,
        Exemption::HardLinks => 3,
        // What concerns no group of skills is not recorded.
        _ => 0,
    }
}

/// Tells whether a finding with this code may have an exemption that a record holds.
fn may_be_exempt(code: Code) -> bool {
    matches!(code, Code::SecretFile | Code::SecretText | Code::SymlinkNotScanned | Code::HardLink)
}

/// Bytes that no record of this version has.
struct Unreadable;

fn exemption(reader: &mut ByteReader<'_>) -> Result<Option<Exemption>, Unreadable> {
    let number = reader.byte().ok_or(Unreadable)?;
    let pattern = reader.list(text).ok_or(Unreadable)?.pop();
    match (number, pattern) {
        (0, None) => Ok(None),
        (1, Some(pattern)) => Ok(Some(Exemption::SecretFile(pattern))),
        (2, None) => Ok(Some(Exemption::FollowLinks)),
        (3, None) => Ok(Some(Exemption::HardLinks)),
        _ => Err(Unreadable),
    }
}

fn finding(reader: &mut ByteReader<'_>, layout: Layout) -> Option<Finding> {
    let code = reader.text()?;
    let code = Code::ALL.iter().copied().find(|known| known.as_str() == code)?;
    let level = reader.text()?;
    let levels = [Level::Advice, Level::Info, Level::Warning, Level::Error];
    let level = levels.into_iter().find(|known| known.as_str() == level)?;
    let file = reader.text()?.to_owned();
    let message = reader.text()?.to_owned();
    let position = reader.list(position)?.pop();
    let end = reader.list(self::position)?.pop();
    let span = reader.list(self::span)?.pop();
    let help = reader.list(text)?.pop();
    let shown = reader.list(text)?.pop();
    let marked = reader.list(self::span)?.pop();
    let excerpt = match shown.zip(marked) {
        Some((text, marked)) => Some(Excerpt::from_parts(text, marked)?),
        None => None,
    };
    let name = reader.list(text)?.pop();
    let edits = reader.list(|reader| Some(Edit::new(self::span(reader)?, reader.text()?)))?;
    let replace = (!edits.is_empty()).then_some(Repair::Replace(edits));
    let repair = name.map(Repair::Rename).or(replace);
    let exemption = match layout {
        Layout::Current => exemption(reader).ok()?,
        // The help of such a finding named an option instead, so its skill is read again.
        Layout::WithoutExemptions if may_be_exempt(code) => return None,
        Layout::WithoutExemptions => None,
    };
    Some(Finding {
        code,
        level,
        file,
        position,
        end,
        span,
        excerpt,
        message,
        help,
        repair,
        exemption,
    })
}

fn position(reader: &mut ByteReader<'_>) -> Option<Position> {
    Some(Position { line: reader.number()?, column: reader.number()? })
}

fn span(reader: &mut ByteReader<'_>) -> Option<Span> {
    Some(Span::new(reader.number()?, reader.number()?))
}

fn text(reader: &mut ByteReader<'_>) -> Option<String> {
    reader.text().map(str::to_owned)
}

fn pair(span: Span) -> (usize, usize) {
    (span.start, span.end)
}

/// An option is encoded as a list of none or one.
fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    put_number(out, usize::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

fn put_pair(out: &mut Vec<u8>, pair: Option<(usize, usize)>) {
    put_number(out, usize::from(pair.is_some()));
    if let Some((one, two)) = pair {
        put_number(out, one);
        put_number(out, two);
    }
}

fn put_skill(out: &mut Vec<u8>, skill: &Skill) {
    // Folders have no provenance beside their entry.
    let Skill { uri, entry, content, listed: _, provenance: _ } = skill;
    // Only files of a directory come here; anything else cannot be read again and is not kept.
    let SkillContent::Files(tree) = content else { return out.push(2) };
    let store: &dyn Any = &*tree.store;
    let Some(store) = store.downcast_ref::<DirectoryFiles>() else { return out.push(2) };
    out.push(1);
    put_text(out, uri.as_str());
    put_text(out, &entry.text());
    put_text(out, &store.inside);
    put_number(out, store.links.len());
    for (link, file) in &store.links {
        put_text(out, link.as_str());
        put_text(out, file);
    }
    put_number(out, tree.files.len());
    for file in &tree.files {
        put_text(out, file.path.as_str());
        put_text(out, file.media_type);
        out.extend_from_slice(&file.size.to_le_bytes());
        put_bytes(out, file.digest.as_bytes());
    }
    put_number(out, tree.empty_directories.len());
    for directory in &tree.empty_directories {
        put_text(out, directory.as_str());
    }
}

fn skill(reader: &mut ByteReader<'_>, root: &Arc<RootDir>, group: &Arc<str>) -> Option<Skill> {
    let uri = SkillUri::parse(reader.text()?).ok()?;
    let entry = EntryText::from(reader.text()?);
    let inside = reader.text()?.into();
    let path = |reader: &mut ByteReader<'_>| RelPath::parse(reader.text()?).ok();
    let links = reader.list(|reader| Some((path(reader)?, path(reader)?.as_str().into())))?;
    let files = reader.list(|reader| {
        let path = path(reader)?;
        let media_type = media_type(reader.text()?)?;
        let bytes = u64::from_le_bytes(reader.array()?);
        Some(FileRecord { path, digest: digest(reader)?, size: bytes, media_type })
    })?;
    let empty_directories = reader.list(path)?.into();
    let (root, group) = (Arc::clone(root), Arc::clone(group));
    let store = Arc::new(DirectoryFiles { root, group, inside, links: links.into() });
    let tree = FileTree { files: files.into(), empty_directories, store };
    Some(Skill { uri, entry, content: SkillContent::Files(tree), listed: true, provenance: None })
}

/// Reads the bytes of a digest.
pub(super) fn digest(reader: &mut ByteReader<'_>) -> Option<Digest> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes: [u8; 32] = reader.array()?;
    // A digest is made in two ways only: by hashing, or by parsing its text.
    let mut text = [0; 71];
    text[..7].copy_from_slice(b"sha256:");
    for (pair, byte) in text[7..].chunks_exact_mut(2).zip(bytes) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
    std::str::from_utf8(&text).ok()?.parse().ok()
}

/// The media type with this text, as a string that lives as long as the program.
///
/// A type that is not known yet is leaked once and then reused. Only some dozen exist. A limit on
/// their number and length keeps a damaged index from leaking more.
fn media_type(text: &str) -> Option<&'static str> {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock();
    if let Some(known) = known.get(text) {
        return Some(known);
    }
    if known.len() >= 256 || text.len() > 128 {
        return None;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    known.insert(kept);
    Some(kept)
}
