//! Pages of a catalogue of skills, and searching in it.

use std::sync::Arc;
#[cfg(feature = "search")]
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
#[cfg(feature = "search")]
use skillwire_catalog::ViewId;
use skillwire_catalog::{Catalog, Snapshot};
use skillwire_core::{ContentId, Frontmatter};
use skillwire_page::model::{CatalogueQuery, FactRow, FieldChange};
use skillwire_source::{Skill, SkillContent};
use skillwire_trust::requested_tools;

/// The longest description in a list.
const MAX_DESCRIPTION: usize = 400;

/// The longest value of the frontmatter that is shown whole.
const MAX_VALUE_CHARS: usize = 4_000;

/// Finds the skills of a page; one index serves every view of a catalogue.
#[derive(Default)]
pub(crate) struct SkillListing {
    #[cfg(feature = "search")]
    index: Mutex<Option<(u64, Arc<IndexedSkills>)>>,
}

/// Every skill of a catalogue, and where words stand in them.
#[cfg(feature = "search")]
struct IndexedSkills {
    skills: Vec<Arc<Skill>>,
    index: skillwire_search::SearchIndex,
}

impl SkillListing {
    /// Returns the skills of a page of a view that fit a query, and how many fit.
    pub(crate) fn page(
        &self,
        catalog: &Catalog,
        view: &Arc<Snapshot>,
        query: &CatalogueQuery,
        fits: Option<&dyn Fn(&Skill) -> bool>,
    ) -> (Vec<Arc<Skill>>, usize) {
        if !query.words.trim().is_empty() {
            return self.search(catalog, view, query, fits);
        }
        let range = query.range();
        let Some(fits) = fits else {
            let page = view.listed().skip(range.start).take(range.len());
            return (page.cloned().collect(), view.listed_count());
        };
        let (mut page, mut total) = (Vec::new(), 0);
        for skill in view.listed().filter(|skill| fits(skill)) {
            if range.contains(&total) {
                page.push(Arc::clone(skill));
            }
            total += 1;
        }
        (page, total)
    }

    #[cfg(feature = "search")]
    fn search(
        &self,
        catalog: &Catalog,
        view: &Arc<Snapshot>,
        query: &CatalogueQuery,
        fits: Option<&dyn Fn(&Skill) -> bool>,
    ) -> (Vec<Arc<Skill>>, usize) {
        let Some(everything) = catalog.now(ViewId::EVERYTHING) else { return (Vec::new(), 0) };
        let indexed = self.indexed(&everything);
        let is_visible = |position: usize| {
            let skill = indexed.skills.get(position);
            skill.is_some_and(|skill| {
                view.skill(skill.uri.as_str()).is_some() && fits.is_none_or(|fits| fits(skill))
            })
        };
        let range = query.range();
        let hits = indexed.index.search(&query.words, range.end, is_visible);
        let page = hits.best.into_iter().skip(range.start);
        (page.filter_map(|position| indexed.skills.get(position).cloned()).collect(), hits.total)
    }

    #[cfg(feature = "search")]
    fn indexed(&self, everything: &Arc<Snapshot>) -> Arc<IndexedSkills> {
        let mut kept = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = everything.generation();
        if let Some((of, indexed)) = &*kept
            && *of == generation
        {
            return Arc::clone(indexed);
        }
        let text = |skill: &Arc<Skill>| {
            let fields = fields(skill);
            skillwire_search::SkillText::new(skill.name(), &skill.path(), &fields)
        };
        let skills: Vec<Arc<Skill>> = everything.listed().cloned().collect();
        let index = skills.iter().map(text).collect();
        let indexed = Arc::new(IndexedSkills { skills, index });
        *kept = Some((generation, Arc::clone(&indexed)));
        indexed
    }

    #[cfg(not(feature = "search"))]
    #[expect(clippy::unused_self, reason = "builds with `search` keep an index")]
    fn search(
        &self,
        _: &Catalog,
        view: &Arc<Snapshot>,
        query: &CatalogueQuery,
        fits: Option<&dyn Fn(&Skill) -> bool>,
    ) -> (Vec<Arc<Skill>>, usize) {
        let words = query.words.to_lowercase();
        let has_words = |skill: &&Arc<Skill>| {
            let text = format!("{} {}", skill.name(), description(&fields(skill))).to_lowercase();
            fits.is_none_or(|fits| fits(skill))
                && words.split_whitespace().all(|word| text.contains(word))
        };
        let fitting: Vec<&Arc<Skill>> = view.listed().filter(has_words).collect();
        let range = query.range();
        let page = fitting.iter().skip(range.start).take(range.len());
        (page.map(|skill| Arc::clone(skill)).collect(), fitting.len())
    }
}

/// Identifies the content of a skill with stable files.
pub(crate) fn content_of(skill: &Skill) -> Option<ContentId> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let files = tree.files.iter().map(|file| (file.path.clone(), file.digest, file.size));
    ContentId::of(files).ok()
}

/// The tools that a skill asks for. The readers of these pages grant none.
pub(crate) fn tools_of(fields: Map<String, Value>) -> Option<Vec<(String, bool)>> {
    let frontmatter = Frontmatter::from_fields(fields).ok()?;
    Some(requested_tools(&frontmatter).into_iter().map(|tool| (tool, false)).collect())
}

/// The frontmatter of a skill.
pub(crate) fn fields(skill: &Skill) -> Map<String, Value> {
    fields_of(&skill.entry.text())
}

/// The frontmatter in an entry.
pub(crate) fn fields_of(entry: &str) -> Map<String, Value> {
    let entry: Value = serde_json::from_str(entry).unwrap_or_default();
    entry.get("frontmatter").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The frontmatter as rows.
pub(crate) fn field_rows(fields: &Map<String, Value>) -> Vec<FactRow> {
    fields.iter().map(|(name, value)| FactRow::words(name, field_text(value))).collect()
}

/// The description in the frontmatter, as far as a list shows it.
pub(crate) fn description(fields: &Map<String, Value>) -> String {
    let text = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    text.chars().take(MAX_DESCRIPTION).collect()
}

/// A value of the frontmatter as text.
pub(crate) fn field_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    text.chars().take(MAX_VALUE_CHARS).collect()
}

/// A field that differs, as a row.
#[cfg(any(feature = "host", feature = "hub"))]
pub(crate) fn field_change(field: &skillwire_core::FieldDifference) -> FieldChange {
    FieldChange {
        name: field.pointer.trim_start_matches('/').to_owned(),
        before: field.before.as_ref().map(field_text),
        after: field.after.as_ref().map(field_text),
    }
}
