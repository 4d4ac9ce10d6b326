//! `resources/read`.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use skillwire_catalog::snapshot::FoundFile;
use skillwire_core::media_type;
use skillwire_protocol::error::RpcError;
use skillwire_source::{
    generated::{GenerateError, Generator},
    skill::Content,
};

use super::{
    Answer, Call,
    result::{ResultStyle, quoted},
};

impl Call<'_> {
    pub(super) fn read_resource(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.snapshot.file(&uri) {
            Some(FoundFile::Stored(file)) => {
                let own_entry = self.snapshot.skill(&uri).is_some();
                let media_type = if own_entry { "text/markdown" } else { file.media_type };
                Answer::Now(Ok(contents(&self.style(), &uri, media_type, &file.bytes)))
            }
            Some(FoundFile::Generated(published, path)) => {
                let Content::Generated(generator) = &published.skill.content else {
                    return Answer::Now(Err(RpcError::internal()));
                };
                let generator = Arc::clone(generator);
                let not_found = self.resource_not_found(&uri);
                let style = self.style();
                Answer::Later(Box::pin(async move {
                    let read = run(generator, move |generator| generator.read(&path)).await?;
                    let bytes = read.ok_or(not_found)?;
                    let name = uri.rsplit('/').next().unwrap_or_default();
                    Ok(contents(&style, &uri, media_type::of(name, &bytes), &bytes))
                }))
            }
            None => Answer::Now(Err(self.resource_not_found(&uri))),
        }
    }
}

/// Writes the result for one file.
fn contents(style: &ResultStyle, uri: &str, media_type: &str, bytes: &[u8]) -> String {
    let mut result = style.begin();
    result.json("contents", &format!("[{}]", contents_item(uri, media_type, bytes)));
    result.cacheable();
    result.server_info();
    result.finish()
}

/// Writes one element of `contents`: UTF-8 as `text`, everything else as `blob`.
fn contents_item(uri: &str, media_type: &str, bytes: &[u8]) -> String {
    let head = format!(r#"{{"uri":{},"mimeType":{}"#, quoted(uri), quoted(media_type));
    match std::str::from_utf8(bytes) {
        Ok(text) => format!(r#"{head},"text":{}}}"#, quoted(text)),
        Err(_) => format!(r#"{head},"blob":"{}"}}"#, STANDARD.encode(bytes)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srv_75_text_is_utf8_and_everything_else_is_base64() {
        assert_eq!(
            contents_item("skill://a/x", "text/plain", "a\u{2028}\0\r".as_bytes()),
            "{\"uri\":\"skill://a/x\",\"mimeType\":\"text/plain\",\"text\":\"a\u{2028}\\u0000\\r\"}"
        );
        let blob = contents_item("skill://a/x", "application/octet-stream", b"\xff\xfe");
        assert!(blob.ends_with(r#""blob":"//4="}"#), "{blob}");
    }
}
