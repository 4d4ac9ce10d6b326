//! From a skill as its server lists it to a skill as it is served here.

use std::sync::Arc;

use skillwire_core::{entry::Resources, media_type};
use skillwire_source::skill::{Content, FileRecord, FileTree, Skill};

use crate::{
    entry::{NotPassedOn, passed_on},
    files::{UpstreamFiles, UpstreamGenerator},
    shared::Shared,
    stock::PassedOn,
};

/// Makes the skill that is served; none of its files is asked for.
pub(crate) fn serve(shared: &Arc<Shared>, passed: &PassedOn) -> Result<Skill, NotPassedOn> {
    let PassedOn { skill: listed, is_listed, .. } = passed;
    let upstream = &listed.id().uri;
    let uri = shared.rewriting.down_skill(upstream).ok_or(NotPassedOn::Unreadable)?;
    let entry = passed_on(listed, &shared.rewriting, &shared.instance)?;
    let content = match &listed.entry().resources {
        Resources::Dynamic => {
            let generator = UpstreamGenerator::new(Arc::clone(shared), listed.clone());
            Content::Generated(Arc::new(generator))
        }
        Resources::Listed(resources) => {
            let records = resources.iter().map(|resource| {
                let path = upstream.below(&resource.uri).ok_or(NotPassedOn::Unreadable)?;
                // Nobody here has seen the bytes; what is no text is not sent as such.
                let media_type = media_type::of(path.file_name(), b"");
                let (digest, size) = (resource.digest, resource.size);
                Ok(FileRecord { path, digest, size, media_type })
            });
            let mut files = records.collect::<Result<Vec<_>, _>>()?;
            files.sort_unstable_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
            let store = Arc::new(UpstreamFiles::new(Arc::clone(shared), listed.clone()));
            let (files, empty_directories) = (files.into(), Box::default());
            Content::Files(FileTree { files, empty_directories, store })
        }
    };
    Ok(Skill { uri, entry: entry.into(), content, listed: *is_listed })
}
