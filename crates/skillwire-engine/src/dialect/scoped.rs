//! `resources/list` below one URI, as drafts had it before there was an index.

use skillwire_catalog::{
    directories::{FoundDirectory, generated_children},
    listing::Page,
};
use skillwire_protocol::{error::truncated, method};

use super::scene::{Scene, unknown_resource};
use crate::engine::Outcome;

/// Answers `resources/list` with a `uri`: all skills of a scheme for `skill://`, direct children for
/// anything deeper. A trailing slash makes no difference.
pub(crate) async fn list(scene: Scene, uri: String, cursor: Option<String>) -> Outcome {
    let all = uri.ends_with("://");
    let place = if all { &*uri } else { uri.strip_suffix('/').unwrap_or(&uri) };
    let walk = (method::RESOURCES_LIST, place);
    let after = scene.after(walk, cursor.as_deref())?;
    let size = scene.config.page_size;
    if all {
        let from = after.as_deref().unwrap_or(place);
        let skills = scene.snapshot.listed_after(Some(from));
        let below = skills.take_while(|skill| skill.uri.as_str().starts_with(place));
        let items = below.map(|skill| (skill.uri.to_string(), skill.resource().into()));
        return Ok(finish(&scene, walk, &Page::cut(size, items)));
    }
    let not_listed = || {
        let message = format!("`{}` is not a directory of this server.", truncated(&uri));
        unknown_resource(scene.era(), &uri, message)
    };
    match scene.snapshot.directory(place).ok_or_else(not_listed)? {
        FoundDirectory::Generated(skill, path) => {
            let files = scene.paths(skill).await?;
            let children = generated_children(skill, &path, &files);
            if children.is_empty() && !path.is_empty() {
                return Err(not_listed());
            }
            let items = children.into_iter().map(Into::into).collect();
            Ok(finish(&scene, walk, &Page { items, next: None }))
        }
        directory => {
            let page = scene.snapshot.children_page(&directory, after.as_deref(), size);
            Ok(finish(&scene, walk, &page))
        }
    }
}

fn finish(scene: &Scene, walk: (&str, &str), page: &Page<'_>) -> crate::payload::Payload {
    let mut result = scene.begin_page(walk, "resources", page);
    result.cacheable();
    result.server_info();
    result.finish().into()
}
