//! Bearer tokens.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use http::{HeaderMap, header};
use parking_lot::{Mutex, MutexGuard};
use skillwire_catalog::{Catalog, ViewId, VisibleSkills};
use skillwire_core::Digest;
use skillwire_engine::Caller;
use skillwire_source::{InvalidPattern, PathPatterns};
use tokio::sync::watch;

use super::{
    access_log::AccessDecision,
    rate::{RateBucket, RateLimiter},
    verified::{MAX_TOKEN_BYTES, TokenRefusal, VerifiedCaller, VerifiedTokens, VerifyToken},
};

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
    visible: VisibleSkills,
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
                VisibleSkills::Everything
            } else {
                let parsed = PathPatterns::parse(patterns);
                parsed.map_err(|error| InvalidTokenFile::Pattern(number, error))?.into()
            };
            let digest = Digest::of(token.as_bytes());
            if grants.iter().any(|grant| grant.name == name || grant.digest == digest) {
                return Err(InvalidTokenFile::Repeated(number));
            }
            grants.push(TokenGrant { name: name.to_owned(), digest, visible, may_run });
        }
        if grants.is_empty() { Err(InvalidTokenFile::Empty) } else { Ok(Self(grants)) }
    }

    /// Returns no tokens at all, for servers whose callers bring tokens of an authorization server.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Takes tokens of a store that knows only their digests: the name of each caller, the SHA-256 of
    /// its token, and the skills that it may see.
    ///
    /// Without any token, no caller is admitted. The digest of the empty text stands for callers that
    /// send no token at all. None of them may run scripts.
    pub fn from_digests(
        callers: impl IntoIterator<Item = (String, Digest, impl Into<VisibleSkills>)>,
    ) -> Self {
        let grants = callers.into_iter().map(|(name, digest, visible)| TokenGrant {
            name,
            digest,
            may_run: false,
            visible: visible.into(),
        });
        Self(grants.collect())
    }
}

/// What a token, or the absence of tokens, allows its holder.
///
/// Streams and sessions keep the grant they were opened with, and end when it is revoked.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(super) caller: Caller,
    pub(super) visible: VisibleSkills,
    revoked: watch::Sender<bool>,
    /// When the last token of the caller ends, in seconds since 1970; 0 is never.
    ends: AtomicU64,
    /// What the caller has used up of its rate.
    rate: OnceLock<Arc<RateBucket>>,
}

impl Grant {
    pub(super) fn new(caller: Caller, visible: VisibleSkills) -> Arc<Self> {
        let (revoked, ends) = (watch::Sender::new(false), AtomicU64::new(0));
        Arc::new(Self { caller, visible, revoked, ends, rate: OnceLock::new() })
    }

    /// Creates the grant of every client of a server without tokens.
    pub(super) fn for_everyone() -> Arc<Self> {
        Self::new(Caller::default(), VisibleSkills::Everything)
    }

    /// Tells whether a caller whose token was checked would get an equal grant.
    pub(super) fn is_of(&self, caller: &VerifiedCaller) -> bool {
        let Caller { name, may_run, .. } = &self.caller;
        *name == caller.name && *may_run == caller.may_run && self.visible == caller.visible
    }

    /// Returns what the caller has used up of its rate.
    pub(super) fn rate(&self, limiter: &RateLimiter) -> &RateBucket {
        self.rate.get_or_init(|| limiter.of_caller(&self.caller.name))
    }

    /// Tells whether the token was taken away.
    pub(super) fn is_revoked(&self) -> bool {
        *self.revoked.borrow()
    }

    /// Notes that the caller has a token until this time.
    fn extend(&self, expires: SystemTime) {
        let seconds = expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.ends.fetch_max(seconds.max(1), Ordering::Relaxed);
    }

    /// The time until the last token of the caller ends; `None` if tokens have no end.
    fn time_left(&self) -> Option<Duration> {
        let ends = self.ends.load(Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (ends > 0).then(|| Duration::from_secs(ends).saturating_sub(now))
    }

    /// Waits until the token is taken away, or until it ends and the caller has no newer one.
    ///
    /// A session goes on after that: each of its requests has a token of its own.
    pub(super) async fn revoked(&self) {
        let mut revoked = self.revoked.subscribe();
        loop {
            let end = async {
                match self.time_left() {
                    Some(left) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender lives as long as `self`, so waiting cannot fail.
                _ = revoked.wait_for(|revoked| *revoked) => return,
                () = end => if self.time_left().is_some_and(|left| left.is_zero()) { return },
            }
        }
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
pub(crate) struct TokenTable {
    known: ArcSwap<HashMap<Digest, Arc<Grant>>>,
    /// Checks tokens that are not known.
    verifier: Option<Arc<dyn VerifyToken>>,
    verified: Mutex<VerifiedTokens>,
}

impl TokenTable {
    /// Creates a view of the catalogue for each caller that sees only some skills.
    pub(crate) fn new(
        tokens: Tokens,
        verifier: Option<Arc<dyn VerifyToken>>,
        catalog: &Catalog,
    ) -> Self {
        let table = Self { known: ArcSwap::default(), verifier, verified: Mutex::default() };
        table.replace(tokens, catalog);
        table
    }

    fn verified(&self) -> MutexGuard<'_, VerifiedTokens> {
        self.verified.lock()
    }

    /// Accepts these tokens from now on, and no others.
    ///
    /// A token that is gone, or has another name, other patterns or other rights, is revoked: its
    /// streams and sessions end. One caller at a time may replace tokens.
    pub(crate) fn replace(&self, tokens: Tokens, catalog: &Catalog) -> TokenChanges {
        let old = self.known.load_full();
        let mut changes = TokenChanges::default();
        let mut grants = HashMap::new();
        // Callers that see the same skills share a view: each one holds a snapshot of its own.
        let mut views: Views =
            old.values().map(|it| (it.visible.clone(), it.caller.view)).collect();
        views.extend(self.verified().views());
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
                let view = view_of(&visible, &mut views, catalog);
                Grant::new(Caller { name, view, may_run, client: None }, visible)
            };
            grants.insert(digest, grant);
        }
        let is_kept = |grant: &&Arc<Grant>| grants.values().any(|kept| Arc::ptr_eq(kept, grant));
        let revoked: Vec<_> = old.values().filter(|grant| !is_kept(grant)).cloned().collect();
        changes.removed = revoked.len();
        // The order matters: once a stream ends because its token is gone, the token must not open
        // another one.
        self.known.store(Arc::new(grants));
        self.revoke(&revoked, catalog);
        changes
    }

    /// Ends what callers of an authorization server have, unless `visible` still shows them the same
    /// skills; it gets their names, and returns `None` for a caller that is not admitted any more.
    pub(crate) fn recheck_verified(
        &self,
        visible: impl Fn(&str) -> Option<VisibleSkills>,
        catalog: &Catalog,
    ) {
        let same = |grant: &Grant| visible(&grant.caller.name).as_ref() == Some(&grant.visible);
        let gone = self.verified().retain(same);
        self.revoke(&gone, catalog);
    }

    /// Ends grants that no token has any more, and their views.
    fn revoke(&self, grants: &[Arc<Grant>], catalog: &Catalog) {
        let known = self.known.load();
        let in_use: HashSet<ViewId> = known.values().map(|grant| grant.caller.view).collect();
        for grant in grants {
            grant.revoked.send_replace(true);
            let view = grant.caller.view;
            if !in_use.contains(&view) && !self.verified().uses(view) {
                catalog.retire(view);
            }
        }
    }

    /// Finds the grant of a request: by its token, or by what an authorization server says of it.
    pub(super) async fn admit(
        &self,
        headers: &HeaderMap,
        resource: impl FnOnce() -> Option<String>,
        catalog: &Catalog,
    ) -> Result<Arc<Grant>, Unauthorized> {
        if let Some(grant) = self.grant(headers) {
            return Ok(grant);
        }
        match (&self.verifier, bearer(headers)) {
            (Some(verifier), Some(token)) => {
                // Boxed: the tokens that are known already must not pay for its size.
                Box::pin(self.verify(verifier, token, resource(), catalog)).await
            }
            _ => Err(Unauthorized::Missing),
        }
    }

    async fn verify(
        &self,
        verifier: &Arc<dyn VerifyToken>,
        token: &str,
        resource: Option<String>,
        catalog: &Catalog,
    ) -> Result<Arc<Grant>, Unauthorized> {
        let invalid =
            |problem: &str| Unauthorized::Refused(TokenRefusal::Invalid(problem.to_owned()));
        if token.len() > MAX_TOKEN_BYTES {
            return Err(invalid("The token is too long."));
        }
        let digest = Digest::of(token.as_bytes());
        if let Some(grant) = self.verified().grant(&digest, SystemTime::now()) {
            return Ok(grant);
        }
        let resource = resource.ok_or_else(|| invalid("The request names no host."))?;
        let caller = verifier.verify(token, &resource).await.map_err(Unauthorized::Refused)?;
        let mut remembered = self.verified();
        let grant = remembered.of_caller(&caller).unwrap_or_else(|| {
            let known = self.known.load();
            let shown = known.values().map(|it| (it.visible.clone(), it.caller.view));
            let mut views: Views = shown.chain(remembered.views()).collect();
            let VerifiedCaller { name, visible, may_run, .. } = caller.clone();
            let view = view_of(&visible, &mut views, catalog);
            Grant::new(Caller { name, view, may_run, client: None }, visible)
        });
        grant.extend(caller.expires);
        remembered.remember(digest, Arc::clone(&grant), caller.expires);
        Ok(grant)
    }

    /// Finds the grant whose token is in a request's `Authorization` header.
    pub(super) fn grant(&self, headers: &HeaderMap) -> Option<Arc<Grant>> {
        if !headers.contains_key(header::AUTHORIZATION) {
            return self.known.load().get(&Digest::of(b"")).map(Arc::clone);
        }
        let digest = Digest::of(bearer(headers)?.as_bytes());
        self.known.load().get(&digest).map(Arc::clone)
    }

    /// Finds the grant of a token that was admitted before.
    pub(super) fn known_grant(&self, headers: &HeaderMap) -> Option<Arc<Grant>> {
        self.grant(headers).or_else(|| {
            let digest = Digest::of(bearer(headers)?.as_bytes());
            self.verified().grant(&digest, SystemTime::now())
        })
    }
}

/// Why a request is not admitted.
#[derive(Debug)]
pub(super) enum Unauthorized {
    /// It has no token, or one that the server does not know.
    Missing,
    /// Its token was checked and refused.
    Refused(TokenRefusal),
}

impl Unauthorized {
    /// Returns what the log and the metrics call it.
    pub(super) fn decision(&self) -> AccessDecision {
        match self {
            Self::Missing => AccessDecision::NoToken,
            Self::Refused(TokenRefusal::Invalid(_)) => AccessDecision::InvalidToken,
            Self::Refused(TokenRefusal::Scope(_)) => AccessDecision::Forbidden,
            Self::Refused(TokenRefusal::Unavailable(_)) => AccessDecision::Unavailable,
        }
    }
}

/// Views with what each shows.
type Views = Vec<(VisibleSkills, ViewId)>;

/// Finds the view that shows these skills, or adds one.
fn view_of(visible: &VisibleSkills, views: &mut Views, catalog: &Catalog) -> ViewId {
    if *visible == VisibleSkills::Everything {
        return ViewId::EVERYTHING;
    }
    let known = views.iter().find(|(known, _)| known == visible).map(|(_, view)| *view);
    known.unwrap_or_else(|| {
        let view = catalog.restrict(visible.clone());
        views.push((visible.clone(), view));
        view
    })
}

/// The token in the header of a request; `None` if there is none, or more than one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use skillwire_catalog::SnapshotOptions;

    use super::*;

    fn parse(text: &str) -> Result<TokenTable, InvalidTokenFile> {
        let catalog = Catalog::new(SnapshotOptions::default());
        Tokens::parse(text).map(|tokens| TokenTable::new(tokens, None, &catalog))
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
        let table = TokenTable::new(Tokens::parse(text).unwrap(), None, &catalog);
        let grant = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            table.grant(&headers).unwrap()
        };
        let [a, b] = ["0123456789abcdef", "0123456789abcdeg"].map(grant);
        assert!(a.caller.may_run && !b.caller.may_run && b.visible != VisibleSkills::Everything);
        let next = "a 0123456789abcdef run=no\nb 0123456789abcdeg run=no acme/*\n";
        table.replace(Tokens::parse(next).unwrap(), &catalog);
        assert!(a.is_revoked() && !b.is_revoked());
        assert!(!grant("0123456789abcdef").caller.may_run);
    }

    #[test]
    fn a_replaced_token_is_revoked_and_an_equal_one_stays_fu_03() {
        let catalog = Catalog::new(SnapshotOptions::default());
        let text = "a 0123456789abcdef\nb 0123456789abcdeg acme/*\nc 0123456789abcdeh\n";
        let table = TokenTable::new(Tokens::parse(text).unwrap(), None, &catalog);
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
        let table = TokenTable::new(Tokens::from_digests(all.clone()), None, &catalog);
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
        let open = TokenTable::new(Tokens::from_digests([public]), None, &catalog);
        let closed = TokenTable::new(Tokens::none(), None, &catalog);
        assert!(
            open.grant(&HeaderMap::new()).is_some() && closed.grant(&HeaderMap::new()).is_none()
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "Bearer guess".parse().unwrap());
        assert!(open.grant(&headers).is_none());
    }
}
