//! Lists of other things than skills: approvals, events, servers, settings.

use super::{FilterGroup, Notice, SkillKey, Tone};

/// What a reader looks for in a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableQuery {
    /// Words to search for.
    pub words: String,
    /// The chosen value of each filter.
    pub filters: Vec<(String, String)>,
    /// The page, counted from zero.
    pub page: usize,
}

impl TableQuery {
    /// How many rows a page has.
    pub const PAGE: usize = 100;

    /// Returns the chosen value of a filter.
    pub fn filter(&self, name: &str) -> Option<&str> {
        let chosen = self.filters.iter().find(|(filter, _)| filter == name);
        chosen.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct TableView {
    /// One or two sentences above it.
    pub about: String,
    /// The names of the columns.
    pub columns: Vec<&'static str>,
    /// The rows of the page.
    pub rows: Vec<TableRow>,
    /// How many rows fit the query, if that is known.
    pub total: Option<usize>,
    /// Whether there are more rows after these.
    pub has_more: bool,
    /// The filters that the provider knows.
    pub filters: Vec<FilterGroup>,
    /// Whether words can be searched for.
    pub has_search: bool,
    /// What the reader should know.
    pub notices: Vec<Notice>,
    /// The sentence for an empty table.
    pub empty: String,
    /// Formats in which everything that fits the query can be downloaded.
    pub exports: Vec<&'static str>,
}

/// One row.
#[derive(Debug, Clone, Default)]
pub struct TableRow {
    /// The cells, one for each column.
    pub cells: Vec<Cell>,
    /// What the reader can do with the row.
    pub acts: Vec<RowAct>,
}

/// One cell.
#[derive(Debug, Clone)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A sentence of the provider itself, in which names stand in backticks.
    Sentence(String),
    /// An identifier.
    Code(String),
    /// A moment, as RFC 3339 has it.
    Time(String),
    /// A word that is marked.
    State(Tone, String),
    /// A skill, with its name.
    Skill(SkillKey, String),
    /// Words with more words below.
    Detailed(String, String),
}

/// A button.
#[derive(Debug, Clone)]
pub struct RowAct {
    /// The act, by a name that the provider knows.
    pub name: &'static str,
    /// What it is about.
    pub about: String,
    /// The words on the button.
    pub label: String,
}
