//! What the bytes of a file are.

use crate::{language::Language, text::passage::FileRole};

/// How many bytes tell what a file is.
const SAMPLE: usize = 8_192;

/// What a file is, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Text,
    Image,
    Archive,
    Compiled,
    Binary,
}

impl FileKind {
    /// Looks at the bytes. A name of a format at the beginning of a text makes no other file of it:
    /// a shell runs a script that begins with `GIF89a=1`, too.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if is_plain_text(bytes) || utf16_text(bytes).is_some() {
            return Self::Text;
        }
        if let Some(kind) = Self::by_first_bytes(bytes) {
            return kind;
        }
        let sample = sample(bytes);
        // A few stray bytes do not make a text binary: that would be a way to hide it.
        let stray = sample.contains(&0) && std::str::from_utf8(sample).is_err();
        if stray || !is_mostly_text(bytes) { Self::Binary } else { Self::Text }
    }

    /// The format whose name stands at the beginning of the bytes. A text may begin like that, too.
    pub(crate) fn by_first_bytes(bytes: &[u8]) -> Option<Self> {
        let begins = |magic: &[u8]| bytes.starts_with(magic);
        if begins(b"\x7fELF")
            || begins(b"\xfe\xed\xfa")
            || begins(b"\xce\xfa\xed\xfe")
            || begins(b"\xcf\xfa\xed\xfe")
            || begins(b"\xca\xfe\xba\xbe")
            || begins(b"\0asm")
            || begins(b"!<arch>\n")
            || (begins(b"dex\n") && bytes.get(7) == Some(&0))
            || is_windows_program(bytes)
            || is_python_byte_code(bytes)
        {
            return Some(Self::Compiled);
        }
        if begins(b"PK\x03\x04")
            || begins(b"PK\x05\x06")
            || begins(b"7z\xbc\xaf\x27\x1c")
            || begins(b"Rar!\x1a\x07")
            || begins(b"\x1f\x8b\x08")
            || is_bzip2(bytes)
            || begins(b"\xfd7zXZ\0")
            || begins(b"\x28\xb5\x2f\xfd")
            || is_tar(bytes)
        {
            return Some(Self::Archive);
        }
        if begins(b"\x89PNG\r\n\x1a\n")
            || begins(b"\xff\xd8\xff")
            || begins(b"GIF87a")
            || begins(b"GIF89a")
            || is_riff(bytes)
        {
            return Some(Self::Image);
        }
        None
    }
}

/// Tells whether some part of a file that begins as text is none: a program may be appended to a script.
pub(crate) fn has_other_parts(bytes: &[u8]) -> bool {
    has_odd(bytes) && bytes.chunks(SAMPLE).any(|part| !is_mostly_text(part))
}

/// Tells whether a file is text with hardly any other bytes, but for zeros behind it. Whatever its first bytes are, a program
/// that reads it as text gets to the rest of it.
pub(crate) fn is_read_as_text(bytes: &[u8]) -> bool {
    is_mostly_text(without_padding(sample(bytes)))
}

fn is_mostly_text(bytes: &[u8]) -> bool {
    let sample = sample(bytes);
    sample.iter().filter(|byte| is_odd(**byte)).count() * 20 <= sample.len()
}

/// The text of a file in UTF-16 that begins with a byte order mark, as editors for Windows write it.
pub(crate) fn utf16_text(bytes: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
    text.bytes().all(|byte| !is_odd(byte)).then_some(text)
}

fn sample(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(SAMPLE)]
}

/// Bytes without the zeros behind the last other byte. A shell reads over them, so a script that is filled
/// up with zeros is still a script.
pub(crate) fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Tells whether a byte is a control character that texts do not have.
fn is_odd(byte: u8) -> bool {
    matches!(byte, 0..=8 | 14..=26 | 28..=31)
}

/// Tells whether bytes are UTF-8 without control characters.
pub(crate) fn is_plain_text(bytes: &[u8]) -> bool {
    !has_odd(bytes) && std::str::from_utf8(bytes).is_ok()
}

/// Tells whether there is a control character that texts do not have.
fn has_odd(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| is_odd(*byte))
}

/// `MZ`, and either the header of a program where it must be, or bytes that are no text.
fn is_windows_program(bytes: &[u8]) -> bool {
    let header = || {
        let at = bytes.get(0x3c..0x40)?;
        let at = u32::from_le_bytes([at[0], at[1], at[2], at[3]]) as usize;
        bytes.get(at..)?.starts_with(b"PE\0\0").then_some(())
    };
    bytes.starts_with(b"MZ")
        && bytes.len() > 64
        && (header().is_some() || std::str::from_utf8(bytes).is_err() || !is_mostly_text(bytes))
}

/// `BZh`, a level, and the mark of the first block or of an empty file.
fn is_bzip2(bytes: &[u8]) -> bool {
    let mark = |mark: &[u8]| bytes.get(4..10) == Some(mark);
    bytes.starts_with(b"BZh")
        && bytes.get(3).is_some_and(|level| (b'1'..=b'9').contains(level))
        && (mark(b"1AY&SY") || mark(b"\x17\x72\x45\x38\x50\x90"))
}

/// A header of a tape archive whose sum is right.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else { return false };
    let sum = std::str::from_utf8(&header[148..156]).ok();
    let sum = sum.map(|sum| sum.trim_matches(|c| matches!(c, ' ' | '\0')));
    let Some(sum) = sum.and_then(|sum| u32::from_str_radix(sum, 8).ok()) else { return false };
    let counted = header.iter().enumerate().map(|(at, byte)| {
        // The sum counts itself as spaces.
        if (148..156).contains(&at) { u32::from(b' ') } else { u32::from(*byte) }
    });
    sum == counted.sum::<u32>()
}

/// A container of pictures, sounds or films.
fn is_riff(bytes: &[u8]) -> bool {
    let form = bytes.get(8..12);
    bytes.starts_with(b"RIFF")
        && form.is_some_and(|it| [b"WEBP", b"WAVE", b"AVI "].iter().any(|known| it == *known))
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

/// Tells whether a file is code in a language without a parser, by its name.
pub(crate) fn is_unparsed_code(path: &str) -> bool {
    let end = path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    matches!(
        end.as_deref(),
        Some(
            "rb" | "pl"
                | "php"
                | "lua"
                | "bat"
                | "cmd"
                | "vbs"
                | "applescript"
                | "fish"
                | "go"
                | "rs"
                | "java"
                | "kt"
                | "scala"
                | "swift"
                | "c"
                | "cc"
                | "cpp"
                | "cs"
                | "r"
                | "jl"
                | "ipynb"
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_begins_like_another_format_is_text() {
        let ustar = format!("{}ustar\n{}", "#".repeat(257), "#".repeat(300));
        for text in [
            "GIF89a=1\ntouch x\n",
            "GIF87a=1\ntouch x\n",
            "GIF8=1\ntouch x\n",
            "RIFF=1\ntouch x\n",
            "RIFF=1;#WEBP\ntouch x\n",
            "BZh=1\ntouch x\n",
            "BZh91AY&SY=1\ntouch x\n",
            "MZ=1\n################################################################\ntouch x\n",
            "!<arch>\ntouch x\n",
            "dex\ntouch x\n",
            "Rar!\ntouch x\n",
            &ustar,
        ] {
            assert_eq!(FileKind::of(text.as_bytes()), FileKind::Text, "{text}");
        }
        let utf16: Vec<u8> = "\u{feff}touch x".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(FileKind::of(&utf16), FileKind::Text);
    }

    #[test]
    fn formats_are_known_by_their_headers() {
        let mut program = vec![0; 80];
        program[..2].copy_from_slice(b"MZ");
        program[0x3c] = 70;
        program[70..74].copy_from_slice(b"PE\0\0");
        for (bytes, kind) in [
            (&b"GIF89a\x01\0\x01\0\0\0\0;"[..], FileKind::Image),
            (b"RIFF\x04\0\0\0WEBP", FileKind::Image),
            (b"\x89PNG\r\n\x1a\n", FileKind::Image),
            (b"BZh91AY&SY\x8c\0\0", FileKind::Archive),
            (b"PK\x03\x04\x14\0\x01\0", FileKind::Archive),
            (b"\x1f\x8b\x08\0", FileKind::Archive),
            (&program, FileKind::Compiled),
            (b"\xce\xfa\xed\xfe\0\0", FileKind::Compiled),
            (b"RIFF\0\0\0\0\0\0\0\0", FileKind::Binary),
        ] {
            assert_eq!(FileKind::of(bytes), kind, "{bytes:?}");
        }
    }
}
