//! The catalogue: the skills that a model can ask for, and their origins.

use skillwire_trust::Origin;
pub use skillwire_trust::{CatalogueFormat, CatalogueItem, CatalogueOptions};

use super::model_text::{ModelText, tokens};

/// A catalogue for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The text for the model.
    pub text: ModelText,
    /// The handle of every skill, with the tokens of its item, shown or not.
    pub items: Vec<(String, usize)>,
    /// The origins for which only the number of skills is shown.
    pub summarised: Vec<Origin>,
}

/// The skills of one origin, in full and as a summary.
struct OriginSection<'a> {
    origin: &'a Origin,
    items: Vec<String>,
    summary: String,
}

impl OriginSection<'_> {
    fn bytes(&self) -> usize {
        self.items.iter().map(|item| CatalogueFormat::with_separator(item)).sum()
    }
}

/// Renders the catalogue; returns `None` if there are no skills.
///
/// Skills are ordered by project, user, then servers by label, and by handle within each. If they
/// do not all fit into the budget, each origin becomes one line with the number of its skills and
/// the way to search them; then as many origins as fit are shown in full again, in the same order.
/// An item is shown whole or not at all. If not even those lines fit, one line stands for all. That
/// line ignores the budget, since a model must know that there are skills.
pub fn render(items: &[CatalogueItem], options: &CatalogueOptions) -> Option<Catalogue> {
    if items.is_empty() {
        return None;
    }
    let CatalogueOptions { format, budget, list_tool, .. } = options;
    let mut sorted: Vec<&CatalogueItem> = items.iter().collect();
    sorted.sort_by(|a, b| (rank(&a.origin), &a.handle).cmp(&(rank(&b.origin), &b.handle)));
    let sections: Vec<OriginSection<'_>> = sorted
        .chunk_by(|a, b| a.origin == b.origin)
        .map(|group| OriginSection {
            origin: &group[0].origin,
            items: group.iter().map(|item| format.item(item)).collect(),
            summary: format.summary(&group[0].origin, group.len(), list_tool),
        })
        .collect();
    let shown_in_full = fitting(&sections, *format, *budget);
    let text = if let Some(full) = &shown_in_full {
        let of = |wanted: bool| {
            sections.iter().zip(full).filter(move |(_, full)| **full == wanted).map(|(s, _)| s)
        };
        let skills = of(true).flat_map(|section| section.items.iter());
        let more = of(false).map(|section| &section.summary);
        format.frame(skills.map(String::as_str), more.map(String::as_str))
    } else {
        let line = format.overall(items.len(), sections.len(), list_tool);
        format.frame(std::iter::empty(), std::iter::once(line.as_str()))
    };
    let is_full = |index: usize| shown_in_full.as_ref().is_some_and(|full| full[index]);
    let summarised = sections.iter().enumerate().filter(|(index, _)| !is_full(*index));
    let estimates = sections.iter().flat_map(|section| &section.items).map(|item| tokens(item));
    Some(Catalogue {
        summarised: summarised.map(|(_, section)| section.origin.clone()).collect(),
        items: sorted.iter().map(|item| item.handle.clone()).zip(estimates).collect(),
        text: ModelText::framed(text),
    })
}

/// Decides which origins are shown in full; returns `None` if not even their summaries fit.
fn fitting(
    sections: &[OriginSection<'_>],
    format: CatalogueFormat,
    budget: Option<usize>,
) -> Option<Vec<bool>> {
    let Some(budget) = budget.map(|tokens| tokens.saturating_mul(4)) else {
        return Some(vec![true; sections.len()]);
    };
    let frame = format.frame(std::iter::empty(), std::iter::empty()).len();
    let everything = sections.iter().map(OriginSection::bytes).sum::<usize>();
    if frame + everything <= budget {
        return Some(vec![true; sections.len()]);
    }
    let summaries =
        sections.iter().map(|section| CatalogueFormat::with_separator(&section.summary));
    let mut used = frame + summaries.sum::<usize>();
    if used > budget {
        return None;
    }
    let expand = |section: &OriginSection<'_>| {
        let instead = used - CatalogueFormat::with_separator(&section.summary) + section.bytes();
        let fits = instead <= budget;
        if fits {
            used = instead;
        }
        fits
    };
    Some(sections.iter().map(expand).collect())
}

/// Orders origins: the project's folders, the user's folders, then servers by label.
fn rank(origin: &Origin) -> (u8, &str) {
    match origin {
        Origin::Project => (0, ""),
        Origin::Local => (1, ""),
        Origin::Server(label) => (2, label.as_str()),
    }
}

#[cfg(test)]
mod tests;
