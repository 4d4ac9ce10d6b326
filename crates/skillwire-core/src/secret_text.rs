//! Keys and tokens in a text, by the forms their issuers gave them.
//!
//! The search knows only forms that other text hardly ever has, and it lets samples from manuals
//! (`AKIA...EXAMPLE`, `ghp_xxxx`, `A1B2C3...`) through: authors ignore an alarm that is often false.
//! What may be a sample or a real key is reported as doubtful.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use crate::span::Span;

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

/// How much a token looks like one that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Genuineness {
    /// Nothing of it looks made up.
    Sure,
    /// A word in it may be there by chance or by intent.
    Doubtful,
    /// A manual would show it.
    Sample,
}

impl Genuineness {
    /// Judges a token by what follows its known beginning.
    fn of(token: &str, beginning: usize) -> Self {
        const SAMPLES: [&str; 17] = [
            "example",
            "xxxx",
            "0123456",
            "1234567",
            "abcdefg",
            "your",
            "dummy",
            "redacted",
            "placeholder",
            "changeme",
            "replace",
            "sample",
            "fake",
            "exposed",
            "insert",
            "deadbeef",
            "foobar",
        ];
        const DOUBTFUL: [&str; 6] = ["test", "demo", "token", "secret", "leaked", "revoked"];
        const LEAST_DIFFERENT: usize = 8;
        // A private key has random data in it, in which any word may stand.
        if token.starts_with('-') {
            return Self::Sure;
        }
        let lower = token[beginning..].to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let mut different = [false; 256];
        token.bytes().skip(beginning).for_each(|byte| different[usize::from(byte)] = true);
        let different = different.iter().filter(|seen| **seen).count();
        if different < LEAST_DIFFERENT
            || !lower.bytes().any(|byte| byte.is_ascii_digit())
            || !lower.bytes().any(|byte| byte.is_ascii_alphabetic())
            || has(&SAMPLES)
            || is_counted_up(lower.as_bytes())
        {
            Self::Sample
        } else if has(&DOUBTFUL) {
            Self::Doubtful
        } else {
            Self::Sure
        }
    }
}

/// Tells whether letters and digits follow one another as in `abcdef` or `a1b2c3`.
fn is_counted_up(lower: &[u8]) -> bool {
    [1, 2].into_iter().any(|stride| {
        let pairs = lower.iter().zip(lower.iter().skip(stride));
        let up = pairs.filter(|(one, next)| next.checked_sub(1) == Some(**one)).count();
        up * 2 >= lower.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters and digits without a pattern, so that no test holds a token as it would be issued.
    fn noise(length: usize) -> String {
        let alphabet = b"Q7kT2mZ9xR4bW8nJ5vL3cH6pF1dGsYqA";
        (0..length).map(|at| char::from(alphabet[(at * 7 + at / 5) % alphabet.len()])).collect()
    }

    fn upper(length: usize) -> String {
        noise(length).to_uppercase()
    }

    fn kinds(text: &str) -> Vec<&'static str> {
        find(text).map(|secret| secret.kind).collect()
    }

    fn tokens() -> Vec<(&'static str, String)> {
        let key = format!("-----BEGIN RSA PRIVATE{} KEY-----", "");
        vec![
            ("a private key", format!("{key}\n{}\n", noise(64))),
            ("a private key", format!("{{\"k\": \"{key}\\n{}\\n\"}}", noise(64))),
            (
                "a private key",
                format!("-----BEGIN PGP PRIVATE KEY BLOCK{}\n\n{}", "-----", noise(64)),
            ),
            ("an AWS access key", format!("AKIA{}", upper(16))),
            ("an AWS access key", format!("ASIA{}", upper(16))),
            ("a GitHub token", format!("ghp_{}", noise(36))),
            ("a GitHub token", format!("github_pat_{}_{}", noise(22), noise(59))),
            ("a GitLab token", format!("glpat-{}", noise(20))),
            ("a Slack token", format!("xoxb-123487650912-{}", noise(24))),
            (
                "a Slack webhook",
                format!("hooks.slack.com/services/T{}/B{}/{}", upper(8), upper(8), noise(24)),
            ),
            ("an Anthropic key", format!("sk-ant-api03-{}", noise(90))),
            ("an OpenAI key", format!("sk-proj-{}", noise(48))),
            ("an OpenAI key", format!("sk-{}T3BlbkFJ{}", noise(20), noise(20))),
            ("a Google key", format!("AIza{}", noise(35))),
            ("a Stripe key", format!("sk_live_{}", noise(24))),
            ("an npm token", format!("npm_{}", noise(36))),
            ("a Hugging Face token", format!("hf_{}", noise(34))),
            ("a SendGrid key", format!("SG.{}.{}", noise(22), noise(43))),
            ("a Google client secret", format!("GOCSPX-{}", noise(28))),
        ]
    }

    #[test]
    fn what_counts_up_or_says_that_it_is_a_sample_is_no_secret_rs_08() {
        for body in [
            "A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q7R8".to_owned(),
            "abcdefghijklmnopqrstuvwxyzabcdefgh12".to_owned(),
            format!("EXPOSED{}", noise(29)),
            format!("{}fake", noise(32)),
        ] {
            assert_eq!(kinds(&format!("ghp_{body}")), [""; 0], "{body}");
        }
    }

    #[test]
    fn what_may_be_a_sample_is_doubtful_rs_08() {
        let sure = |text: &str| find(text).map(|secret| secret.sure).collect::<Vec<_>>();
        assert_eq!(sure(&format!("sk_live_{}", noise(24))), [true]);
        assert_eq!(sure(&format!("sk_live_test{}", noise(24))), [false]);
        for text in [
            format!("export SLACK_TOKEN=\"{}\"", noise(32)),
            format!("API_KEY={}\n", noise(40)),
            format!("API_KEY = '{}'", noise(24)),
            format!("CLIENT_SECRET=`{}`", noise(24)),
        ] {
            assert_eq!(sure(&text), [false], "{text}");
        }
    }

    #[test]
    fn a_value_in_an_issuers_form_is_sure_whatever_variable_has_it_rs_08() {
        let text = format!("GITHUB_TOKEN=\"ghp_{}\"", noise(36));
        let found: Vec<_> = find(&text).collect();
        assert_eq!((found.len(), found[0].kind, found[0].sure), (1, "a GitHub token", true));
    }

    #[test]
    fn values_that_are_no_keys_are_left_alone_rs_08() {
        for text in [
            "API_KEY=your-api-key-1234567890".to_owned(),
            "API_KEY=\"$OPENAI_API_KEY\"".to_owned(),
            "API_KEY=${OPENAI_API_KEY:-none}".to_owned(),
            "GITHUB_TOKEN=<paste it here 1234567>".to_owned(),
            "API_KEY=projects_my_project_2024_secret_name_1".to_owned(),
            format!("API_KEY={}", noise(12)),
            format!("USDC_TOKEN = '0x{}'", noise(40)),
            format!("API_KEY=\"{}", noise(32)),
            format!("API_KEY={}(x)", noise(32)),
        ] {
            assert_eq!(kinds(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn tokens_are_found_wherever_they_stand_v_43() {
        for (kind, token) in tokens() {
            for text in [token.clone(), format!("export X=\"{token}\"\n"), format!("é ({token}).")]
            {
                assert_eq!(kinds(&text), [kind], "{text}");
                let span = find(&text).next().expect("the token is found").span;
                let whole = &text[span.start..span.end];
                assert!(kind == "a private key" || whole == token, "{whole} of {token}");
            }
        }
        let (_, token) = &tokens()[3];
        let text = format!("a {token} b");
        let found: Vec<_> = find(&text).collect();
        assert_eq!((found[0].span.start, found[0].span.end), (2, 22));
    }

    #[test]
    fn tokens_are_found_in_the_order_of_the_text_v_43() {
        let (mut all, mut kinds_in_order) = (String::new(), Vec::new());
        for (kind, token) in tokens().into_iter().rev().filter(|(kind, _)| *kind != "a private key")
        {
            all.push_str(&token);
            all.push('\n');
            kinds_in_order.push(kind);
        }
        assert_eq!(kinds(&all), kinds_in_order);
        let starts: Vec<_> = find(&all).map(|secret| secret.span.start).collect();
        assert!(starts.is_sorted(), "{starts:?}");
    }

    #[test]
    fn tokens_of_another_length_or_inside_words_are_none_v_43() {
        for text in [
            format!("AKIA{}", upper(15)),
            format!("AKIA{}", upper(17)),
            format!("xAKIA{}", upper(16)),
            format!("ghp_{}", noise(35)),
            format!("ghp_{}", noise(37)),
            format!("github_pat_{}-{}", noise(22), noise(59)),
            format!("github_pat_{}", noise(22)),
            format!("xoxb-{}", noise(24)),
            format!("sk-ant-{}", noise(20)),
            format!("sk-{}", noise(48)),
            format!("{}T3BlbkFJ{}", noise(20), noise(20)),
            format!("sk-{}T3BlbkFJ{}", noise(19), noise(20)),
            format!("a key: sk-{}T3BlbkFJ{}", noise(20), noise(19)),
            format!("github_pat__{}_{}", noise(22), noise(59)),
            format!("AIza{}", noise(36)),
            format!("-----BEGIN {}PRIVATE KEY-----\n{}", "A ".repeat(40), noise(64)),
            format!("-----BEGIN PRIVATE KEY-----\n{}{}", "- a\n".repeat(200), noise(64)),
            format!("SG.{}{}", noise(22), noise(43)),
            "SG.".to_owned(),
            "sha256:13282b32e467ac552a38bbbb006c7c7e1d9a5555b8915a4c7f3310bc64666995".to_owned(),
        ] {
            assert_eq!(kinds(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_a_manual_shows_is_no_secret_v_43() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            format!("ghp_{}", "x".repeat(36)),
            format!("ghp_{}", "abcdefghijklmnopqrstuvwxyz0123456789"),
            format!("ghp_{}", noise(36).replace(|c: char| c.is_ascii_digit(), "a")),
            format!("sk-ant-api03-your-key-{}", noise(90)),
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----".to_owned(),
            "-----BEGIN CERTIFICATE-----\nMIIB".to_owned(),
            format!("-----BEGIN PUBLIC KEY-----\n{}", noise(64)),
        ] {
            assert_eq!(kinds(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_token_of_few_different_characters_is_made_up_v_43() {
        let token = |of: &str| format!("ghp_{}", of.chars().cycle().take(36).collect::<String>());
        assert_eq!(kinds(&token("a1b2c3d")), [""; 0]);
        assert_eq!(kinds(&token("q7k2zt9m")), ["a GitHub token"]);
    }

    #[test]
    fn a_private_key_that_never_ends_is_taken_for_one_up_to_a_bound_v_43() {
        let text = ["-----BEGIN ", "PRIVATE KEY-----\n", &noise(64).repeat(400)].concat();
        let span = find(&text).next().expect("the key is found").span;
        assert_eq!((span.start, span.end), (0, 27 + 16_384));
    }

    #[test]
    fn a_private_key_is_blotted_out_to_its_end_v_43() {
        let (head, foot) =
            (["-----BEGIN", "EC PRIVATE KEY-----"], ["-----END", "EC PRIVATE KEY-----"]);
        let (head, foot) = (head.join(" "), foot.join(" "));
        for between in ["\n", "\\n"] {
            let data = [noise(64), noise(60)].join(between);
            for key in
                [format!("{head}{between}{data}{between}{foot}"), format!("{head}{between}{data}")]
            {
                let text = format!("a \"{key}\" b.");
                let span = find(&text).next().expect("the key is found").span;
                assert_eq!(&text[span.start..span.end], key);
                let blotted = blotted(text.clone());
                assert!(
                    blotted.starts_with("a \"----****") && blotted.ends_with("\" b."),
                    "{blotted}"
                );
                assert!(!blotted.contains(&noise(8)), "{blotted}");
            }
        }
    }

    #[test]
    fn tokens_are_blotted_out_and_nothing_else_is_v_43() {
        let (_, token) = &tokens()[3];
        let text = format!("é {token} é");
        assert_eq!(blotted(text.clone()), format!("é AKIA{} é", "*".repeat(16)));
        assert_eq!(blotted("plain".to_owned()), "plain");
    }
}
