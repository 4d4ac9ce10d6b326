//! `resources/list` below one URI, as drafts had it before there was an index.

use skillwire_catalog::{FoundDirectory, Page, generated_children};
use skillwire_protocol::{method, truncated};

use crate::engine::Outcome;
use crate::engine::{OwnedCall, about_resource};

/// Answers `resources/list` with a `uri`: all skills of a scheme for `skill://`, direct children for
/// anything deeper. A trailing slash makes no difference.
pub(crate) async fn list(call: OwnedCall, uri: String, cursor: Option<String>) -> Outcome {
    let all = uri.ends_with("://");
    let place = if all { &*uri } else { uri.strip_suffix('/').unwrap_or(&uri) };
    let walk = (method::RESOURCES_LIST, place);
    let after = call.after(walk, cursor.as_deref())?;
    let size = call.config().page_size;
    if all {
        let from = after.as_deref().unwrap_or(place);
        let skills = call.snapshot.listed_after(Some(from));
        let below = skills.take_while(|skill| skill.uri.as_str().starts_with(place));
        let items = below.map(|skill| (skill.uri.to_string(), skill.resource(false).into()));
        return Ok(finish(&call, walk, &Page::cut(size, items)));
    }
    let not_listed = || {
        let message = format!("`{}` is not a directory of this server.", truncated(&uri));
        about_resource(call.era(), &uri, message)
    };
    match call.snapshot.directory(place).ok_or_else(not_listed)? {
        FoundDirectory::Generated(skill, path) => {
            let files = call.paths(skill).await?;
            let children = generated_children(skill, &path, &files);
            if children.is_empty() && !path.is_empty() {
                return Err(not_listed());
            }
            let items = children.into_iter().map(Into::into).collect();
            Ok(finish(&call, walk, &Page { items, next: None }))
        }
        directory => {
            let page = call.snapshot.children_page(&directory, after.as_deref(), size);
            Ok(finish(&call, walk, &page))
        }
    }
}

fn finish(call: &OwnedCall, walk: (&str, &str), page: &Page<'_>) -> crate::payload::Payload {
    let mut result = call.begin_page(walk, "resources", page);
    result.cacheable();
    result.server_info();
    result.finish().into()
}
