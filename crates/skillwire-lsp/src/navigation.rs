//! Links between the files of a skill: where they stand, and where they lead.

use lsp_types::{DocumentLink, Location, Position, Range};
use skillwire_core::{
    RelPath, Span,
    links::{self, Target},
    yaml,
};

use crate::{document::TextLines, file_uri, skill_folder::SkillFiles};

/// A link from one file of a skill to another one that exists.
#[derive(Debug)]
pub(crate) struct FileLink {
    /// The place of the target.
    pub(crate) span: Span,
    /// The target as it is written, without its fragment.
    pub(crate) written: String,
    /// The file it leads to.
    pub(crate) to: RelPath,
}

/// The links of a Markdown file to files of its skill.
pub(crate) fn file_links(skill: &SkillFiles, file: &str) -> Vec<FileLink> {
    let Some(text) = skill.text(file).filter(|_| is_markdown(file)) else { return Vec::new() };
    let start = yaml::split(text.as_bytes()).map_or(0, |fenced| fenced.body_offset);
    let base = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let links = links::find(&text[start..], start).into_iter();
    links
        .filter_map(|link| {
            let written = link.target.split(['#', '?']).next()?.to_owned();
            let (Target::Inside(to) | Target::Climbing(to)) = links::resolve(base, &written) else {
                return None;
            };
            let to = RelPath::parse(&to).ok()?;
            skill.files.contains_key(&to).then_some(FileLink { span: link.span, written, to })
        })
        .collect()
}

fn is_markdown(file: &str) -> bool {
    std::path::Path::new(file).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// The link at a position.
pub(crate) fn link_at(
    skill: &SkillFiles,
    file: &str,
    position: Position,
) -> Option<(FileLink, Range)> {
    let lines = TextLines::new(skill.text(file)?);
    let offset = lines.offset(position);
    file_links(skill, file)
        .into_iter()
        .find(|link| (link.span.start..=link.span.end).contains(&offset))
        .map(|link| (lines.range(link.span), link))
        .map(|(range, link)| (link, range))
}

/// The file that the link at a position leads to.
pub(crate) fn definition(skill: &SkillFiles, file: &str, position: Position) -> Option<Location> {
    let (link, _) = link_at(skill, file, position)?;
    let uri = file_uri::from_path(&skill.path(link.to.as_str()))?;
    Some(Location::new(uri, Range::default()))
}

/// Every link of a file, for editors that underline them.
pub(crate) fn document_links(skill: &SkillFiles, file: &str) -> Vec<DocumentLink> {
    let Some(text) = skill.text(file) else { return Vec::new() };
    let lines = TextLines::new(text);
    file_links(skill, file)
        .into_iter()
        .filter_map(|link| {
            let target = file_uri::from_path(&skill.path(link.to.as_str()))?;
            Some(DocumentLink {
                range: lines.range(link.span),
                target: Some(target),
                tooltip: None,
                data: None,
            })
        })
        .collect()
}
