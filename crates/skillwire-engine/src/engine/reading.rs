//! `resources/read`.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_catalog::FoundFile;
use skillwire_core::{RelPath, media_type};
use skillwire_protocol::RpcError;
use skillwire_source::{FileRecord, FileTree, GenerateError, Skill, SkillContent, SkillGenerator};

use super::{
    Answer, Call, EngineState, Outcome,
    budget::NoAnswerMemory,
    contents::{ContentError, TEXT_MEMBER, render},
    permits::ReadPermits,
    resource_changed,
    result::ResultStyle,
};
use crate::{caller::Caller, config::CacheScope, payload::Payload};

/// A requested file of a store; it outlives the call, because the file may have to be read first.
struct RequestedFile {
    style: ResultStyle,
    uri: String,
    media_type: &'static str,
    skill: Arc<Skill>,
    state: Arc<EngineState>,
}

impl Call<'_> {
    pub(super) fn read_resource(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.snapshot.file(&uri) {
            None => match self.read_linked(&uri) {
                Some(contents) => Answer::Now(Ok(contents)),
                None => self.read_offered(&uri).unwrap_or_else(|| self.read_projected(&uri)),
            },
            Some(FoundFile::Generated(skill, path)) => self.read_generated(&uri, skill, path),
            Some(FoundFile::Stored { skill, tree, record }) => {
                self.read_stored(&uri, skill, tree, record)
            }
        }
    }

    /// Reads a resource that the result of a call linked to; it is for one caller, so caches must
    /// not keep it.
    fn read_linked(&self, uri: &str) -> Option<Payload> {
        let linked = self.state.offers.read(self.caller, uri)?;
        let style = ResultStyle { scope: CacheScope::Private, ..self.style() };
        Some(contents(&style, uri, linked.media_type, render(&linked.bytes)))
    }

    fn read_generated(&self, uri: &str, skill: &Skill, path: RelPath) -> Answer {
        let SkillContent::Generated(generator) = &skill.content else {
            return Answer::Now(Err(RpcError::internal()));
        };
        let (generator, uri) = (Arc::clone(generator), uri.to_owned());
        let (style, not_found) = (self.style(), self.resource_not_found(&uri));
        let about = skill.provenance.clone();
        let state = Arc::clone(self.state);
        Answer::Later(Box::pin(async move {
            let read = match generator.remote().map(|remote| remote.fetch(&path)) {
                Some(fetch) => fetch.await.map_err(|error| failed(&error))?,
                None => {
                    run(&state.permits, generator, move |generator| generator.read(&path)).await?
                }
            };
            let bytes = read.ok_or(not_found)?;
            let name = uri.rsplit('/').next().unwrap_or_default();
            let media_type = media_type::of(name, &bytes);
            Ok(contents_of(&style, &uri, media_type, about.as_deref(), render(&bytes)))
        }))
    }

    fn read_stored(
        &self,
        uri: &str,
        skill: &Arc<Skill>,
        tree: &FileTree,
        record: &FileRecord,
    ) -> Answer {
        // The lookup found the innermost skill, so a `SKILL.md` with an entry belongs to that
        // skill.
        let own_entry = skill.uri.as_str() == uri;
        let media_type = if own_entry { "text/markdown" } else { record.media_type };
        let state = self.state;
        if let Some(rendered) = state.contents.kept(&tree.store, record) {
            state.metrics.contents_kept.inc();
            state.note_read(self.caller, skill, &record.path);
            let about = skill.provenance.as_deref();
            let found = contents_of(&self.style(), uri, media_type, about, rendered).counted();
            return Answer::Now(Ok(found));
        }
        state.metrics.contents_read.inc();
        let wanted = RequestedFile {
            style: self.style(),
            uri: uri.to_owned(),
            media_type,
            skill: Arc::clone(skill),
            state: Arc::clone(state),
        };
        if let Some(read) = state.contents.read_now(&tree.store, record) {
            return Answer::Now(wanted.answer(self.caller, &record.path, read));
        }
        let store = Arc::clone(&tree.store);
        let (record, caller) = (record.clone(), self.caller.clone());
        let state = Arc::clone(state);
        Answer::Later(Box::pin(async move {
            let path = record.path.clone();
            wanted.answer(&caller, &path, state.rendered(store, record).await)
        }))
    }
}

impl RequestedFile {
    fn answer(self, caller: &Caller, path: &RelPath, read: Result<Bytes, ContentError>) -> Outcome {
        let Self { style, uri, media_type, skill, state } = self;
        match read {
            Ok(rendered) => {
                state.note_read(caller, &skill, path);
                let about = skill.provenance.as_deref();
                Ok(contents_of(&style, &uri, media_type, about, rendered).counted())
            }
            Err(ContentError::NoAnswerMemory) => Err(NoAnswerMemory.into()),
            Err(ContentError::Changed) => {
                tracing::info!(uri, "a file is not what was published");
                state.catalog.stale_reporter(&skill).report();
                Err(resource_changed(style.era, &uri))
            }
            Err(ContentError::Failed(reason)) => {
                tracing::error!(uri, reason, "a file could not be read");
                Err(RpcError::internal())
            }
        }
    }
}

/// Writes the result for one document around its rendered bytes.
pub(crate) fn contents(
    style: &ResultStyle,
    uri: &str,
    media_type: &str,
    rendered: Bytes,
) -> Payload {
    contents_of(style, uri, media_type, None, rendered)
}

/// Writes the result for one file of a skill around its rendered bytes, with what the server says about the
/// skill.
pub(crate) fn contents_of(
    style: &ResultStyle,
    uri: &str,
    media_type: &str,
    about: Option<&str>,
    rendered: Bytes,
) -> Payload {
    let mut head = style.begin();
    // The source may have guessed the type from the file name, without the bytes.
    let wrong = media_type.starts_with("text/") && !rendered.starts_with(TEXT_MEMBER);
    let media_type = if wrong { "application/octet-stream" } else { media_type };
    head.open_contents(uri, media_type, about);
    let (head, mut tail) = head.close_contents();
    tail.cacheable();
    tail.server_info();
    Payload::new([head, rendered, tail.finish()])
}

/// Runs a generator off the event loop; the client does not learn why it failed.
pub(crate) async fn run<T: Send + 'static>(
    permits: &ReadPermits,
    generator: Arc<dyn SkillGenerator>,
    work: impl FnOnce(&dyn SkillGenerator) -> Result<T, GenerateError> + Send + 'static,
) -> Result<T, RpcError> {
    match permits.generate(move || work(&*generator)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => {
            tracing::error!(%error, "a generated skill panicked");
            Err(RpcError::internal())
        }
    }
}

/// Logs why a generator failed; the client only learns that it did.
pub(crate) fn failed(error: &GenerateError) -> RpcError {
    tracing::error!(%error, "a generated skill failed");
    RpcError::internal()
}
