//! The calls from the engine into the dialects, one place for each method.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};
use skillwire_catalog::{Page, ViewId};
use skillwire_dialects::sep_2076::read_arguments;
use skillwire_protocol::{
    Era, RpcError,
    message::{Params, string},
    method,
};

use skillwire_core::ResourceUri;
use skillwire_source::Skill;

use super::{
    Answer, Call, Engine, Outcome, OwnedCall,
    paging::{PageKey, SKILLS},
};
use crate::{
    caller::Caller,
    dialect::{self, AliasTarget, Dialect, LISTED},
    offer::{Link, Offer, Progress},
    subscription::Followed,
};

impl Engine {
    /// Returns what a subscription to a URI follows, if the URI is served to the caller.
    pub fn follow(&self, caller: &Caller, era: Era, uri: &str) -> Option<Followed> {
        let snapshot = self.state.catalog.now(caller.view)?;
        let (params, link) = (&Params::default(), &Link::default());
        Call { state: &self.state, caller, era, snapshot, params, link }.follow(uri)
    }

    /// Returns what is published at a path under `/.well-known/`, from the skills of a view.
    pub async fn published(
        &self,
        view: ViewId,
        path: &str,
    ) -> Result<Option<dialect::Published>, RpcError> {
        let caller = Caller { view, ..Caller::default() };
        let snapshot = self.state.catalog.now(view).ok_or_else(RpcError::internal)?;
        let style = self.state.style(&caller, Era::Legacy);
        let call = OwnedCall { state: Arc::clone(&self.state), snapshot, caller, style };
        dialect::published(call, path).await
    }

    /// Lists what listed skills need from this server and it does not have, if clients are told of
    /// such needs at all.
    ///
    /// Looks at every skill.
    pub fn missing_dependencies(&self) -> Vec<dialect::Missing> {
        let told = self.state.config.dialects.on(Dialect::Sep2076, Era::Legacy);
        let snapshot = self.state.catalog.now(ViewId::EVERYTHING).filter(|_| told);
        snapshot.map_or_else(Vec::new, |snapshot| dialect::missing(&self.state, &snapshot))
    }

    /// Returns the notifications that legacy clients get, besides those about resources, when the
    /// listings change.
    pub fn announcements(&self) -> &'static [&'static str] {
        const ALL: [&str; 3] =
            [method::SKILLS_LIST_CHANGED, method::TOOLS_LIST_CHANGED, method::PROMPTS_LIST_CHANGED];
        let dialects = self.state.config.dialects;
        let by_name = dialects.any(&[Dialect::Sep2076, Dialect::SkillsPage], Era::Legacy);
        // Skilljack names the skills in the descriptions of its tools and has a prompt for each of
        // them, so both lists change as well.
        match (by_name, dialects.on(Dialect::Skilljack, Era::Legacy)) {
            (true, true) => &ALL,
            (true, false) => &ALL[..1],
            (false, true) => &ALL[1..],
            (false, false) => &[],
        }
    }
}

impl Call<'_> {
    /// Iterates over everything that is offered to the client besides skills.
    pub(super) fn offers(&self) -> impl Iterator<Item = &Arc<dyn Offer>> {
        let as_tools = self.state.skilljack.iter().filter(|_| self.era == Era::Legacy);
        self.state.offers.iter().chain(as_tools)
    }

    /// Tells whether a dialect is enabled for the client.
    pub(super) fn speaks(&self, dialect: Dialect) -> bool {
        self.state.config.dialects.on(dialect, self.era)
    }

    /// Copies the request, for an answer that takes time.
    pub(super) fn to_owned_call(&self) -> OwnedCall {
        OwnedCall {
            state: Arc::clone(self.state),
            snapshot: Arc::clone(&self.snapshot),
            caller: self.caller.clone(),
            style: self.style(),
        }
    }

    /// Tells whether entries of skills also carry the members of older dialects.
    pub(super) fn has_superset(&self) -> bool {
        let knowing = [Dialect::Sep2076, Dialect::SkillsPage];
        self.era == Era::Legacy && self.state.config.dialects.any(&knowing, self.era)
    }

    /// Answers `skills/list` with entries that suit every dialect.
    pub(super) fn list_superset(&self, after: Option<String>, key: PageKey<Box<str>>) -> Answer {
        let call = self.to_owned_call();
        later(async move {
            let names = call.names().await?;
            let entries = call.snapshot.listed_after(after.as_deref()).map(|skill| {
                // A skill without a name of its own can still be requested by its URI.
                let name = names.of_skill(&call.snapshot, skill).unwrap_or_default();
                (skill.uri.to_string(), dialect::superset(&call, skill, name).into())
            });
            let page = Page::cut(call.config().page_size, entries);
            let mut result = call.begin_page((SKILLS.method, SKILLS.of), SKILLS.member, &page);
            result.cacheable();
            let bytes = result.finish();
            call.state.pages.keep(key, bytes.clone());
            Ok(bytes.into())
        })
    }

    /// Answers `skills/get` with an entry in the form of `skills/list`.
    pub(super) fn get_superset(&self, skill: Arc<Skill>) -> Answer {
        let call = self.to_owned_call();
        later(async move { get_superset(call, &skill).await })
    }

    /// Answers `skills/get` by name.
    pub(super) fn get_by_name(&self) -> Answer {
        let read = || {
            let name = required(self.params.name, "name")?;
            let arguments = read_arguments(self.params.arguments)
                .map_err(|error| RpcError::invalid_params(error.to_string()))?;
            Ok::<_, RpcError>((name, arguments))
        };
        match read() {
            Ok((name, arguments)) => {
                later(dialect::get_by_name(self.to_owned_call(), name, arguments))
            }
            Err(error) => Answer::Now(Err(error)),
        }
    }

    /// Answers a method of the "Skills" page.
    pub(super) fn skills_page(&self, method: &str) -> Answer {
        if !self.speaks(Dialect::SkillsPage) {
            return Answer::Now(Err(RpcError::method_not_found(method)));
        }
        self.try_skills_page(method).unwrap_or_else(|error| Answer::Now(Err(error)))
    }

    fn try_skills_page(&self, method: &str) -> Result<Answer, RpcError> {
        let params = self.params;
        let name = || required(params.name, "name");
        match (method, &self.state.scripts) {
            (method::SKILLS_READ, _) => {
                Ok(later(dialect::read_skill(self.to_owned_call(), name()?)))
            }
            (method::SKILLS_READ_REFERENCE, _) => {
                let reference = required(params.skill_reference, "reference")?;
                Ok(later(dialect::read_reference(self.to_owned_call(), name()?, reference)))
            }
            (method::SKILLS_EXECUTE, Some(runner)) if self.caller.may_run => {
                let arguments: Option<Value> = match params.arguments {
                    Some(raw) if raw.get().starts_with('{') => {
                        Some(serde_json::from_str(raw.get()).map_err(|_| not_an_object())?)
                    }
                    Some(_) => return Err(not_an_object()),
                    None => None,
                };
                let wanted = (name()?, required(params.script, "script")?, arguments);
                let progress = Progress::of(params.meta, self.link);
                let runner = Arc::clone(runner);
                Ok(later(dialect::execute(self.to_owned_call(), runner, wanted, progress)))
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// Answers `resources/list` if a dialect adds to it.
    pub(super) fn list_projected(&self) -> Option<Answer> {
        let cursor = || self.cursor().map(|cursor| cursor.map(std::borrow::Cow::into_owned));
        if self.params.uri.is_some() && self.speaks(Dialect::ScopedList) {
            let read = || Ok::<_, RpcError>((self.uri()?.into_owned(), cursor()?));
            return Some(match read() {
                Ok((uri, cursor)) => later(dialect::list_scope(self.to_owned_call(), uri, cursor)),
                Err(error) => Answer::Now(Err(error)),
            });
        }
        let adds = self.era == Era::Legacy && self.state.config.dialects.any(&LISTED, self.era);
        adds.then(|| match cursor() {
            Ok(cursor) => {
                let offered = self.offered(|offer, caller| offer.resources(caller));
                later(dialect::list_resources(self.to_owned_call(), cursor, offered))
            }
            Err(error) => Answer::Now(Err(error)),
        })
    }

    /// Answers `resources/read` for a URI that is not a file of a skill.
    pub(super) fn read_projected(&self, uri: &str) -> Answer {
        let missing = self.resource_not_found(uri);
        let call = self.to_owned_call();
        let file = self.state.lookup.as_ref().and_then(|lookup| {
            let file = ResourceUri::parse(uri).ok()?;
            let skill = lookup.skill_of(&file)?;
            self.snapshot.skill(skill.as_str()).is_none().then_some((skill, file))
        });
        let uri = uri.to_owned();
        let Some((skill, file)) = file else {
            return later(dialect::read_resource(call, uri, missing));
        };
        // The file may be of a skill that is fetched when a client asks for it.
        later(async move {
            let skill = call.look_up(&skill).await?.ok_or_else(|| missing.clone())?;
            let path = skill.uri.below(&file).ok_or_else(|| missing.clone())?;
            let bytes = call.bytes(&skill, &path).await?.ok_or(missing)?;
            Ok(call.contents_of(&skill, &path, &uri, &bytes))
        })
    }

    /// Returns what a subscription to a URI follows.
    pub(super) fn follow(&self, uri: &str) -> Option<Followed> {
        if self.snapshot.file(uri).is_some() {
            return Some(Followed::Itself);
        }
        if uri == "skill://" && self.speaks(Dialect::Skilljack) {
            return Some(Followed::Anything);
        }
        if let Some(offered) = self.follow_offered(uri) {
            return Some(offered);
        }
        Some(match dialect::resolve_now(&self.to_owned_call(), uri)? {
            AliasTarget::Index | AliasTarget::PlainIndex | AliasTarget::PromptXml => Followed::List,
            AliasTarget::File(skill, path) => {
                Followed::File(skill.uri.root().child(&path).shared())
            }
            AliasTarget::Archive(skill, _)
            | AliasTarget::Manifest(skill)
            | AliasTarget::Collection(skill)
            | AliasTarget::Documents(skill, _)
            | AliasTarget::Usage(skill) => Followed::File(skill.uri.file().shared()),
        })
    }
}

/// Reads a required string parameter.
fn required(raw: Option<&RawValue>, name: &str) -> Result<String, RpcError> {
    let path = format!("params.{name}");
    let raw = raw.ok_or_else(|| RpcError::invalid_params(format!("`{path}` is required.")))?;
    string(raw, &path).map(std::borrow::Cow::into_owned)
}

/// Answers with the entry of a skill that suits every dialect.
pub(super) async fn get_superset(call: OwnedCall, skill: &Skill) -> Outcome {
    let names = call.names().await?;
    // A skill that a lookup found may be newer than the names.
    let name = names.of_skill(&call.snapshot, skill).unwrap_or(skill.name());
    let mut result = call.style.begin();
    result.json("skill", &dialect::superset(&call, skill, name));
    result.cacheable();
    Ok(result.finish().into())
}

fn not_an_object() -> RpcError {
    RpcError::invalid_params("`params.arguments` must be an object.")
}

/// Wraps work into an answer that is ready when the work is done.
pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Answer {
    Answer::Later(Box::pin(work))
}
