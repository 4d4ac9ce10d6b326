//! Keys and tokens in a text, by the forms their issuers gave them.
//!
//! The search knows only forms that other text hardly ever has, and it lets samples from manuals
//! (`AKIA...EXAMPLE`, `ghp_xxxx`, `A1B2C3...`) through: authors ignore an alarm that is often false.
//! What may be a sample or a real key is reported as doubtful.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use self::genuineness::Genuineness;
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
enum Form {
    /// So many characters of a set.
    Run(Set, Range2),
    /// Runs, each after the same character; what the token begins with ends in the first of these.
    Parts(&'static [(Set, Range2)], u8),
    /// The rest of a PEM header and at least one line of data.
    PrivateKey,
    /// Twenty letters and digits before and after.
    Infix,
    /// The value of a variable, which may be quoted.
    Assigned,
}

#[derive(Debug, Clone, Copy)]
enum Set {
    Upper,
    Digits,
    Alphanumeric,
    /// With `-` and `_`.
    UrlSafe,
}

/// The least and the most characters.
type Range2 = (usize, usize);

const MANY: usize = 4_096;

const ALNUM_36: Form = Form::Run(Set::Alphanumeric, (36, 36));
const SLACK: Form = Form::Parts(&[(Set::Digits, (10, 13)), (Set::UrlSafe, (20, MANY))], b'-');
const URL_SAFE_40: Form = Form::Run(Set::UrlSafe, (40, MANY));

/// What a token begins with, what it is, and how it goes on.
type Known = (&'static str, &'static str, Form);

/// Forms that begin with four known bytes or more; one automaton finds them all in one pass.
const LONG_BEGINNINGS: [Known; 31] = [
    ("-----BEGIN ", "a private key", Form::PrivateKey),
    ("AKIA", "an AWS access key", Form::Run(Set::Upper, (16, 16))),
    ("ASIA", "an AWS access key", Form::Run(Set::Upper, (16, 16))),
    ("ghp_", "a GitHub token", ALNUM_36),
    ("gho_", "a GitHub token", ALNUM_36),
    ("ghu_", "a GitHub token", ALNUM_36),
    ("ghs_", "a GitHub token", ALNUM_36),
    ("ghr_", "a GitHub token", ALNUM_36),
    (
        "github_pat_",
        "a GitHub token",
        Form::Parts(&[(Set::Alphanumeric, (22, 22)), (Set::Alphanumeric, (59, 59))], b'_'),
    ),
    ("glpat-", "a GitLab token", Form::Run(Set::UrlSafe, (20, MANY))),
    ("xoxb-", "a Slack token", SLACK),
    ("xoxp-", "a Slack token", SLACK),
    ("xoxa-", "a Slack token", SLACK),
    ("xoxr-", "a Slack token", SLACK),
    ("xoxs-", "a Slack token", SLACK),
    (
        "hooks.slack.com/services/",
        "a Slack webhook",
        Form::Parts(
            &[(Set::Upper, (9, 12)), (Set::Upper, (9, 12)), (Set::Alphanumeric, (24, 24))],
            b'/',
        ),
    ),
    ("sk-ant-", "an Anthropic key", Form::Run(Set::UrlSafe, (80, MANY))),
    ("sk-proj-", "an OpenAI key", URL_SAFE_40),
    ("sk-svcacct-", "an OpenAI key", URL_SAFE_40),
    ("T3BlbkFJ", "an OpenAI key", Form::Infix),
    ("AIza", "a Google key", Form::Run(Set::UrlSafe, (35, 35))),
    ("sk_live_", "a Stripe key", Form::Run(Set::Alphanumeric, (24, MANY))),
    ("rk_live_", "a Stripe key", Form::Run(Set::Alphanumeric, (24, MANY))),
    ("npm_", "an npm token", ALNUM_36),
    ("GOCSPX-", "a Google client secret", Form::Run(Set::UrlSafe, (28, 28))),
    ("API_KEY=", "an API key", Form::Assigned),
    ("API_KEY = ", "an API key", Form::Assigned),
    ("_TOKEN=", "a token", Form::Assigned),
    ("_TOKEN = ", "a token", Form::Assigned),
    ("_SECRET=", "a secret", Form::Assigned),
    ("_SECRET = ", "a secret", Form::Assigned),
];

/// Those that begin with three. Looked for with the others, they would make it three times as slow:
/// far more places look like a beginning by three bytes than by four.
const SHORT_BEGINNINGS: [Known; 2] = [
    ("hf_", "a Hugging Face token", Form::Run(Set::Alphanumeric, (34, 34))),
    (
        "SG.",
        "a SendGrid key",
        Form::Parts(&[(Set::UrlSafe, (22, 22)), (Set::UrlSafe, (43, 43))], b'.'),
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
struct Candidate {
    start: usize,
    known: Known,
}

/// Finds every key and token, in the order of the text.
pub(crate) fn find(text: &str) -> impl Iterator<Item = SecretText> {
    let mut end = 0;
    candidates(text).filter_map(move |Candidate { start, known: (beginning, kind, form) }| {
        let range = form.match_at(text.as_bytes(), start, start + beginning.len())?;
        let assigned = matches!(form, Form::Assigned);
        let token = &text[range.clone()];
        let prefix = if assigned { 0 } else { beginning.len() };
        let genuineness = Genuineness::of(token, prefix);
        // A value in the form of an issuer is found by that form.
        let is_known = assigned && candidates(token).any(|found| found.start == 0);
        if range.start < end || genuineness == Genuineness::Sample || is_known {
            return None;
        }
        end = range.end;
        let sure = genuineness == Genuineness::Sure && !assigned;
        Some(SecretText { kind, span: Span::new(range.start, range.end), sure })
    })
}

fn candidates(text: &str) -> impl Iterator<Item = Candidate> {
    let long = LONG.as_ref().into_iter().flat_map(move |long| long.find_iter(text)).map(|found| {
        Candidate { start: found.start(), known: LONG_BEGINNINGS[found.pattern().as_usize()] }
    });
    let [first, second] = [0, 1].map(|which: usize| {
        let starts = SHORT[which].find_iter(text.as_bytes());
        starts.map(move |start| Candidate { start, known: SHORT_BEGINNINGS[which] })
    });
    merged(long, merged(first, second))
}

/// Puts two sequences, each in the order of the text, into one.
fn merged(
    one: impl Iterator<Item = Candidate>,
    other: impl Iterator<Item = Candidate>,
) -> impl Iterator<Item = Candidate> {
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

impl Form {
    /// The whole token whose beginning stands at `start..after`.
    fn match_at(self, text: &[u8], start: usize, after: usize) -> Option<Range<usize>> {
        let end = match self {
            Self::PrivateKey => return private_key(text, start, after),
            Self::Assigned => return assigned(text, after),
            Self::Infix => {
                let before = run(Set::Alphanumeric, text[..start].iter().rev());
                let from = start.checked_sub(before)?;
                let after = after + run(Set::Alphanumeric, text[after..].iter());
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
fn part(text: &[u8], at: usize, set: Set, (least, most): Range2) -> Option<usize> {
    let length = run(set, text.get(at..)?.iter().take(most));
    (length >= least).then_some(at + length)
}

fn run<'a>(set: Set, bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes
        .take_while(|byte| match set {
            Set::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Set::Digits => byte.is_ascii_digit(),
            Set::Alphanumeric => byte.is_ascii_alphanumeric(),
            Set::UrlSafe => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
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
    const LENGTHS: Range2 = (20, 200);
    const LEAST_DIGITS: usize = 3;
    const LEAST_LETTERS: usize = 8;
    const LEAST_DIFFERENT: usize = 10;
    let quote = text.get(after).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let start = after + usize::from(quote.is_some());
    let end = part(text, start, Set::UrlSafe, LENGTHS)?;
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
