//! `skills/get`.

use std::{sync::Arc, time::Duration};

use skillwire_catalog::{Catalog, ViewId};
use skillwire_core::SkillUri;
use skillwire_protocol::{RpcError, truncated};
use skillwire_source::{LookupOutcome, Skill, SkillLookup};
use tokio::time::timeout;

use super::{Answer, Call, OwnedCall, dialects::get_superset, result::ResultText};
use crate::{dialect::Dialect, payload::Payload};

/// How long the catalogue may take to publish a skill that a lookup found.
const PUBLICATION: Duration = Duration::from_secs(10);

impl Call<'_> {
    /// Answers `skills/get` by URI, or in an older dialect by name; never by both.
    pub(super) fn get_skill(&self) -> Answer {
        let named = self.params.name.is_some() && self.speaks(Dialect::Sep2076);
        match (named, self.params.uri.is_some()) {
            (true, false) => self.get_by_name(),
            (true, true) => Answer::Now(Err(RpcError::invalid_params(
                "`params.uri` and `params.name` exclude each other.",
            ))),
            (false, _) => self.get_by_uri(),
        }
    }

    fn get_by_uri(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        if let Some(skill) = self.snapshot.skill(&uri) {
            return self.get_known(skill);
        }
        let sought = self.state.lookup.as_ref().zip(SkillUri::parse(&uri).ok());
        match sought {
            Some((lookup, uri)) => self.look_up(lookup, uri),
            None => Answer::Now(Err(not_found(&uri))),
        }
    }

    fn get_known(&self, skill: &Arc<Skill>) -> Answer {
        self.state.catalog.note_request(skill);
        if self.has_superset() {
            return self.get_superset(Arc::clone(skill));
        }
        Answer::Now(Ok(entry(self.result(), skill)))
    }

    /// Looks for a skill that the catalogue does not have under this URI.
    fn look_up(&self, lookup: &Arc<dyn SkillLookup>, uri: SkillUri) -> Answer {
        let names = lookup.aliases(&uri);
        let mut known = names.iter().filter_map(|name| self.snapshot.skill(name.as_str()));
        match (known.next(), known.next()) {
            (Some(skill), None) => return self.get_known(skill),
            (Some(one), Some(other)) => {
                let message = format!(
                    "`{}` may mean `{}` or `{}`; ask for one of them.",
                    truncated(uri.as_str()),
                    truncated(one.uri.as_str()),
                    truncated(other.uri.as_str())
                );
                return Answer::Now(Err(RpcError::invalid_params(message)));
            }
            (None, _) => {}
        }
        let (catalog, view) = (Arc::clone(&self.state.catalog), self.caller.view);
        // Trust boundary: a caller must not make the server look for a skill that it may not see.
        // Otherwise the time the answer takes would reveal whether the skill exists.
        let asked = catalog.would_show(view, &uri).then(|| lookup.look_up(&uri)).flatten();
        let Some(asked) = asked else { return Answer::Now(Err(not_found(uri.as_str()))) };
        let (result, superset) = (self.result(), self.has_superset().then(|| self.to_owned_call()));
        Answer::Later(Box::pin(async move {
            let found = match asked.await {
                LookupOutcome::Found => published(&catalog, view, &uri).await,
                LookupOutcome::NotFound => None,
                LookupOutcome::Failed => return Err(RpcError::internal()),
            };
            let skill = found.ok_or_else(|| not_found(uri.as_str()))?;
            match superset {
                Some(call) => get_superset(call, &skill).await,
                None => Ok(entry(result, &skill)),
            }
        }))
    }
}

impl OwnedCall {
    /// Looks for a skill that the catalogue does not have; returns `None` if there is none that the
    /// caller may see. The error is for a lookup that failed, which may succeed when it is repeated.
    pub(crate) async fn look_up(&self, uri: &SkillUri) -> Result<Option<Arc<Skill>>, RpcError> {
        let (catalog, view) = (&self.state.catalog, self.caller.view);
        // Trust boundary: see `Call::look_up`.
        let lookup = self.state.lookup.as_ref().filter(|_| catalog.would_show(view, uri));
        let Some(asked) = lookup.and_then(|lookup| lookup.look_up(uri)) else { return Ok(None) };
        match asked.await {
            LookupOutcome::Found => Ok(published(catalog, view, uri).await),
            LookupOutcome::NotFound => Ok(None),
            LookupOutcome::Failed => Err(RpcError::internal()),
        }
    }
}

/// Waits until the catalogue shows a skill; returns `None` after [`PUBLICATION`], for example if
/// another skill holds its URI.
async fn published(catalog: &Catalog, view: ViewId, uri: &SkillUri) -> Option<Arc<Skill>> {
    // Listening starts before the first look at the catalogue. The other way round, a skill
    // published in between would go unnoticed until the next change.
    let mut changes = catalog.changes();
    let shown = async {
        loop {
            let snapshot = catalog.now(view)?;
            if let Some(skill) = snapshot.skill(uri.as_str()) {
                return Some(Arc::clone(skill));
            }
            // A listener that missed changes looks at the catalogue again all the same.
            let _ = changes.recv().await;
        }
    };
    timeout(PUBLICATION, shown).await.ok().flatten()
}

fn entry(mut result: ResultText, skill: &Skill) -> Payload {
    result.json("skill", &skill.entry.text());
    result.cacheable();
    result.finish().into()
}

fn not_found(uri: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "No skill is served at `{}`; `params.uri` must be the URI of a skill's `SKILL.md`.",
        truncated(uri)
    ))
}
