//! Folds text so that what looks alike is alike, and notes what no reader sees.

use skillwire_core::CharClass;
use unicode_normalization::UnicodeNormalization as _;

use super::mapped::MappedText;

/// Folded text, and the hidden characters that were in it.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) text: MappedText,
    pub(crate) hidden: Vec<HiddenRun>,
}

/// A run of characters that no reader sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HiddenRun {
    /// Where it begins in the file.
    pub(crate) at: usize,
    pub(crate) kind: HiddenKind,
    /// How many characters it has.
    pub(crate) count: usize,
    /// What it spells, for characters that are copies of others.
    pub(crate) spells: String,
    /// Whether a letter stands on both of its sides, so that it divides a word.
    pub(crate) inside_word: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenKind {
    Tag,
    Selector,
    ZeroWidth,
    Bidirectional,
}

/// Folds the text of a file: compatibility forms and look-alike letters become ASCII, characters
/// that no reader sees are dropped and noted, line ends become `\n`.
pub(crate) fn fold(text: &str) -> Folded {
    let mut folded = Folded::default();
    let plain = |byte: u8| {
        byte.is_ascii() && byte != b'\r' && (byte >= b' ' || byte == b'\n' || byte == b'\t')
    };
    let mut rest = text;
    let mut at = 0;
    let mut before: Option<char> = None;
    while !rest.is_empty() {
        let run = rest.bytes().position(|byte| !plain(byte)).unwrap_or(rest.len());
        if run > 0 {
            folded.text.copy(&rest[..run], at);
            before = rest[..run].chars().next_back();
            rest = &rest[run..];
            at += run;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        let taken = if hidden_kind(c).is_some() {
            hidden_run(rest, at, before, &mut folded.hidden)
        } else {
            put(&mut folded.text, c, at);
            before = Some(c);
            c.len_utf8()
        };
        rest = &rest[taken..];
        at += taken;
    }
    folded
}

fn put(out: &mut MappedText, c: char, at: usize) {
    let mut buffer = [0; 4];
    match c {
        '\r' => {}
        '\u{2028}' | '\u{2029}' => out.put("\n", at),
        c if c.is_control() => out.put(" ", at),
        c if c.is_whitespace() => out.put(" ", at),
        c => match look_alike(c) {
            Some(ascii) => out.put(ascii.encode_utf8(&mut buffer), at),
            None if c.is_alphanumeric() || !c.is_ascii() => {
                let mut made = std::iter::once(c).nfkc();
                match (made.next(), made.next()) {
                    (Some(same), None) if same == c => out.copy(c.encode_utf8(&mut buffer), at),
                    (Some(one), None) => {
                        out.put(look_alike(one).unwrap_or(one).encode_utf8(&mut buffer), at);
                    }
                    _ => out.put(&std::iter::once(c).nfkc().collect::<String>(), at),
                }
            }
            None => out.copy(c.encode_utf8(&mut buffer), at),
        },
    }
}

/// The ASCII character that a reader takes a letter of another script or a typographic mark for.
pub(crate) fn look_alike(c: char) -> Option<char> {
    let ascii = match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' | '\u{2bc}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2215}' | '\u{2044}' | '\u{29f8}' => '/',
        '\u{2223}' | '\u{01c0}' | '\u{2758}' => '|',
        '\u{a789}' | '\u{2236}' => ':',
        '\u{2024}' => '.',
        'а' | 'α' | 'ɑ' => 'a',
        'в' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ҽ' => 'e',
        'ɡ' => 'g',
        'һ' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' | 'ⅼ' => 'l',
        'м' => 'm',
        'п' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ѡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ᴢ' => 'z',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' => 'C',
        'Е' | 'Ε' => 'E',
        'Н' | 'Η' => 'H',
        'І' | 'Ι' => 'I',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Х' | 'Χ' => 'X',
        'Υ' | 'Ү' => 'Y',
        'Ζ' => 'Z',
        _ => return None,
    };
    Some(ascii)
}

fn hidden_kind(c: char) -> Option<HiddenKind> {
    match CharClass::of(c)? {
        CharClass::Tag => Some(HiddenKind::Tag),
        CharClass::VariationSelector => Some(HiddenKind::Selector),
        CharClass::Joiner | CharClass::Invisible => Some(HiddenKind::ZeroWidth),
        CharClass::Bidirectional => Some(HiddenKind::Bidirectional),
        CharClass::TerminalEscape
        | CharClass::Control
        | CharClass::LineSeparator
        | CharClass::Noncharacter => None,
    }
}

/// Takes a run of hidden characters of one kind; returns how many bytes it has.
///
/// Emoji are left alone: a flag is a black flag with tag characters, a family is people with joiners,
/// and a heart is red because of a selector.
fn hidden_run(rest: &str, at: usize, before: Option<char>, hidden: &mut Vec<HiddenRun>) -> usize {
    let kind = rest.chars().next().and_then(hidden_kind);
    let same = |c: &char| hidden_kind(*c) == kind;
    let run: String = rest.chars().take_while(same).collect();
    let Some(kind) = kind else { return run.len().max(1) };
    let count = run.chars().count();
    let after = rest[run.len()..].chars().next();
    let is_emoji = |c: char| matches!(u32::from(c), 0x1f000..=0x1faff | 0x2190..=0x2bff);
    let ordinary = match kind {
        HiddenKind::Tag => before == Some('\u{1f3f4}') && run.ends_with('\u{e007f}') && count <= 8,
        HiddenKind::Selector => count == 1 && before.is_some(),
        HiddenKind::ZeroWidth => {
            // A byte order mark, a soft hyphen, or a joiner of a script or an emoji.
            at == 0
                || (count == 1 && !before.is_some_and(|c| c.is_ascii_alphanumeric()))
                || (count == 1 && run == "\u{ad}")
                || before.is_some_and(is_emoji)
        }
        HiddenKind::Bidirectional => false,
    };
    if !ordinary {
        let inside_word =
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        let spells = match kind {
            HiddenKind::Tag => run.chars().filter_map(tag_letter).collect(),
            HiddenKind::Selector => selector_text(&run),
            _ => String::new(),
        };
        hidden.push(HiddenRun { at, kind, count, spells, inside_word });
    }
    run.len()
}

fn tag_letter(c: char) -> Option<char> {
    u32::from(c).checked_sub(0xe0000).and_then(char::from_u32).filter(|c| (' '..='~').contains(c))
}

/// The bytes that a run of variation selectors stands for, as text.
fn selector_text(run: &str) -> String {
    let byte = |c: char| match u32::from(c) {
        code @ 0xfe00..=0xfe0f => u8::try_from(code - 0xfe00).ok(),
        code @ 0xe0100..=0xe01ef => u8::try_from(code - 0xe0100 + 16).ok(),
        _ => None,
    };
    let bytes: Vec<u8> = run.chars().filter_map(byte).collect();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_and_invisible_characters_are_folded() {
        let text = "с\u{200b}url ｈttp \u{201c}x\u{201d}\r\n";
        let folded = fold(text);
        assert_eq!(folded.text.text, "curl http \"x\"\n");
        assert_eq!(folded.text.origin(1), "с\u{200b}".len());
    }

    #[test]
    fn tag_characters_are_spelt_out_and_flags_are_not() {
        let tags: String =
            "run".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        assert_eq!(fold(&format!("a{tags}b")).hidden[0].spells, "run");
        let flag = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        assert_eq!(fold(flag).hidden, []);
        assert_eq!(fold("\u{2764}\u{fe0f} \u{1f469}\u{200d}\u{1f52c}").hidden, []);
    }
}
