//! `resources/directory/read`.

use std::{borrow::Cow, sync::Arc};

use skillwire_catalog::{FoundDirectory, Page, generated_children, remote_children};
use skillwire_protocol::{RpcError, method, truncated};
use skillwire_source::{Skill, SkillContent};

use super::{Answer, Call, Outcome, paging::PagedListing, reading};

impl Call<'_> {
    pub(super) fn read_directory(&self) -> Answer {
        let uri = match self.uri() {
            Ok(uri) => uri,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.snapshot.directory(&uri) {
            None => Answer::Now(Err(self.not_a_directory(&uri))),
            Some(FoundDirectory::Generated(skill, path)) => {
                self.generated_directory(&uri, Arc::clone(skill), path)
            }
            Some(directory) => Answer::Now(self.children(&uri, &directory)),
        }
    }

    fn children(&self, uri: &str, directory: &FoundDirectory<'_>) -> Outcome {
        let walk = PagedListing { method: method::DIRECTORY_READ, of: uri, member: "resources" };
        let after = self.after(&walk)?;
        let size = self.state.config.page_size;
        let page = self.snapshot.children_page(directory, after.as_deref(), size);
        let mut result = self.begin_page(&walk, &page);
        // The specification has no caching hints on this result, but a widely used client requires
        // them.
        result.cacheable();
        Ok(result.finish().into())
    }

    fn not_a_directory(&self, uri: &str) -> RpcError {
        let shown = truncated(uri);
        RpcError::invalid_params(if self.snapshot.file(uri).is_some() {
            format!("`{shown}` is not a directory resource.")
        } else {
            format!("No directory is served at `{shown}`; directory URIs have no trailing slash.")
        })
    }

    /// Lists a directory of a generated skill on one page, which helps discovery but is no
    /// manifest.
    fn generated_directory(&self, uri: &str, skill: Arc<Skill>, path: String) -> Answer {
        if self.params.cursor.is_some() {
            let message = "`params.cursor` is not a cursor of this listing.";
            return Answer::Now(Err(RpcError::invalid_params(message)));
        }
        let SkillContent::Generated(generator) = &skill.content else {
            return Answer::Now(Err(RpcError::internal()));
        };
        let generator = Arc::clone(generator);
        let message = format!("`{}` is not a directory resource.", truncated(uri));
        let mut result = self.result();
        if let Some(asked) = generator.remote().map(|remote| remote.children(&path)) {
            let unlisted = format!("The files of `{}` are not listed anywhere.", truncated(uri));
            return Answer::Later(Box::pin(async move {
                let children = asked.await.map_err(|error| reading::failed(&error))?;
                let children = children.ok_or_else(|| RpcError::invalid_params(unlisted))?;
                let items = remote_children(&skill, &children).into_iter().map(Cow::Owned);
                result.page("resources", &Page { items: items.collect(), next: None });
                result.cacheable();
                Ok(result.finish().into())
            }));
        }
        let state = Arc::clone(self.state);
        Answer::Later(Box::pin(async move {
            let files =
                reading::run(&state.permits, generator, |generator| generator.paths()).await?;
            let children = generated_children(&skill, &path, &files);
            if children.is_empty() && !path.is_empty() {
                return Err(RpcError::invalid_params(message));
            }
            let items = children.into_iter().map(Cow::Owned).collect();
            result.page("resources", &Page { items, next: None });
            result.cacheable();
            Ok(result.finish().into())
        }))
    }
}
