//! Bearer tokens.

use std::collections::HashMap;

use http::{HeaderMap, header};
use skillwire_catalog::catalog::Catalog;
use skillwire_core::Digest;
use skillwire_source::{InvalidPattern, PathPatterns};

use skillwire_engine::Caller;

/// The shortest token that is taken for a secret.
const MIN_TOKEN_CHARS: usize = 16;

/// The callers that are known, by the digest of their token.
///
/// Looking up a digest takes the same time whatever part of a token is right, and tokens do not
/// stay in memory.
#[derive(Debug, Clone, Default)]
pub struct Tokens(HashMap<Digest, Caller>);

/// A token file that cannot be used; the message never repeats a token.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InvalidTokenFile {
    /// A line is not a name and a token.
    #[error("line {0} is not `NAME TOKEN [PATTERN...]`")]
    Form(usize),
    /// A token is too short to be a secret.
    #[error("line {0} has a token of fewer than {MIN_TOKEN_CHARS} characters")]
    Short(usize),
    /// A name or a token occurs twice.
    #[error("line {0} repeats a name or a token")]
    Repeated(usize),
    /// A pattern cannot be understood.
    #[error("line {0}: {1}")]
    Pattern(usize, InvalidPattern),
    /// There is no token at all.
    #[error("it has no token; add a line `NAME TOKEN`")]
    Empty,
}

impl Tokens {
    /// Reads lines of `NAME TOKEN [PATTERN...]`; a caller with patterns sees only the skills whose
    /// path matches one. Blank lines and lines that begin with `#` are passed over.
    pub fn parse(text: &str, catalog: &mut Catalog) -> Result<Self, InvalidTokenFile> {
        let mut tokens = HashMap::new();
        let mut names = std::collections::HashSet::new();
        let lines = text.lines().map(str::trim).enumerate().map(|(index, line)| (index + 1, line));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (Some(name), Some(token)) = (words.next(), words.next()) else {
                return Err(InvalidTokenFile::Form(number));
            };
            if token.chars().count() < MIN_TOKEN_CHARS {
                return Err(InvalidTokenFile::Short(number));
            }
            let patterns: Vec<_> = words.collect();
            let view = if patterns.is_empty() {
                skillwire_catalog::catalog::ViewId::EVERYTHING
            } else {
                let visible = PathPatterns::parse(patterns)
                    .map_err(|error| InvalidTokenFile::Pattern(number, error))?;
                catalog.restrict(visible)
            };
            let caller = Caller { name: name.to_owned(), view };
            let repeated = tokens.insert(Digest::of(token.as_bytes()), caller).is_some();
            if repeated || !names.insert(name) {
                return Err(InvalidTokenFile::Repeated(number));
            }
        }
        if tokens.is_empty() { Err(InvalidTokenFile::Empty) } else { Ok(Self(tokens)) }
    }

    /// Finds the caller a request's `Authorization` header stands for.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let value = values.next()?.to_str().ok()?;
        if values.next().is_some() {
            return None;
        }
        let (scheme, token) = value.split_once(' ')?;
        let bearer = scheme.eq_ignore_ascii_case("bearer");
        bearer.then(|| self.0.get(&Digest::of(token.trim().as_bytes())).cloned()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use skillwire_catalog::snapshot::SnapshotOptions;

    use super::*;

    fn parse(text: &str) -> Result<Tokens, InvalidTokenFile> {
        Tokens::parse(text, &mut Catalog::new(SnapshotOptions::default()))
    }

    fn caller(tokens: &Tokens, value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        tokens.caller(&headers).map(|caller| caller.name)
    }

    #[test]
    fn tokens_name_callers_srv_109() {
        let tokens =
            parse("# team\nalice 0123456789abcdef\n\nbob fedcba9876543210 acme/*\n").unwrap();
        assert_eq!(caller(&tokens, "Bearer 0123456789abcdef").as_deref(), Some("alice"));
        assert_eq!(caller(&tokens, "bearer fedcba9876543210").as_deref(), Some("bob"));
        for wrong in
            ["Bearer 0123456789abcdeF", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer "]
        {
            assert_eq!(caller(&tokens, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bad_token_files_are_refused_without_repeating_a_token_srv_109() {
        for bad in [
            "",
            "alice",
            "alice short",
            "a 0123456789abcdef\na 0123456789abcdeg",
            "a 0123456789abcdef\nb 0123456789abcdef",
            "a 0123456789abcdef [",
        ] {
            let error = parse(bad).unwrap_err().to_string();
            assert!(!error.contains("0123456789"), "{error}");
        }
    }
}
