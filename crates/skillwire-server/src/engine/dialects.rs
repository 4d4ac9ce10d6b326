//! Where the engine asks the projections: in one place for each method.

use std::sync::Arc;

use serde_json::Value;
use skillwire_catalog::listing::Page;
use skillwire_protocol::{error::RpcError, message::string, method, version::Era};

use super::{
    Answer, Call, Outcome,
    paging::{PageKey, SKILLS},
};
use crate::dialect::{self, Dialect, LISTED, Projected, Scene};

impl Call<'_> {
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
            readings: Arc::clone(&engine.readings),
            seal: engine.seal.clone(),
            caller: self.caller.name.clone(),
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
    pub(super) fn get_superset(&self, skill: Arc<skillwire_source::skill::Skill>) -> Answer {
        let scene = self.scene();
        later(async move {
            let names = scene.names().await?;
            let name = names.of_skill(&scene.snapshot, &skill).unwrap_or_default();
            let mut result = scene.style.begin();
            result.json("skill", &dialect::superset(&scene, &skill, name));
            result.cacheable();
            Ok(result.finish().into())
        })
    }

    /// Answers `skills/get` by name.
    pub(super) fn get_by_name(&self) -> Answer {
        let read = || {
            let name = self.required(self.params.name, "name")?;
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
        let name = || self.required(params.name, "name");
        match (method, &self.engine.scripts) {
            (method::SKILLS_READ, _) => Ok(later(dialect::read_skill(self.scene(), name()?))),
            (method::SKILLS_READ_REFERENCE, _) => {
                let reference = self.required(params.skill_reference, "reference")?;
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
                let wanted = (name()?, self.required(params.script, "script")?, arguments);
                Ok(later(dialect::execute(self.scene(), Arc::clone(runner), wanted)))
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

    /// What subscribing to something that is no file follows.
    pub(super) fn projected(&self, uri: &str) -> Option<Projected> {
        dialect::resolve_now(&self.scene(), uri)
    }

    fn required(
        &self,
        raw: Option<&serde_json::value::RawValue>,
        name: &str,
    ) -> Result<String, RpcError> {
        let path = format!("params.{name}");
        let raw = raw.ok_or_else(|| RpcError::invalid_params(format!("`{path}` is required.")))?;
        string(raw, &path).map(std::borrow::Cow::into_owned)
    }
}

fn not_an_object() -> RpcError {
    RpcError::invalid_params("`params.arguments` must be an object.")
}

/// An answer that is ready when its work is done.
pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Answer {
    Answer::Later(Box::pin(work))
}
