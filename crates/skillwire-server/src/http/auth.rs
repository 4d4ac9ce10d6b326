//! Bearer tokens.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arc_swap::ArcSwap;
use http::{HeaderMap, header};
use skillwire_catalog::{Catalog, ViewId};
use skillwire_core::Digest;
use skillwire_engine::Caller;
use skillwire_source::{InvalidPattern, PathPatterns};
use tokio::sync::watch;

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
    /// Whether the caller may run scripts, where the server runs any.
    may_run: bool,
}

/// The error for a token file that cannot be used; its message never repeats a token.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InvalidTokenFile {
    /// A line does not consist of a name and a token.
    #[error("line {0} is not `NAME TOKEN [PATTERN...] [run=no]`")]
    Form(usize),
    /// A token is too short to be a secret.
    #[error("line {0} has a token of fewer than {MIN_TOKEN_CHARS} characters")]
    Short(usize),
    /// A name or a token occurs twice.
    #[error("line {0} repeats a name or a token")]
    Repeated(usize),
    /// The right to run scripts is neither given nor withheld.
    #[error("line {0}: write `run=yes` or `run=no`, once")]
    Right(usize),
    /// A pattern is malformed.
    #[error("line {0}: {1}")]
    Pattern(usize, #[source] InvalidPattern),
    /// The file has no token.
    #[error("it has no token; add a line `NAME TOKEN`")]
    Empty,
}

impl Tokens {
    /// Reads lines of `NAME TOKEN [PATTERN...] [run=no]`.
    ///
    /// A caller with patterns sees only the skills whose path matches one of them. One with `run=no`
    /// runs no scripts. Blank lines and lines that begin with `#` are ignored.
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
            let (rights, patterns): (Vec<_>, Vec<_>) =
                words.partition(|word| word.starts_with("run="));
            let may_run = match rights[..] {
                [] | ["run=yes"] => true,
                ["run=no"] => false,
                _ => return Err(InvalidTokenFile::Right(number)),
            };
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
            grants.push(TokenGrant { name: name.to_owned(), digest, visible, may_run });
        }
        if grants.is_empty() { Err(InvalidTokenFile::Empty) } else { Ok(Self(grants)) }
    }

    /// Takes tokens of a store that knows only their digests: the name of each caller, the SHA-256 of
    /// its token, and the skills that it may see, where `None` means all of them.
    ///
    /// Without any token, no caller is admitted. The digest of the empty text stands for callers that
    /// send no token at all. None of them may run scripts.
    pub fn from_digests(
        callers: impl IntoIterator<Item = (String, Digest, Option<PathPatterns>)>,
    ) -> Self {
        let grant = |(name, digest, visible)| TokenGrant { name, digest, may_run: false, visible };
        Self(callers.into_iter().map(grant).collect())
    }
}

/// What a token, or the absence of tokens, allows its holder.
///
/// Streams and sessions keep the grant they were opened with, and end when it is revoked.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(super) caller: Caller,
    visible: Option<PathPatterns>,
    revoked: watch::Sender<bool>,
}

impl Grant {
    pub(super) fn new(caller: Caller, visible: Option<PathPatterns>) -> Arc<Self> {
        Arc::new(Self { caller, visible, revoked: watch::Sender::new(false) })
    }

    /// Creates the grant of every client of a server without tokens.
    pub(super) fn for_everyone() -> Arc<Self> {
        Self::new(Caller::default(), None)
    }

    /// Tells whether the token was taken away.
    pub(super) fn is_revoked(&self) -> bool {
        *self.revoked.borrow()
    }

    /// Waits until the token is taken away.
    pub(super) async fn revoked(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.revoked.subscribe().wait_for(|revoked| *revoked).await;
    }
}

/// How the tokens of a running server changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TokenChanges {
    /// The tokens that are accepted from now on and were not before.
    pub added: usize,
    /// The tokens that are no longer accepted.
    pub removed: usize,
    /// The tokens that stay as they were.
    pub kept: usize,
}

/// Maps the digest of each token to its grant.
///
/// The lookup compares digests, not tokens, so its timing does not tell a client how much of a
/// guessed token is right.
#[derive(Debug)]
pub(crate) struct TokenTable(ArcSwap<HashMap<Digest, Arc<Grant>>>);

impl TokenTable {
    /// Creates a view of the catalogue for each caller that has patterns.
    pub(crate) fn new(tokens: Tokens, catalog: &Catalog) -> Self {
        let table = Self(ArcSwap::default());
        table.replace(tokens, catalog);
        table
    }

    /// Accepts these tokens from now on, and no others.
    ///
    /// A token that is gone, or has another name, other patterns or other rights, is revoked: its
    /// streams and sessions end. One caller at a time may replace tokens.
    pub(crate) fn replace(&self, tokens: Tokens, catalog: &Catalog) -> TokenChanges {
        let old = self.0.load_full();
        let mut changes = TokenChanges::default();
        let mut grants = HashMap::new();
        // Callers that see the same skills share a view: each one holds a snapshot of its own.
        let shown = |grant: &Arc<Grant>| Some((grant.visible.clone()?, grant.caller.view));
        let mut views: Vec<(PathPatterns, ViewId)> = old.values().filter_map(shown).collect();
        for TokenGrant { name, digest, visible, may_run } in tokens.0 {
            let same = |old: &&Arc<Grant>| {
                let Caller { name: old_name, may_run: old_right, .. } = &old.caller;
                *old_name == name && *old_right == may_run && old.visible == visible
            };
            let grant = if let Some(known) = old.get(&digest).filter(same) {
                changes.kept += 1;
                Arc::clone(known)
            } else {
                changes.added += 1;
                let view = match &visible {
                    None => ViewId::EVERYTHING,
                    Some(visible) => {
                        let known = views.iter().find(|(patterns, _)| patterns == visible);
                        let known = known.map(|(_, view)| *view);
                        known.unwrap_or_else(|| {
                            let view = catalog.restrict(visible.clone());
                            views.push((visible.clone(), view));
                            view
                        })
                    }
                };
                Grant::new(Caller { name, view, may_run, client: None }, visible)
            };
            grants.insert(digest, grant);
        }
        let is_kept = |grant: &&Arc<Grant>| grants.values().any(|kept| Arc::ptr_eq(kept, grant));
        let revoked: Vec<_> = old.values().filter(|grant| !is_kept(grant)).cloned().collect();
        changes.removed = revoked.len();
        // The order matters: once a stream ends because its token is gone, the token must not open
        // another one.
        let in_use: HashSet<ViewId> = grants.values().map(|grant| grant.caller.view).collect();
        self.0.store(Arc::new(grants));
        for grant in revoked {
            grant.revoked.send_replace(true);
            if !in_use.contains(&grant.caller.view) {
                catalog.retire(grant.caller.view);
            }
        }
        changes
    }

    /// Finds the grant whose token is in a request's `Authorization` header.
    pub(super) fn grant(&self, headers: &HeaderMap) -> Option<Arc<Grant>> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return self.0.load().get(&Digest::of(b"")).map(Arc::clone);
        };
        let value = value.to_str().ok()?;
        if values.next().is_some() {
            return None;
        }
        let (scheme, token) = value.split_once(' ')?;
        let bearer = scheme.eq_ignore_ascii_case("bearer");
        let digest = bearer.then(|| Digest::of(token.trim().as_bytes()))?;
        self.0.load().get(&digest).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use skillwire_catalog::SnapshotOptions;

    use super::*;

    fn parse(text: &str) -> Result<TokenTable, InvalidTokenFile> {
        let catalog = Catalog::new(SnapshotOptions::default());
        Tokens::parse(text).map(|tokens| TokenTable::new(tokens, &catalog))
    }

    fn caller(tokens: &TokenTable, value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        tokens.grant(&headers).map(|grant| grant.caller.name.clone())
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
            "a 0123456789abcdef run=maybe",
            "a 0123456789abcdef run=no run=yes",
        ] {
            let error = parse(bad).unwrap_err().to_string();
            assert!(!error.contains("0123456789"), "{error}");
        }
    }

    #[test]
    fn a_token_may_lack_the_right_to_run_scripts_and_losing_it_revokes_the_token() {
        let catalog = Catalog::new(SnapshotOptions::default());
        let text = "a 0123456789abcdef\nb 0123456789abcdeg run=no acme/*\n";
        let table = TokenTable::new(Tokens::parse(text).unwrap(), &catalog);
        let grant = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            table.grant(&headers).unwrap()
        };
        let [a, b] = ["0123456789abcdef", "0123456789abcdeg"].map(grant);
        assert!(a.caller.may_run && !b.caller.may_run && b.visible.is_some());
        let next = "a 0123456789abcdef run=no\nb 0123456789abcdeg run=no acme/*\n";
        table.replace(Tokens::parse(next).unwrap(), &catalog);
        assert!(a.is_revoked() && !b.is_revoked());
        assert!(!grant("0123456789abcdef").caller.may_run);
    }

    #[test]
    fn a_replaced_token_is_revoked_and_an_equal_one_stays_fu_03() {
        let catalog = Catalog::new(SnapshotOptions::default());
        let text = "a 0123456789abcdef\nb 0123456789abcdeg acme/*\nc 0123456789abcdeh\n";
        let table = TokenTable::new(Tokens::parse(text).unwrap(), &catalog);
        let grant = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            table.grant(&headers)
        };
        let [a, b, c] = ["f", "g", "h"].map(|end| grant(&format!("0123456789abcde{end}")).unwrap());
        // The first stays, the second gets other patterns, the third is gone, the fourth is new.
        let next = "a 0123456789abcdef run=yes\nb 0123456789abcdeg acme/**\nd 0123456789abcdei\n";
        let changes = table.replace(Tokens::parse(next).unwrap(), &catalog);
        assert_eq!(changes, TokenChanges { added: 2, removed: 2, kept: 1 });
        assert!(!a.is_revoked() && b.is_revoked() && c.is_revoked());
        assert!(grant("0123456789abcdeh").is_none() && grant("0123456789abcdei").is_some());
        assert!(Arc::ptr_eq(&grant("0123456789abcdef").unwrap(), &a));
    }

    #[test]
    fn callers_that_see_the_same_share_a_view_until_the_last_of_them_is_gone() {
        let catalog = Catalog::new(SnapshotOptions::default());
        let caller = |name: &str, token: &str, patterns: &[&str]| {
            let visible = PathPatterns::parse(patterns).unwrap();
            (name.to_owned(), Digest::of(token.as_bytes()), Some(visible))
        };
        let all =
            [caller("a", "1", &["x/**"]), caller("b", "2", &["x/**"]), caller("c", "3", &["y/**"])];
        let table = TokenTable::new(Tokens::from_digests(all.clone()), &catalog);
        let view = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            table.grant(&headers).map(|grant| grant.caller.view)
        };
        let shared = view("1").unwrap();
        assert_eq!(view("2"), Some(shared));
        assert_ne!(view("3"), Some(shared));
        let uri = skillwire_core::SkillUri::parse("skill://x/s/SKILL.md").unwrap();
        table.replace(Tokens::from_digests(all[1..].to_vec()), &catalog);
        assert!(catalog.would_show(shared, &uri) && view("1").is_none());
        table.replace(Tokens::from_digests(all[2..].to_vec()), &catalog);
        assert!(!catalog.would_show(shared, &uri));
    }

    #[test]
    fn a_request_without_a_token_is_admitted_only_where_the_empty_text_is_a_caller() {
        let catalog = Catalog::new(SnapshotOptions::default());
        let public = ("anonymous".to_owned(), Digest::of(b""), Some(PathPatterns::default()));
        let open = TokenTable::new(Tokens::from_digests([public]), &catalog);
        let closed = TokenTable::new(Tokens::from_digests([]), &catalog);
        assert!(
            open.grant(&HeaderMap::new()).is_some() && closed.grant(&HeaderMap::new()).is_none()
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "Bearer guess".parse().unwrap());
        assert!(open.grant(&headers).is_none());
    }
}
