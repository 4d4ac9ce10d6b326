//! Where the engine asks the projections: in one place for each method.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};
use skillwire_catalog::{
    catalog::{Catalog, ViewId},
    cursor::CursorSeal,
    listing::Page,
};
use skillwire_protocol::{
    error::RpcError,
    message::{Params, string},
    method,
    version::Era,
};

use skillwire_source::Skill;

use super::{
    Answer, Call, Engine, Outcome,
    paging::{PageKey, SKILLS},
    result::{ResultStyle, server_info},
    turns::Turns,
};
use crate::{
    caller::Caller,
    config::Config,
    dialect::{self, Dialect, LISTED, Projected, Projections, Scene, SkilljackOffer},
    offer::{Link, Offer, Offers, Progress},
    subscription::Followed,
};

impl Engine {
    /// What subscribing to a URI follows, if it is served to the caller.
    pub fn follow(&self, caller: &Caller, era: Era, uri: &str) -> Option<Followed> {
        let snapshot = self.catalog.now(caller.view)?;
        let (params, link) = (&Params::default(), &Link::default());
        Call { engine: self, caller, era, snapshot, params, link }.follow(uri)
    }

    /// What is published at a path to everybody who sees a view.
    pub async fn published(
        &self,
        view: ViewId,
        path: &str,
    ) -> Result<Option<dialect::Published>, RpcError> {
        let caller = Caller { name: String::new(), view };
        let snapshot = self.catalog.now(view).ok_or_else(RpcError::internal)?;
        let (params, link) = (&Params::default(), &Link::default());
        let call = Call { engine: self, caller: &caller, era: Era::Legacy, snapshot, params, link };
        let scene = call.scene();
        dialect::published(scene, path).await
    }

    /// What listed skills say they need of this server and it does not have, if clients are told
    /// of such needs at all. Looks at every skill.
    pub fn missing_dependencies(&self) -> Vec<dialect::Missing> {
        let told = self.config.dialects.on(Dialect::Sep2076, Era::Legacy);
        let snapshot = self.catalog.now(ViewId::EVERYTHING).filter(|_| told);
        snapshot.map_or_else(Vec::new, |snapshot| dialect::missing(&snapshot, &self.offers))
    }

    /// What legacy clients are told, besides the change of resources, when the listings change.
    pub fn announcements(&self) -> &'static [&'static str] {
        const ALL: [&str; 3] =
            [method::SKILLS_LIST_CHANGED, method::TOOLS_LIST_CHANGED, method::PROMPTS_LIST_CHANGED];
        let dialects = self.config.dialects;
        let by_name = dialects.any(&[Dialect::Sep2076, Dialect::SkillsPage], Era::Legacy);
        // The descriptions of its tools name the skills.
        match (by_name, dialects.on(Dialect::Skilljack, Era::Legacy)) {
            (true, true) => &ALL,
            (true, false) => &ALL[..1],
            (false, true) => &ALL[1..],
            (false, false) => &[],
        }
    }
}

/// Skills as tools and prompts, for clients of the legacy era that know them as nothing else.
pub(super) fn skilljack(
    config: &Arc<Config>,
    catalog: &Arc<Catalog>,
    shared: (&Arc<Projections>, &Turns),
    seal: &CursorSeal,
) -> Option<Arc<dyn Offer>> {
    if !config.dialects.on(Dialect::Skilljack, Era::Legacy) {
        return None;
    }
    let (config, catalog, seal) = (Arc::clone(config), Arc::clone(catalog), seal.clone());
    let (projections, turns) = (Arc::clone(shared.0), shared.1.clone());
    let server_info = server_info(&config);
    Some(Arc::new(SkilljackOffer::new(Box::new(move |caller| {
        Some(Scene {
            snapshot: catalog.now(caller.view)?,
            view: caller.view,
            style: ResultStyle {
                era: Era::Legacy,
                ttl_ms: config.ttl_ms,
                scope: config.cache_scope,
                server_info: Arc::clone(&server_info),
            },
            config: Arc::clone(&config),
            projections: Arc::clone(&projections),
            catalog: Arc::clone(&catalog),
            turns: turns.clone(),
            seal: seal.clone(),
            caller: caller.clone(),
            offers: Offers::default(),
        })
    }))))
}

impl Call<'_> {
    /// Everything that is offered to the client besides skills.
    pub(super) fn offers(&self) -> impl Iterator<Item = &Arc<dyn Offer>> {
        let as_tools = self.engine.skilljack.iter().filter(|_| self.era == Era::Legacy);
        self.engine.offers.iter().chain(as_tools)
    }

    /// Whether the client is spoken to in a dialect.
    pub(super) fn speaks(&self, dialect: Dialect) -> bool {
        self.engine.config.dialects.on(dialect, self.era)
    }

    /// The request as projections see it.
    pub(super) fn scene(&self) -> Scene {
        let engine = self.engine;
        Scene {
            snapshot: Arc::clone(&self.snapshot),
            view: self.caller.view,
            style: self.style(),
            config: Arc::clone(&engine.config),
            projections: Arc::clone(&engine.projections),
            catalog: Arc::clone(&engine.catalog),
            turns: engine.turns.clone(),
            seal: engine.seal.clone(),
            caller: self.caller.clone(),
            offers: engine.offers.clone(),
        }
    }

    /// Whether skills are described for older dialects as well.
    pub(super) fn has_superset(&self) -> bool {
        let knowing = [Dialect::Sep2076, Dialect::SkillsPage];
        self.era == Era::Legacy && self.engine.config.dialects.any(&knowing, self.era)
    }

    /// Answers `skills/list` with entries for every dialect.
    pub(super) fn list_superset(&self, after: Option<String>, key: PageKey<Box<str>>) -> Answer {
        let (scene, pages) = (self.scene(), Arc::clone(&self.engine.pages));
        later(async move {
            let names = scene.names().await?;
            let entries = scene.snapshot.listed_after(after.as_deref()).map(|skill| {
                // One without a name of its own can still be asked for by its URI.
                let name = names.of_skill(&scene.snapshot, skill).unwrap_or_default();
                (skill.uri.to_string(), dialect::superset(&scene, skill, name).into())
            });
            let page = Page::cut(scene.config.page_size, entries);
            let mut result = scene.begin_page((SKILLS.method, SKILLS.of), SKILLS.member, &page);
            result.cacheable();
            let bytes = result.finish();
            pages.keep(key, bytes.clone());
            Ok(bytes.into())
        })
    }

    /// Answers `skills/get` for a skill in the form `skills/list` has.
    pub(super) fn get_superset(&self, skill: Arc<Skill>) -> Answer {
        let scene = self.scene();
        later(async move { get_superset(scene, &skill).await })
    }

    /// Answers `skills/get` by name.
    pub(super) fn get_by_name(&self) -> Answer {
        let read = || {
            let name = required(self.params.name, "name")?;
            Ok::<_, RpcError>((name, dialect::given(self.params.arguments)?))
        };
        match read() {
            Ok((name, given)) => later(dialect::get_by_name(self.scene(), name, given)),
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
        match (method, &self.engine.scripts) {
            (method::SKILLS_READ, _) => Ok(later(dialect::read_skill(self.scene(), name()?))),
            (method::SKILLS_READ_REFERENCE, _) => {
                let reference = required(params.skill_reference, "reference")?;
                Ok(later(dialect::read_reference(self.scene(), name()?, reference)))
            }
            (method::SKILLS_EXECUTE, Some(runner)) => {
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
                Ok(later(dialect::execute(self.scene(), runner, wanted, progress)))
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// Answers `resources/list` where a dialect has something to say about it.
    pub(super) fn list_projected(&self) -> Option<Answer> {
        let cursor = || self.cursor().map(|cursor| cursor.map(std::borrow::Cow::into_owned));
        if self.params.uri.is_some() && self.speaks(Dialect::ScopedList) {
            let read = || Ok::<_, RpcError>((self.uri()?.into_owned(), cursor()?));
            return Some(match read() {
                Ok((uri, cursor)) => later(dialect::list_scope(self.scene(), uri, cursor)),
                Err(error) => Answer::Now(Err(error)),
            });
        }
        let adds = self.era == Era::Legacy && self.engine.config.dialects.any(&LISTED, self.era);
        adds.then(|| match cursor() {
            Ok(cursor) => later(dialect::list_resources(self.scene(), cursor)),
            Err(error) => Answer::Now(Err(error)),
        })
    }

    /// Answers `resources/read` for what is no file.
    pub(super) fn read_projected(&self, uri: &str) -> Answer {
        let missing = self.resource_not_found(uri);
        later(dialect::read_resource(self.scene(), uri.to_owned(), missing))
    }

    /// What subscribing to a URI follows.
    pub(super) fn follow(&self, uri: &str) -> Option<Followed> {
        if self.snapshot.file(uri).is_some() {
            return Some(Followed::Itself);
        }
        if uri == "skill://" && self.speaks(Dialect::Skilljack) {
            return Some(Followed::Anything);
        }
        Some(match dialect::resolve_now(&self.scene(), uri)? {
            Projected::Index | Projected::PlainIndex | Projected::PromptXml => Followed::List,
            Projected::File(skill, path) => Followed::File(skill.uri.root().child(&path).shared()),
            Projected::Archive(skill, _)
            | Projected::Manifest(skill)
            | Projected::Collection(skill)
            | Projected::Documents(skill, _)
            | Projected::Usage(skill) => Followed::File(skill.uri.file().shared()),
        })
    }
}

/// A parameter that must be there and a string.
fn required(raw: Option<&RawValue>, name: &str) -> Result<String, RpcError> {
    let path = format!("params.{name}");
    let raw = raw.ok_or_else(|| RpcError::invalid_params(format!("`{path}` is required.")))?;
    string(raw, &path).map(std::borrow::Cow::into_owned)
}

/// The entry of a skill for every dialect.
pub(super) async fn get_superset(scene: Scene, skill: &Skill) -> Outcome {
    let names = scene.names().await?;
    // A skill that was found elsewhere may be newer than the names.
    let name = names.of_skill(&scene.snapshot, skill).unwrap_or(skill.name());
    let mut result = scene.style.begin();
    result.json("skill", &dialect::superset(&scene, skill, name));
    result.cacheable();
    Ok(result.finish().into())
}

fn not_an_object() -> RpcError {
    RpcError::invalid_params("`params.arguments` must be an object.")
}

/// An answer that is ready when its work is done.
pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Answer {
    Answer::Later(Box::pin(work))
}
