//! The list of all skills, one page at a time.

use super::{ScanResult, SkillKey, SkillState, Tone};

/// What a reader looks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogueQuery {
    /// Words to search for; all skills if empty.
    pub words: String,
    /// The chosen value of each filter, by the name of its group.
    pub filters: Vec<(String, String)>,
    /// The page, counted from zero.
    pub page: usize,
}

impl CatalogueQuery {
    /// How many skills a page has.
    pub const PAGE: usize = 50;

    /// Returns the chosen value of a filter.
    pub fn filter(&self, name: &str) -> Option<&str> {
        let chosen = self.filters.iter().find(|(filter, _)| filter == name);
        chosen.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns which items of a list are on the page.
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = self.page.saturating_mul(Self::PAGE);
        start..start.saturating_add(Self::PAGE)
    }
}

/// One page of the list.
#[derive(Debug, Clone, Default)]
pub struct CatalogueView {
    /// The skills of the page.
    pub rows: Vec<CatalogueRow>,
    /// How many skills fit the query.
    pub total: usize,
    /// How many skills there are.
    pub all: usize,
    /// The filters that the provider knows.
    pub filters: Vec<FilterGroup>,
    /// What the reader should know about the list, such as a server that did not answer.
    pub notices: Vec<Notice>,
    /// What a list without any skill says, if not the usual.
    pub empty: Option<String>,
}

/// One skill in the list.
#[derive(Debug, Clone)]
pub struct CatalogueRow {
    /// The skill.
    pub key: SkillKey,
    /// Its name.
    pub name: String,
    /// What it says that it does.
    pub description: String,
    /// Where it comes from.
    pub origin: String,
    /// Its state.
    pub state: SkillState,
    /// What a scan found, if one was made.
    pub scan: ScanResult,
    /// Who vouches for it, as far as is known.
    pub signer: Option<String>,
    /// Short remarks, such as `first-seen`.
    pub marks: Vec<String>,
}

/// A filter of the list.
#[derive(Debug, Clone)]
pub struct FilterGroup {
    /// The name in addresses.
    pub name: &'static str,
    /// The words in front of it.
    pub label: String,
    /// What can be chosen.
    pub choices: Vec<FilterChoice>,
}

/// One value of a filter.
#[derive(Debug, Clone)]
pub struct FilterChoice {
    /// The value in addresses.
    pub value: String,
    /// The words that readers see.
    pub label: String,
}

/// A sentence above a list, with what the reader can do about it.
#[derive(Debug, Clone)]
pub struct Notice {
    /// How strongly it is marked.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// A button: the act of the provider, its value, and the words on it.
    pub act: Option<super::RowAct>,
}
