//! Bearer tokens.

use std::collections::HashMap;

use http::{HeaderMap, header};
use skillwire_catalog::{Catalog, ViewId};
use skillwire_core::Digest;
use skillwire_source::{InvalidPattern, PathPatterns};

use skillwire_engine::Caller;

/// The minimum length of a token; a shorter one could be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// Bearer tokens, each with the name of its caller and the skills that caller may see.
///
/// Only digests of tokens are kept in memory.
#[derive(Debug, Clone)]
pub struct Tokens(Vec<TokenGrant>);

#[derive(Debug, Clone)]
struct TokenGrant {
    name: String,
    digest: Digest,
    /// The skills that the caller sees; `None` means all of them.
    visible: Option<PathPatterns>,
}

/// The error for a token file that cannot be used; its message never repeats a token.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InvalidTokenFile {
    /// A line does not consist of a name and a token.
    #[error("line {0} is not `NAME TOKEN [PATTERN...]`")]
    Form(usize),
    /// A token is too short to be a secret.
    #[error("line {0} has a token of fewer than {MIN_TOKEN_CHARS} characters")]
    Short(usize),
    /// A name or a token occurs twice.
    #[error("line {0} repeats a name or a token")]
    Repeated(usize),
    /// A pattern is malformed.
    #[error("line {0}: {1}")]
    Pattern(usize, #[source] InvalidPattern),
    /// The file has no token.
    #[error("it has no token; add a line `NAME TOKEN`")]
    Empty,
}

impl Tokens {
    /// Reads lines of `NAME TOKEN [PATTERN...]`.
    ///
    /// A caller with patterns sees only the skills whose path matches one of them. Blank lines and
    /// lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<Self, InvalidTokenFile> {
        let mut grants: Vec<TokenGrant> = Vec::new();
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
            let visible = if patterns.is_empty() {
                None
            } else {
                let parsed = PathPatterns::parse(patterns);
                Some(parsed.map_err(|error| InvalidTokenFile::Pattern(number, error))?)
            };
            let digest = Digest::of(token.as_bytes());
            if grants.iter().any(|grant| grant.name == name || grant.digest == digest) {
                return Err(InvalidTokenFile::Repeated(number));
            }
            grants.push(TokenGrant { name: name.to_owned(), digest, visible });
        }
        if grants.is_empty() { Err(InvalidTokenFile::Empty) } else { Ok(Self(grants)) }
    }
}

/// Maps the digest of each token to its caller.
///
/// The lookup compares digests, not tokens, so its timing does not tell a client how much of a
/// guessed token is right.
#[derive(Debug, Clone)]
pub(crate) struct TokenTable(HashMap<Digest, Caller>);

impl TokenTable {
    /// Creates a view of the catalogue for each caller that has patterns.
    pub(crate) fn new(tokens: Tokens, catalog: &mut Catalog) -> Self {
        let callers = tokens.0.into_iter().map(|TokenGrant { name, digest, visible }| {
            let view = visible.map_or(ViewId::EVERYTHING, |visible| catalog.restrict(visible));
            (digest, Caller { name, view })
        });
        Self(callers.collect())
    }

    /// Finds the caller whose token is in a request's `Authorization` header.
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
    use skillwire_catalog::SnapshotOptions;

    use super::*;

    fn parse(text: &str) -> Result<TokenTable, InvalidTokenFile> {
        let mut catalog = Catalog::new(SnapshotOptions::default());
        Tokens::parse(text).map(|tokens| TokenTable::new(tokens, &mut catalog))
    }

    fn caller(tokens: &TokenTable, value: &str) -> Option<String> {
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
