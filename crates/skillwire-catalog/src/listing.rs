//! Pages of the listings.

use std::borrow::Cow;

use skillwire_core::ResourceUri;
use skillwire_source::{FileRecord, ResourceMetadata, Skill, SkillContent};

use crate::snapshot::{Snapshot, after_scheme};

/// A run of items as JSON, and the key to continue from if there are more.
#[derive(Debug, Default)]
pub struct Page<'a> {
    /// The items, in order.
    pub items: Vec<Cow<'a, str>>,
    /// The last key of this page, if another page follows.
    pub next: Option<String>,
}

impl<'a> Page<'a> {
    /// Takes at most `size` items from an ordered stream of keys and JSON.
    pub fn cut(size: usize, mut items: impl Iterator<Item = (String, Cow<'a, str>)>) -> Self {
        let mut page = Self::default();
        let mut last = String::new();
        for (key, json) in items.by_ref().take(size) {
            page.items.push(json);
            last = key;
        }
        page.next = items.next().map(|_| last);
        page
    }
}

impl Snapshot {
    /// Returns the page of `skills/list` that follows the URI `after`.
    pub fn skills_page(&self, after: Option<&str>, size: usize) -> Page<'_> {
        Page::cut(
            size,
            self.listed_after(after).map(|skill| (skill.uri.to_string(), skill.entry.text())),
        )
    }

    /// Returns the page of `resources/list` that follows the key `after` of an earlier page.
    pub fn resources_page(&self, after: Option<&str>, size: usize) -> Page<'_> {
        if !self.list_files {
            let items = self.listed_after(after);
            return Page::cut(
                size,
                items.map(|skill| (skill.uri.to_string(), Cow::Owned(self.describe_skill(skill)))),
            );
        }
        // A key is the URI of a skill and the URI of one of its files, because files are listed
        // skill by skill.
        let (skill_uri, file_uri) = after.and_then(|key| key.split_once('\n')).unwrap_or(("", ""));
        let skills = self.listed_skills().from((skill_uri, ""), false);
        let outermost = skills.filter(|skill| !self.is_inside_a_listed_skill(skill));
        let items = outermost.flat_map(move |skill| {
            let resumes = skill.uri.as_str() == skill_uri;
            self.resources_of(skill)
                .into_iter()
                .filter(move |(uri, _)| !resumes || uri.as_str() > file_uri)
                .map(move |(uri, json)| (format!("{}\n{uri}", skill.uri), Cow::Owned(json)))
        });
        Page::cut(size, items)
    }

    /// Lists every file of a skill by URI.
    fn resources_of(&self, skill: &Skill) -> Vec<(String, String)> {
        let SkillContent::Files(tree) = &skill.content else {
            return vec![(skill.uri.to_string(), self.describe_skill(skill))];
        };
        let mut found: Vec<_> = tree
            .files
            .iter()
            .map(|file| {
                let uri = skill.uri.root().child(&file.path);
                let json = self.describe_file(&uri, file);
                (uri.to_string(), json)
            })
            .collect();
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// Tells whether a listed skill contains this one.
    pub fn is_inside_a_listed_skill(&self, skill: &Skill) -> bool {
        let mut above = skill.uri.root().parent();
        while let Some(directory) = above {
            let enclosing = format!("{directory}/SKILL.md");
            if self.listed_skills().get((&enclosing, "")).is_some() {
                return true;
            }
            above = directory.parent();
        }
        false
    }

    fn describe_skill(&self, skill: &Skill) -> String {
        skill.resource(self.list_frontmatter)
    }

    /// Describes a file; a `SKILL.md` that has its own entry is described by its frontmatter.
    pub(crate) fn describe_file(&self, uri: &ResourceUri, file: &FileRecord) -> String {
        if let Some(skill) = self.skill(uri.as_str()) {
            return self.describe_skill(skill);
        }
        let resource = ResourceMetadata {
            uri: uri.as_str(),
            name: &uri.name(),
            description: None,
            mime_type: file.media_type,
            size: Some(file.size),
        };
        resource.to_json()
    }

    /// Returns the paths of listed skills of a scheme whose path or name begins with the typed
    /// text, and whether there are more than `most`.
    pub fn complete_paths(&self, scheme: &str, typed: &str, most: usize) -> (Vec<String>, bool) {
        let scheme_prefix = format!("{scheme}://");
        let prefix = format!("{scheme_prefix}{typed}");
        let by_path = self.listed_skills().from((&prefix, ""), false);
        let by_path = by_path.take_while(|skill| skill.uri.as_str().starts_with(&prefix));
        let by_name = self.skills_by_name().from((typed, ""), false);
        let by_name = by_name.take_while(|skill| skill.name().starts_with(typed)).filter(|skill| {
            let uri = skill.uri.as_str();
            uri.starts_with(&scheme_prefix) && !uri.starts_with(&prefix)
        });
        let mut found: Vec<String> = by_path
            .take(most + 1)
            .chain(by_name.take(most + 1))
            .map(|skill| after_scheme(skill.uri.root().as_str()).to_owned())
            .collect();
        let more = found.len() > most;
        found.truncate(most);
        found.sort_unstable();
        (found, more)
    }
}
