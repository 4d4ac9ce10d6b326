//! Tokens that an authorization server issued: checked once, then known until they end.

use std::{collections::HashMap, fmt, pin::Pin, sync::Arc, time::SystemTime};

use skillwire_catalog::VisibleSkills;
use skillwire_core::Digest;

use super::auth::Grant;

/// The most tokens that are remembered. One that is forgotten is checked again.
const MOST_REMEMBERED: usize = 10_000;

/// The longest token that is checked.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A future that checks one token.
pub type Verifying<'a> =
    Pin<Box<dyn Future<Output = Result<VerifiedCaller, TokenRefusal>> + Send + 'a>>;

/// Checks bearer tokens that the server does not know itself, such as those of an authorization server.
pub trait VerifyToken: Send + Sync + fmt::Debug {
    /// Checks a token. It must be meant for `resource`, the address of the endpoint as its clients write it.
    fn verify<'a>(&'a self, token: &'a str, resource: &'a str) -> Verifying<'a>;
}

/// A caller whose token was checked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VerifiedCaller {
    /// The caller's name, for the log.
    pub name: String,
    /// The skills that the caller sees.
    pub visible: VisibleSkills,
    /// When the token ends.
    pub expires: SystemTime,
    /// Whether the caller may run scripts, where the server runs any.
    pub may_run: bool,
}

impl VerifiedCaller {
    /// A caller that sees some skills until its token ends, and runs no scripts.
    pub fn new(
        name: impl Into<String>,
        visible: impl Into<VisibleSkills>,
        expires: SystemTime,
    ) -> Self {
        Self { name: name.into(), visible: visible.into(), expires, may_run: false }
    }
}

/// Why a token is refused; each text is a sentence for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// The token is not valid here: 401 with `invalid_token`.
    Invalid(String),
    /// The token is valid, and lacks this scope: 403 with `insufficient_scope`.
    Scope(String),
    /// The token cannot be checked now: 503.
    Unavailable(String),
}

/// A token that was checked, with what it allows.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) grant: Arc<Grant>,
    pub(super) expires: SystemTime,
}

/// Tokens that were checked, by their digests.
#[derive(Debug, Default)]
pub(super) struct VerifiedTokens {
    known: HashMap<Digest, Remembered>,
}

impl VerifiedTokens {
    /// The grant of a token that has not ended.
    pub(super) fn grant(&self, token: &Digest, now: SystemTime) -> Option<Arc<Grant>> {
        let known = self.known.get(token).filter(|known| known.expires > now)?;
        (!known.grant.is_revoked()).then(|| Arc::clone(&known.grant))
    }

    /// Finds the grant of another token of the same caller, so that a session outlives its first token.
    pub(super) fn of_caller(&self, caller: &VerifiedCaller) -> Option<Arc<Grant>> {
        let same = |grant: &&Arc<Grant>| grant.is_of(caller) && !grant.is_revoked();
        self.known.values().map(|known| &known.grant).find(same).map(Arc::clone)
    }

    pub(super) fn remember(&mut self, token: Digest, grant: Arc<Grant>, expires: SystemTime) {
        if self.known.len() >= MOST_REMEMBERED {
            let now = SystemTime::now();
            self.known.retain(|_, known| known.expires > now);
        }
        if self.known.len() >= MOST_REMEMBERED {
            // The streams of these callers go on; their next requests are checked again.
            self.known.clear();
        }
        self.known.insert(token, Remembered { grant, expires });
    }

    /// Takes out the tokens whose callers `keeps` does not keep, and returns their grants.
    pub(super) fn retain(&mut self, keeps: impl Fn(&Grant) -> bool) -> Vec<Arc<Grant>> {
        let mut gone = Vec::new();
        self.known.retain(|_, known| {
            let kept = keeps(&known.grant);
            if !kept {
                gone.push(Arc::clone(&known.grant));
            }
            kept
        });
        gone
    }

    /// Whether another token has a grant with this view.
    pub(super) fn uses(&self, view: skillwire_catalog::ViewId) -> bool {
        self.known.values().any(|known| known.grant.caller.view == view)
    }

    /// The views of callers, with what each shows.
    pub(super) fn views(&self) -> impl Iterator<Item = (VisibleSkills, skillwire_catalog::ViewId)> {
        self.known.values().map(|known| (known.grant.visible.clone(), known.grant.caller.view))
    }
}
