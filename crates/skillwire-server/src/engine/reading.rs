//! `resources/read`.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_catalog::snapshot::FoundFile;
use skillwire_core::media_type;
use skillwire_protocol::error::RpcError;
use skillwire_source::{
    generated::{GenerateError, Generator},
    skill::Content,
};

use super::{
    Answer, Call,
    contents::{ContentError, render},
    result::{ResultStyle, quoted},
};
use crate::payload::Payload;

impl Call<'_> {
    pub(super) fn read_resource(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.snapshot.file(&uri) {
            None => Answer::Now(Err(self.resource_not_found(&uri))),
            Some(FoundFile::Generated(skill, path)) => {
                let Content::Generated(generator) = &skill.content else {
                    return Answer::Now(Err(RpcError::internal()));
                };
                let generator = Arc::clone(generator);
                let (style, not_found) = (self.style(), self.resource_not_found(&uri));
                Answer::Later(Box::pin(async move {
                    let read = run(generator, move |generator| generator.read(&path)).await?;
                    let bytes = read.ok_or(not_found)?;
                    let name = uri.rsplit('/').next().unwrap_or_default();
                    Ok(contents(&style, &uri, media_type::of(name, &bytes), render(&bytes)))
                }))
            }
            Some(FoundFile::Stored { skill, tree, record }) => {
                // The innermost skill was found, so a `SKILL.md` with an entry is that skill's own.
                let own_entry = skill.uri.as_str() == uri;
                let media_type = if own_entry { "text/markdown" } else { record.media_type };
                let engine = self.engine;
                if let Some(rendered) = engine.contents.kept(&record.digest) {
                    engine.metrics.contents_kept.inc();
                    return Answer::Now(Ok(contents(&self.style(), &uri, media_type, rendered)));
                }
                engine.metrics.contents_read.inc();
                let (store, record) = (Arc::clone(&tree.store), record.clone());
                let shared = Arc::clone(&engine.contents);
                let reporter = engine.catalog.stale_reporter(skill);
                let (style, changed) = (self.style(), self.resource_changed(&uri));
                let finish = move |read: Result<Bytes, ContentError>| match read {
                    Ok(rendered) => Ok(contents(&style, &uri, media_type, rendered)),
                    Err(ContentError::Changed) => {
                        tracing::info!(uri, "a file is not what was published");
                        reporter.report();
                        Err(changed)
                    }
                    Err(ContentError::Failed(reason)) => {
                        tracing::error!(uri, reason, "a file could not be read");
                        Err(RpcError::internal())
                    }
                };
                if tree.store.is_memory() {
                    return Answer::Now(finish(shared.read(&store, &record)));
                }
                let turns = Arc::clone(&engine.readings);
                Answer::Later(Box::pin(async move {
                    // The semaphore is never closed, so there is always a turn.
                    let turn = turns.acquire_owned().await;
                    let read = tokio::task::spawn_blocking(move || {
                        let read = shared.read(&store, &record);
                        drop(turn);
                        read
                    });
                    finish(
                        read.await
                            .unwrap_or_else(|error| Err(ContentError::Failed(error.to_string()))),
                    )
                }))
            }
        }
    }
}

/// Writes the result for one file around its rendered bytes.
fn contents(style: &ResultStyle, uri: &str, media_type: &str, rendered: Bytes) -> Payload {
    let mut head = style.begin();
    let item = format!(r#"[{{"uri":{},"mimeType":{}"#, quoted(uri), quoted(media_type));
    head.json("contents", &item);
    let mut tail = head.split_after("]");
    tail.cacheable();
    tail.server_info();
    Payload::new([Bytes::from(head.into_text()), rendered, Bytes::from(tail.finish())])
}

/// Runs a generator off the event loop and hides why it failed from the client.
pub(super) async fn run<T: Send + 'static>(
    generator: Arc<dyn Generator>,
    work: impl FnOnce(&dyn Generator) -> Result<T, GenerateError> + Send + 'static,
) -> Result<T, RpcError> {
    match tokio::task::spawn_blocking(move || work(&*generator)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            tracing::error!(%error, "a generated skill failed");
            Err(RpcError::internal())
        }
        Err(error) => {
            tracing::error!(%error, "a generated skill panicked");
            Err(RpcError::internal())
        }
    }
}
