//! Opens archives in memory, so that what is inside is looked at like any other file.

use std::{borrow::Cow, collections::HashSet, io::Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::{
    ScanCoverage, SkillFiles, UnseenReason,
    file_kind::{FileKind, is_tar},
    image,
    skill::FileContent,
};

/// What stands between the path of an archive and the path of a file in it.
pub(crate) const INSIDE: &str = "!/";

/// How deep archives are opened in archives.
const MAX_DEPTH: usize = 3;

/// The most bytes that are unpacked of all archives of a skill, for each byte of them, so that a small
/// archive cannot make much work.
const MOST_UNPACKED: usize = 4;

/// How many bytes more are unpacked.
const UNPACKED_ALWAYS: usize = 256 * 1_024;

/// The most entries of one archive.
const MOST_ENTRIES: usize = 2_000;

/// What archives and images of a skill hold.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) files: Vec<InnerFile>,
    /// The archives whose entries are in `files`, or are reported one by one.
    opened: HashSet<String>,
}

/// A file inside of another one.
#[derive(Debug)]
pub(crate) struct InnerFile {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl Unpacked {
    /// Opens what a skill has. What cannot be opened is reported.
    pub(crate) fn of(skill: &SkillFiles, coverage: &mut ScanCoverage) -> Self {
        let mut unpacked = Self::default();
        let mut waiting: Vec<(String, Cow<'_, [u8]>, usize)> = Vec::new();
        let mut budget = UNPACKED_ALWAYS;
        for file in skill.files.iter().rev() {
            if let FileContent::Read(bytes) = &file.content
                && bytes.len() <= crate::scanner::MOST_FILE_BYTES
                && may_hold_others(bytes)
            {
                budget += bytes.len() * MOST_UNPACKED;
                waiting.push((file.path.clone(), Cow::Borrowed(bytes), 0));
            }
        }
        while let Some((path, bytes, depth)) = waiting.pop() {
            let found = Vec::new();
            let mut entries = Entries { archive: &path, found, coverage, budget, paid: false };
            let opened = match FileKind::of(&bytes) {
                FileKind::Archive if depth >= MAX_DEPTH => false,
                FileKind::Archive => entries.open(&bytes),
                FileKind::Image => {
                    if let Some(rest) = image::after_the_end(&bytes) {
                        entries.add("(after the image)", rest);
                    }
                    false
                }
                _ => false,
            };
            let Entries { found, budget: left, .. } = entries;
            budget = left;
            if opened {
                unpacked.opened.insert(path);
            }
            for (path, bytes) in found {
                if depth < MAX_DEPTH && may_hold_others(&bytes) {
                    waiting.push((path.clone(), Cow::Owned(bytes.clone()), depth + 1));
                }
                unpacked.files.push(InnerFile { path, bytes });
            }
        }
        unpacked
    }

    /// Tells whether an archive was opened.
    pub(crate) fn opened(&self, path: &str) -> bool {
        self.opened.contains(path)
    }
}

/// The path of the file of the skill that a path leads into.
pub(crate) fn outer(path: &str) -> &str {
    path.split_once(INSIDE).map_or(path, |(outer, _)| outer)
}

fn may_hold_others(bytes: &[u8]) -> bool {
    let is_other = |kind| matches!(kind, FileKind::Archive | FileKind::Image);
    // Most files do not even begin like one.
    FileKind::by_first_bytes(bytes).is_some_and(is_other) && is_other(FileKind::of(bytes))
}

const ZIP: &[u8] = b"PK\x03\x04";
const SEVEN_ZIP: &[u8] = b"7z\xbc\xaf\x27\x1c";
const RAR_4: &[u8] = b"Rar!\x1a\x07\x00";
const RAR_5: &[u8] = b"Rar!\x1a\x07\x01\x00";

/// Tells whether an archive, or a file in it, has a password.
pub(crate) fn needs_password(bytes: &[u8]) -> bool {
    if bytes.starts_with(ZIP) {
        let first = bytes.get(6).is_some_and(|flags| flags & 1 == 1);
        let listed = |list: ZipList<'_>| list.entries.iter().any(|it| it.encrypted);
        return first || zip_list(bytes).is_some_and(listed);
    }
    if bytes.starts_with(SEVEN_ZIP) {
        // The name of the cipher, in the list of what the archive was made with at its end. A list that
        // is compressed itself cannot be seen.
        let end = &bytes[bytes.len().saturating_sub(4_096)..];
        return end.windows(4).any(|it| it == b"\x06\xf1\x07\x01");
    }
    if bytes.starts_with(RAR_5) {
        // A sum of four bytes, a size, and the kind of the first block: 4 if the list is encrypted.
        return bytes.get(13) == Some(&4);
    }
    if bytes.starts_with(RAR_4) {
        // The flags of the archive, and those of its first file.
        let flags = |at: usize| bytes.get(at).copied().unwrap_or_default();
        return flags(10) & 0x80 != 0 || (flags(22) == 0x74 && flags(23) & 0x04 != 0);
    }
    false
}

/// The entries of one archive, as they are read.
struct Entries<'a> {
    archive: &'a str,
    found: Vec<(String, Vec<u8>)>,
    coverage: &'a mut ScanCoverage,
    /// How many bytes may still be unpacked.
    budget: usize,
    /// Whether what is added is part of what was unpacked and counted already.
    paid: bool,
}

impl Entries<'_> {
    /// Opens an archive; false for kinds that are not opened.
    fn open(&mut self, bytes: &[u8]) -> bool {
        if bytes.starts_with(ZIP) {
            self.zip(bytes);
        } else if bytes.starts_with(b"\x1f\x8b") {
            self.gzip(bytes);
        } else if is_tar(bytes) {
            self.tar(bytes);
        } else {
            return false;
        }
        true
    }

    fn path(&self, name: &str) -> String {
        format!("{}{INSIDE}{}", self.archive, name.trim_start_matches('/'))
    }

    fn add<'b>(&mut self, name: &str, bytes: impl Into<Cow<'b, [u8]>>) {
        let bytes = bytes.into();
        if !self.paid {
            if bytes.len() > self.budget {
                self.miss(name, Some(bytes.len() as u64), UnseenReason::TooLarge);
                return;
            }
            self.budget -= bytes.len();
        }
        self.found.push((self.path(name), bytes.into_owned()));
    }

    fn miss(&mut self, name: &str, size: Option<u64>, reason: UnseenReason) {
        let path = self.path(name);
        self.coverage.miss(&path, size, reason);
    }

    /// Adds what a decoder makes, up to the budget. What is over it is reported, and the rest looked at.
    fn inflate(&mut self, name: &str, from: impl Read) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = self.budget as u64;
        let read = from.take(most + 1).read_to_end(&mut bytes);
        if read.is_err() {
            self.miss(name, None, UnseenReason::Unreadable);
        }
        if bytes.len() as u64 > most {
            bytes.truncate(self.budget);
            self.miss(name, None, UnseenReason::TooLarge);
        }
        (!bytes.is_empty()).then_some(bytes)
    }

    fn zip(&mut self, bytes: &[u8]) {
        let Some(list) = zip_list(bytes) else {
            self.coverage.miss(self.archive, Some(bytes.len() as u64), UnseenReason::Unreadable);
            return;
        };
        if list.entries.len() >= MOST_ENTRIES {
            self.coverage.miss(self.archive, Some(bytes.len() as u64), UnseenReason::TooLarge);
        } else if !list.whole {
            self.coverage.miss(self.archive, Some(bytes.len() as u64), UnseenReason::Unreadable);
        }
        for entry in list.entries {
            let name = String::from_utf8_lossy(entry.name);
            if name.ends_with('/') {
                continue;
            }
            if !entry.agrees {
                self.miss(&name, Some(u64::from(entry.size)), UnseenReason::Unreadable);
            }
            let reason = match (entry.data, entry.method) {
                _ if entry.encrypted => UnseenReason::Encrypted,
                (Some(data), 0) => {
                    self.add(&name, data);
                    continue;
                }
                (Some(data), 8) => {
                    if let Some(bytes) = self.inflate(&name, DeflateDecoder::new(data)) {
                        self.add(&name, bytes);
                    }
                    continue;
                }
                (Some(_), _) => UnseenReason::Archive,
                (None, _) => UnseenReason::Unreadable,
            };
            self.miss(&name, Some(u64::from(entry.size)), reason);
        }
    }

    fn gzip(&mut self, bytes: &[u8]) {
        let name = self.archive.rsplit('/').next().unwrap_or(self.archive);
        let name = name.strip_suffix(".gz").unwrap_or(name).to_owned();
        let Some(bytes) = self.inflate(&name, MultiGzDecoder::new(bytes)) else { return };
        if is_tar(&bytes) {
            self.budget -= bytes.len();
            self.paid = true;
            self.tar(&bytes);
        } else {
            self.add(&name, bytes);
        }
    }

    fn tar(&mut self, bytes: &[u8]) {
        let mut at = 0;
        let mut long_name: Option<String> = None;
        for _ in 0..MOST_ENTRIES {
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.iter().take(512).all(|byte| *byte == 0) {
                return;
            }
            let Some((header, size)) = tar_header(rest) else { break };
            let end = size.saturating_add(512).min(rest.len());
            let data = rest.get(512..end).unwrap_or_default();
            let short = data.len() < size;
            let name = long_name.take().unwrap_or_else(|| tar_name(header));
            match header[156] {
                b'L' => long_name = Some(text_until_nul(data)),
                b'x' => long_name = pax_path(data),
                b'0' | 0 | b'7' => {
                    if short {
                        self.miss(&name, Some(size as u64), UnseenReason::Unreadable);
                    }
                    self.add(&name, data);
                }
                b'1' | b'2' => self.miss(&name, None, UnseenReason::Link),
                b'5' | b'g' | b'K' => {}
                _ => self.miss(&name, Some(size as u64), UnseenReason::Unreadable),
            }
            at = at.saturating_add(512).saturating_add(size.div_ceil(512).saturating_mul(512));
            if at >= bytes.len() {
                return;
            }
        }
        self.coverage.miss(self.archive, Some(bytes.len() as u64), UnseenReason::Unreadable);
    }
}

/// A header of a tape archive, and how many bytes of data follow it.
fn tar_header(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let header = bytes.get(..512).filter(|header| is_tar(header))?;
    let size = std::str::from_utf8(&header[124..136]).ok()?;
    let size = size.trim_matches(|c| matches!(c, ' ' | '\0'));
    Some((header, if size.is_empty() { 0 } else { usize::from_str_radix(size, 8).ok()? }))
}

fn tar_name(header: &[u8]) -> String {
    let name = text_until_nul(&header[..100]);
    let has_prefix = header.get(257..262) == Some(b"ustar");
    let prefix = if has_prefix { text_until_nul(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

fn text_until_nul(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(4_096)]).into_owned()
}

/// The path in an extended header: lines such as `30 path=folder/name`.
fn pax_path(data: &[u8]) -> Option<String> {
    let lines = data.split(|byte| *byte == b'\n');
    let path = lines.filter_map(|line| {
        let at = line.windows(6).position(|it| it == b" path=")?;
        Some(String::from_utf8_lossy(&line[at + 6..]).into_owned())
    });
    path.take(1).next()
}

/// A file in a ZIP archive, as its list names it.
struct ZipEntry<'a> {
    name: &'a [u8],
    encrypted: bool,
    method: u16,
    size: u32,
    /// The compressed bytes, if they are where the list says.
    data: Option<&'a [u8]>,
    /// Whether the header before the data names the same size. Some programs go by that one.
    agrees: bool,
}

/// The files of a ZIP archive.
struct ZipList<'a> {
    entries: Vec<ZipEntry<'a>>,
    /// Whether these are as many as the archive says, with nothing behind them.
    whole: bool,
}

/// The list at the end of a ZIP archive, which is what most programs that unpack it go by.
fn zip_list(bytes: &[u8]) -> Option<ZipList<'_>> {
    let u16_at = |at: usize| {
        let it = bytes.get(at..at.checked_add(2)?)?;
        Some(u16::from_le_bytes([it[0], it[1]]))
    };
    let u32_at = |at: usize| {
        let it = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes([it[0], it[1], it[2], it[3]]))
    };
    // The record at the end may have a comment behind it.
    let from = bytes.len().saturating_sub(66_000);
    let end = bytes[from..].windows(4).rposition(|it| it == b"PK\x05\x06")? + from;
    let count = usize::from(u16_at(end + 10)?);
    let length = u32_at(end + 12)? as usize;
    let comment = usize::from(u16_at(end + 20)?);
    // Where the list really begins: a program before the archive shifts every place in it.
    let start = end.checked_sub(length)?;
    let shift = start.checked_sub(u32_at(end + 16)? as usize)?;
    let mut at = start;
    let mut entries = Vec::new();
    while at < end && entries.len() < MOST_ENTRIES {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            break;
        }
        let (flags, method) = (u16_at(at + 8)?, u16_at(at + 10)?);
        let (packed, size) = (u32_at(at + 20)? as usize, u32_at(at + 24)?);
        let name_length = usize::from(u16_at(at + 28)?);
        let more = usize::from(u16_at(at + 30)?) + usize::from(u16_at(at + 32)?);
        let local = (u32_at(at + 42)? as usize).checked_add(shift)?.min(bytes.len());
        let name = bytes.get(at + 46..at + 46 + name_length)?;
        let data = || {
            if bytes.get(local..local + ZIP.len())? != ZIP {
                return None;
            }
            let names = usize::from(u16_at(local + 26)?) + usize::from(u16_at(local + 28)?);
            let from = local.checked_add(30)?.checked_add(names)?;
            bytes.get(from..from.checked_add(packed)?)
        };
        // A size that is not known before the data stands behind it.
        let agrees = u16_at(local + 6).is_some_and(|flags| flags & 8 != 0)
            || u32_at(local + 18).is_some_and(|it| it as usize == packed);
        let (encrypted, data) = (flags & 1 == 1, data());
        entries.push(ZipEntry { name, encrypted, method, size, data, agrees });
        at += 46 + name_length + more;
    }
    let whole = at == end && entries.len() == count && end + 22 + comment == bytes.len();
    Some(ZipList { entries, whole })
}

/// Inflates a few bytes; what is over a limit is left out, and the second value is false.
pub(crate) fn inflate_zlib(bytes: &[u8], most: usize) -> (Vec<u8>, bool) {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(bytes).take(most as u64 + 1).read_to_end(&mut text);
    let whole = read.is_ok() && text.len() <= most;
    text.truncate(most);
    (text, whole)
}
