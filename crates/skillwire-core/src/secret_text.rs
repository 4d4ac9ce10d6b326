//! Keys and tokens in a text, by the forms their issuers gave them.
//!
//! The search knows only forms that other text hardly ever has, and it lets samples from manuals
//! (`AKIA...EXAMPLE`, `ghp_xxxx`, `A1B2C3...`) through: authors ignore an alarm that is often false.
//! What may be a sample or a real key is reported as doubtful.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use self::genuineness::TokenGenuineness;
use crate::span::Span;

mod genuineness;

/// A key or token in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretText {
    /// The kind of the key or token, with its article.
    pub kind: &'static str,
    /// Its place in the text.
    pub span: Span,
    /// Whether it has the form of an issuer and nothing of a sample.
    pub sure: bool,
}

/// How a token goes on after the letters it begins with.
#[derive(Debug, Clone, Copy)]
enum TokenForm {
    /// So many characters of a set.
    Run(CharSet, LengthRange),
    /// Runs, each after the same character; what the token begins with ends in the first of these.
    Parts(&'static [(CharSet, LengthRange)], u8),
    /// The rest of a PEM header and at least one line of data.
    PrivateKey,
    /// Twenty letters and digits before and after.
    Infix,
    /// The value of a variable, which may be quoted.
    Assigned,
}

#[derive(Debug, Clone, Copy)]
enum CharSet {
    Upper,
    Digits,
    Alphanumeric,
    /// With `-` and `_`.
    UrlSafe,
}

/// The least and the most characters.
type LengthRange = (usize, usize);

const MANY: usize = 4_096;

const ALNUM_36: TokenForm = TokenForm::Run(CharSet::Alphanumeric, (36, 36));
const SLACK: TokenForm =
    TokenForm::Parts(&[(CharSet::Digits, (10, 13)), (CharSet::UrlSafe, (20, MANY))], b'-');
const URL_SAFE_40: TokenForm = TokenForm::Run(CharSet::UrlSafe, (40, MANY));

/// What a token begins with, what it is, and how it goes on.
type KnownToken = (&'static str, &'static str, TokenForm);

/// Forms that begin with four known bytes or more; one automaton finds them all in one pass.
const LONG_BEGINNINGS: [KnownToken; 31] = [
    ("-----BEGIN ", "a private key", TokenForm::PrivateKey),
    ("AKIA", "an AWS access key", TokenForm::Run(CharSet::Upper, (16, 16))),
    ("ASIA", "an AWS access key", TokenForm::Run(CharSet::Upper, (16, 16))),
    ("ghp_", "a GitHub token", ALNUM_36),
    ("gho_", "a GitHub token", ALNUM_36),
    ("ghu_", "a GitHub token", ALNUM_36),
    ("ghs_", "a GitHub token", ALNUM_36),
    ("ghr_", "a GitHub token", ALNUM_36),
    (
        "github_pat_",
        "a GitHub token",
        TokenForm::Parts(
            &[(CharSet::Alphanumeric, (22, 22)), (CharSet::Alphanumeric, (59, 59))],
            b'_',
        ),
    ),
    ("glpat-", "a GitLab token", TokenForm::Run(CharSet::UrlSafe, (20, MANY))),
    ("xoxb-", "a Slack token", SLACK),
    ("xoxp-", "a Slack token", SLACK),
    ("xoxa-", "a Slack token", SLACK),
    ("xoxr-", "a Slack token", SLACK),
    ("xoxs-", "a Slack token", SLACK),
    (
        "hooks.slack.com/services/",
        "a Slack webhook",
        TokenForm::Parts(
            &[
                (CharSet::Upper, (9, 12)),
                (CharSet::Upper, (9, 12)),
                (CharSet::Alphanumeric, (24, 24)),
            ],
            b'/',
        ),
    ),
    ("sk-ant-", "an Anthropic key", TokenForm::Run(CharSet::UrlSafe, (80, MANY))),
    ("sk-proj-", "an OpenAI key", URL_SAFE_40),
    ("sk-svcacct-", "an OpenAI key", URL_SAFE_40),
    ("T3BlbkFJ", "an OpenAI key", TokenForm::Infix),
    ("AIza", "a Google key", TokenForm::Run(CharSet::UrlSafe, (35, 35))),
    ("sk_live_", "a Stripe key", TokenForm::Run(CharSet::Alphanumeric, (24, MANY))),
    ("rk_live_", "a Stripe key", TokenForm::Run(CharSet::Alphanumeric, (24, MANY))),
    ("npm_", "an npm token", ALNUM_36),
    ("GOCSPX-", "a Google client secret", TokenForm::Run(CharSet::UrlSafe, (28, 28))),
    ("API_KEY=", "an API key", TokenForm::Assigned),
    ("API_KEY = ", "an API key", TokenForm::Assigned),
    ("_TOKEN=", "a token", TokenForm::Assigned),
    ("_TOKEN = ", "a token", TokenForm::Assigned),
    ("_SECRET=", "a secret", TokenForm::Assigned),
    ("_SECRET = ", "a secret", TokenForm::Assigned),
];

/// Those that begin with three. Looked for with the others, they would make it three times as slow:
/// far more places look like a beginning by three bytes than by four.
const SHORT_BEGINNINGS: [KnownToken; 2] = [
    ("hf_", "a Hugging Face token", TokenForm::Run(CharSet::Alphanumeric, (34, 34))),
    (
        "SG.",
        "a SendGrid key",
        TokenForm::Parts(&[(CharSet::UrlSafe, (22, 22)), (CharSet::UrlSafe, (43, 43))], b'.'),
    ),
];

static LONG: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    // Of the kinds of matching, only this one is done many bytes at a time.
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(LONG_BEGINNINGS.iter().map(|(beginning, ..)| beginning))
        .ok()
});

static SHORT: LazyLock<[memmem::Finder<'static>; 2]> =
    LazyLock::new(|| SHORT_BEGINNINGS.map(|(beginning, ..)| memmem::Finder::new(beginning)));

/// A place in a text where a token may begin.
struct SecretCandidate {
    start: usize,
    known: KnownToken,
}

/// Finds every key and token, in the order of the text.
pub(crate) fn find(text: &str) -> impl Iterator<Item = SecretText> {
    let mut end = 0;
    candidates(text).filter_map(move |SecretCandidate { start, known: (beginning, kind, form) }| {
        let range = form.match_at(text.as_bytes(), start, start + beginning.len())?;
        let assigned = matches!(form, TokenForm::Assigned);
        let token = &text[range.clone()];
        let prefix = if assigned { 0 } else { beginning.len() };
        let genuineness = TokenGenuineness::of(token, prefix);
        // A value in the form of an issuer is found by that form.
        let is_known = assigned && candidates(token).any(|found| found.start == 0);
        if range.start < end || genuineness == TokenGenuineness::Sample || is_known {
            return None;
        }
        end = range.end;
        let sure = genuineness == TokenGenuineness::Sure && !assigned;
        Some(SecretText { kind, span: Span::new(range.start, range.end), sure })
    })
}

fn candidates(text: &str) -> impl Iterator<Item = SecretCandidate> {
    let long = LONG.as_ref().into_iter().flat_map(move |long| long.find_iter(text)).map(|found| {
        SecretCandidate { start: found.start(), known: LONG_BEGINNINGS[found.pattern().as_usize()] }
    });
    let [first, second] = [0, 1].map(|which: usize| {
        let starts = SHORT[which].find_iter(text.as_bytes());
        starts.map(move |start| SecretCandidate { start, known: SHORT_BEGINNINGS[which] })
    });
    merged(long, merged(first, second))
}

/// Puts two sequences, each in the order of the text, into one.
fn merged(
    one: impl Iterator<Item = SecretCandidate>,
    other: impl Iterator<Item = SecretCandidate>,
) -> impl Iterator<Item = SecretCandidate> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b.start < a.start => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
}

/// Replaces all but the beginning of each key and token.
pub(crate) fn blotted(text: String) -> String {
    const SHOWN: usize = 4;
    let secrets: Vec<_> = find(&text).map(|secret| secret.span).collect();
    if secrets.is_empty() {
        return text;
    }
    // As many bytes as before, so that what is marked stays where it is.
    let is_hidden =
        |at: usize| secrets.iter().any(|span| span.start + SHOWN <= at && at < span.end);
    let hide = |(at, c): (usize, char)| if is_hidden(at) && c.is_ascii_graphic() { '*' } else { c };
    text.char_indices().map(hide).collect()
}

impl TokenForm {
    /// The whole token whose beginning stands at `start..after`.
    fn match_at(self, text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
        let end = match self {
            Self::PrivateKey => return private_key(text, start, after),
            Self::Assigned => return assigned(text, after),
            Self::Infix => {
                let before = run(CharSet::Alphanumeric, text[..start].iter().rev());
                let from = start.checked_sub(before)?;
                let after = after + run(CharSet::Alphanumeric, text[after..].iter());
                let long = before >= 20 && after - start >= 28;
                let prefixed = text[..from].ends_with(b"sk-");
                return (long && prefixed).then(|| from - 3..after);
            }
            Self::Run(set, lengths) => part(text, after, set, lengths)?,
            Self::Parts(parts, between) => {
                let mut at = after - 1;
                for (set, lengths) in parts {
                    if text.get(at) != Some(&between) {
                        return None;
                    }
                    at = part(text, at + 1, *set, *lengths)?;
                }
                at
            }
        };
        // A token stands alone; within a longer word it is something else.
        let begins = start == 0 || !is_word(text[start - 1]);
        let ends = text.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        (begins && ends).then_some(start..end)
    }
}

/// Where a run of the right length that begins at `at` ends.
fn part(text: &[u8], at: usize, set: CharSet, (least, most): LengthRange) -> Option<usize> {
    let length = run(set, text.get(at..)?.iter().take(most));
    (length >= least).then_some(at + length)
}

fn run<'a>(set: CharSet, bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes
        .take_while(|byte| match set {
            CharSet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            CharSet::Digits => byte.is_ascii_digit(),
            CharSet::Alphanumeric => byte.is_ascii_alphanumeric(),
            CharSet::UrlSafe => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
        })
        .count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A private key from its header to its end; a header without data is a manual's.
fn private_key(text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
    const ENDS: [&[u8]; 2] = [b"PRIVATE KEY-----", b"PRIVATE KEY BLOCK-----"];
    const LEAST_DATA: usize = 40;
    const SEEN_AT_ONCE: usize = 512;
    const LONGEST_KEY: usize = 16_384;
    const FOOTER: &[u8] = b"-----END ";
    let header = &text[after..text.len().min(after + 48)];
    let length = ENDS.iter().find_map(|end| {
        let at = header.windows(end.len()).position(|window| window == *end)?;
        let plain = header[..at].iter().all(|b| b.is_ascii_uppercase() || *b == b' ');
        plain.then_some(at + end.len())
    })?;
    let data = after + length;
    let rest = &text[data..text.len().min(data + LONGEST_KEY)];
    let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    // In JSON and in code a line end is written `\n`.
    let mut lines =
        rest[..rest.len().min(SEEN_AT_ONCE)].split(|byte| matches!(byte, b'\n' | b'\\'));
    let begins = lines.any(|line| {
        let line = line.trim_ascii().strip_prefix(b"n").unwrap_or(line.trim_ascii());
        line.len() >= LEAST_DATA && line.iter().take(LEAST_DATA).all(is_data)
    });
    if !begins {
        return None;
    }
    let footer = rest.windows(FOOTER.len()).position(|window| window == FOOTER);
    // Without a footer a key ends where something else begins.
    let is_part = |byte: &u8| is_data(byte) || byte.is_ascii_whitespace() || *byte == b'\\';
    let end = footer.map_or_else(
        || rest.iter().take_while(|byte| is_part(byte)).count(),
        |at| (at + FOOTER.len() + length).min(rest.len()),
    );
    Some(start..data + end)
}

/// The value of a variable that looks like a key: long, without blanks, of letters and digits.
fn assigned(text: &[u8], after: usize) -> Option<Range<usize>> {
    const LENGTHS: LengthRange = (20, 200);
    const LEAST_DIGITS: usize = 3;
    const LEAST_LETTERS: usize = 8;
    const LEAST_DIFFERENT: usize = 10;
    let quote = text.get(after).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let start = after + usize::from(quote.is_some());
    let end = part(text, start, CharSet::UrlSafe, LENGTHS)?;
    let next = text.get(end).copied();
    let ended = match quote {
        Some(_) => next == quote,
        None => next.is_none_or(|byte| byte.is_ascii_whitespace()),
    };
    let value = &text[start..end];
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let mut different = value.to_vec();
    different.sort_unstable();
    different.dedup();
    // An address on a blockchain is public.
    let is_address = value.starts_with(b"0x");
    (ended
        && !is_address
        && count(u8::is_ascii_digit) >= LEAST_DIGITS
        && count(u8::is_ascii_alphabetic) >= LEAST_LETTERS
        && different.len() >= LEAST_DIFFERENT
        && !is_worded(value))
    .then_some(start..end)
}

/// Tells whether a value is made of words, as a name or an explanation is.
fn is_worded(value: &[u8]) -> bool {
    const LEAST_WORDS: usize = 3;
    let words = value.split(|byte| matches!(byte, b'-' | b'_'));
    words.filter(|word| word.len() > 1 && word.iter().all(u8::is_ascii_alphabetic)).count()
        >= LEAST_WORDS
}

#[cfg(test)]
mod tests;
