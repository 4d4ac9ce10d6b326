//! `resources/directory/read`.

use std::{collections::BTreeMap, sync::Arc};

use skillwire_catalog::{
    listing::{Item, Listing},
    snapshot::{FoundDirectory, Published, generated_child},
};
use skillwire_core::path::RelPath;
use skillwire_protocol::{
    error::{RpcError, truncated},
    method,
};
use skillwire_source::skill::Content;

use super::{Answer, Call, Outcome, reading};

impl Call<'_> {
    pub(super) fn read_directory(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.snapshot.directory(&uri) {
            Some(FoundDirectory::Stored(children)) => Answer::Now(self.children(&uri, children)),
            Some(FoundDirectory::Generated(published, path)) => {
                self.generated_children(&uri, Arc::clone(published), path)
            }
            None => Answer::Now(Err(self.not_a_directory(&uri))),
        }
    }

    fn children(&self, uri: &str, children: &Listing) -> Outcome {
        let page = self.page(children, method::DIRECTORY_READ, uri)?;
        let mut result = self.result();
        self.write_page(&mut result, "resources", &page, method::DIRECTORY_READ, uri);
        // Not part of this result type, but a widely used client insists on them.
        result.cacheable();
        Ok(result.finish())
    }

    fn not_a_directory(&self, uri: &str) -> RpcError {
        let uri_text = truncated(uri);
        RpcError::invalid_params(if self.snapshot.file(uri).is_some() {
            format!("`{uri_text}` is not a directory resource.")
        } else {
            format!(
                "No directory is served at `{uri_text}`; directory URIs have no trailing slash."
            )
        })
    }

    /// Lists a directory of a generated skill on one page: it is discovery, not a manifest.
    fn generated_children(
        &self,
        uri: &str,
        published: Arc<Published>,
        below: Option<RelPath>,
    ) -> Answer {
        if self.params.cursor.is_some() {
            let message = "`params.cursor` is not a cursor of this listing.";
            return Answer::Now(Err(RpcError::invalid_params(message)));
        }
        let Content::Generated(generator) = &published.skill.content else {
            return Answer::Now(Err(RpcError::internal()));
        };
        let generator = Arc::clone(generator);
        let not_a_directory =
            RpcError::invalid_params(format!("`{}` is not a directory resource.", truncated(uri)));
        let mut result = self.result();
        Answer::Later(Box::pin(async move {
            let paths = reading::run(generator, |generator| generator.paths()).await?;
            let children = direct_children(&published, below.as_ref(), &paths);
            if children.is_empty() && below.is_some() {
                return Err(not_a_directory);
            }
            result.array("resources", &children);
            result.cacheable();
            Ok(result.finish())
        }))
    }
}

fn direct_children(published: &Published, below: Option<&RelPath>, paths: &[RelPath]) -> Vec<Item> {
    let root = published.skill.uri.root();
    let mut children = BTreeMap::new();
    for path in paths {
        let inner = match below {
            Some(directory) => path.strip_prefix(directory),
            None => Some(path.clone()),
        };
        let Some(inner) = inner else { continue };
        let mut segments = inner.segments();
        let Some(first) = segments.next() else { continue };
        let is_directory = segments.next().is_some();
        let full = match below {
            Some(directory) => directory.join(first),
            None => RelPath::parse(first),
        };
        if let Ok(full) = full {
            let uri = root.child(&full);
            children.insert(uri.shared(), generated_child(&uri, published, is_directory));
        }
    }
    children.into_iter().map(|(key, json)| Item { key, json }).collect()
}
