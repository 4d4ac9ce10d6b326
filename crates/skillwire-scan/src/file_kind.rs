//! What the bytes of a file are.

use crate::{language::Language, text::passage::FileRole};

/// What a file is, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Text,
    Image,
    Archive { encrypted: bool },
    Compiled,
    Binary,
}

impl FileKind {
    /// Looks at the first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let begins = |magic: &[u8]| bytes.starts_with(magic);
        if begins(b"\x7fELF")
            || begins(b"\xfe\xed\xfa")
            || begins(b"\xcf\xfa\xed\xfe")
            || begins(b"\xca\xfe\xba\xbe")
            || begins(b"\0asm")
            || begins(b"!<arch>\n")
            || begins(b"dex\n")
            || (begins(b"MZ") && bytes.len() > 64)
            || is_python_byte_code(bytes)
        {
            return Self::Compiled;
        }
        if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
            // Bit 0 of the flags of the first entry.
            return Self::Archive { encrypted: bytes.get(6).is_some_and(|flags| flags & 1 == 1) };
        }
        if begins(b"7z\xbc\xaf\x27\x1c")
            || begins(b"Rar!\x1a\x07")
            || begins(b"\x1f\x8b\x08")
            || begins(b"BZh")
            || begins(b"\xfd7zXZ\0")
            || begins(b"\x28\xb5\x2f\xfd")
            || bytes.get(257..262) == Some(b"ustar")
        {
            return Self::Archive { encrypted: false };
        }
        if begins(b"\x89PNG\r\n\x1a\n")
            || begins(b"\xff\xd8\xff")
            || begins(b"GIF8")
            || begins(b"RIFF")
        {
            return Self::Image;
        }
        let sample = &bytes[..bytes.len().min(8_192)];
        let odd = sample.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
        // A few stray bytes do not make a text binary: that would be a way to hide it.
        if odd * 20 > sample.len() || (sample.contains(&0) && std::str::from_utf8(sample).is_err())
        {
            Self::Binary
        } else {
            Self::Text
        }
    }
}

/// Python's byte code: a version, `\r\n`, and flags that are small.
fn is_python_byte_code(bytes: &[u8]) -> bool {
    bytes.get(2..4) == Some(b"\r\n") && bytes.get(4..8).is_some_and(|flags| flags[1..] == [0, 0, 0])
}

/// What a file is for, by its path and its language.
pub(crate) fn role(path: &str, language: Option<Language>) -> FileRole {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    if name == "skill.md" {
        return FileRole::Instructions;
    }
    if language.is_some() {
        return FileRole::Script;
    }
    match end {
        "md" | "markdown" | "mdx" | "txt" | "rst" | "adoc" => FileRole::Reference,
        "rb" | "pl" | "php" | "lua" | "bat" | "cmd" | "vbs" | "applescript" | "scpt" | "fish"
        | "go" | "rs" | "java" | "swift" | "c" | "cpp" | "cs" => FileRole::Script,
        _ => FileRole::Data,
    }
}

/// The text fields of an image: PNG's `tEXt` and `iTXt`, JPEG's comments and XMP.
pub(crate) fn image_texts(bytes: &[u8]) -> Vec<String> {
    if bytes.starts_with(b"\x89PNG") { png_texts(bytes) } else { jpeg_texts(bytes) }
}

/// The most text fields of one image.
const MOST_FIELDS: usize = 64;

fn png_texts(bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut at = 8;
    while let Some(header) = bytes.get(at..at + 8) {
        let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(data) = bytes.get(at + 8..(at + 8).saturating_add(length)) else { break };
        let kind = &header[4..8];
        if (kind == b"tEXt" || kind == b"iTXt") && texts.len() < MOST_FIELDS {
            let words: Vec<_> =
                data.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
            let text: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
            texts.push(text.join(" "));
        }
        at = at.saturating_add(12).saturating_add(length);
    }
    texts
}

fn jpeg_texts(bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut at = 2;
    while let Some(&[0xff, marker, high, low]) = bytes.get(at..at + 4) {
        if !(0xc0..=0xfe).contains(&marker) || marker == 0xda || texts.len() >= MOST_FIELDS {
            break;
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(data) = bytes.get(at + 4..(at + 2).saturating_add(length)) else { break };
        if marker == 0xfe || (marker == 0xe1 && data.starts_with(b"http://ns.adobe.com/xap")) {
            texts.push(String::from_utf8_lossy(data).into_owned());
        }
        at += 2 + length;
    }
    texts
}
