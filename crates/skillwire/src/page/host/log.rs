//! The log: what happened, which scripts ran, and what is in context now.

use std::{collections::VecDeque, time::SystemTime};

use skillwire_page::{
    Filled, PageProblem,
    model::{Cell, FilterChoice, FilterGroup, Section, TableQuery, TableRow, TableView, Tone},
};
use skillwire_trust::{Action, Decision, Event};

use super::{HostPage, key_of};
use crate::commands::host::{audit, windows};
use crate::page::exported::exported;

/// The most events that one export has.
const MAX_EXPORTED: usize = 200_000;

/// Every action, in the order of the filter.
const ACTIONS: [Action; 14] = [
    Action::Ask,
    Action::Approve,
    Action::Revoke,
    Action::Enable,
    Action::Disable,
    Action::Load,
    Action::Read,
    Action::Inspect,
    Action::Execute,
    Action::Run,
    Action::CrossOriginRead,
    Action::Export,
    Action::Release,
    Action::Remove,
];

fn word(action: Action) -> String {
    let value = serde_json::to_value(action).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Which events a section shows.
fn belongs(section: Section, event: &Event) -> bool {
    match section {
        Section::Runs => matches!(event.action, Action::Run | Action::Execute),
        _ => true,
    }
}

fn fits(query: &TableQuery, event: &Event) -> bool {
    let outcome = if event.decision == Decision::Allowed { "allowed" } else { "refused" };
    let about = || match &event.skill {
        Some(skill) => skill.to_string(),
        None => event.label.clone(),
    };
    query.filter("action").is_none_or(|action| word(event.action) == action)
        && query.filter("outcome").is_none_or(|wanted| wanted == outcome)
        && query.filter("origin").is_none_or(|origin| event.label == origin)
        && query.words.split_whitespace().all(|wanted| {
            let wanted = wanted.to_lowercase();
            let detail = event.detail.as_deref().unwrap_or_default();
            about().to_lowercase().contains(&wanted) || detail.to_lowercase().contains(&wanted)
        })
}

impl HostPage {
    /// Reads the events of a section that fit, oldest first, and at most so many of the last ones.
    fn events(
        &self,
        section: Section,
        query: &TableQuery,
        most: usize,
    ) -> Filled<(VecDeque<Event>, usize)> {
        let lines = self.settings.audit().read();
        let lines = lines.map_err(|error| PageProblem::Refused(error.to_string()))?;
        let mut last = VecDeque::new();
        let mut unreadable = 0;
        for line in lines {
            let Ok(event) = line else {
                unreadable += 1;
                continue;
            };
            if belongs(section, &event) && fits(query, &event) {
                last.push_back(event);
                if last.len() > most {
                    last.pop_front();
                }
            }
        }
        Ok((last, unreadable))
    }

    pub(super) fn log_table(&self, section: Section, query: &TableQuery) -> Filled<TableView> {
        let first = query.page.saturating_mul(TableQuery::PAGE).min(MAX_EXPORTED);
        let (events, unreadable) = self.events(section, query, first + TableQuery::PAGE + 1)?;
        let newest: Vec<&Event> = events.iter().rev().skip(first).collect();
        let has_more = newest.len() > TableQuery::PAGE;
        let rows = newest.into_iter().take(TableQuery::PAGE).map(event_row).collect();
        let choice = |word: String| FilterChoice { value: word.clone(), label: word };
        let mut filters = vec![FilterGroup {
            name: "outcome",
            label: "Outcome".to_owned(),
            choices: ["allowed", "refused"].map(|word| choice(word.to_owned())).to_vec(),
        }];
        if section == Section::Audit {
            filters.push(FilterGroup {
                name: "action",
                label: "What happened".to_owned(),
                choices: ACTIONS.into_iter().map(|action| choice(word(action))).collect(),
            });
        }
        let mut notices = Vec::new();
        if unreadable > 0 {
            notices.push(skillwire_page::model::Notice {
                tone: Tone::Warning,
                text: format!("{unreadable} lines of the log cannot be read and are left out."),
                act: None,
            });
        }
        let (about, empty) = match section {
            Section::Runs => (
                "Scripts of skills that ran on this machine, or were not allowed to.",
                "No script has run yet.",
            ),
            _ => (
                "Everything that happened to skills on this machine, newest first.",
                "Nothing happened yet.",
            ),
        };
        Ok(TableView {
            about: about.to_owned(),
            columns: vec!["When", "What", "Outcome", "About", "Detail"],
            rows,
            total: None,
            has_more,
            filters,
            has_search: true,
            notices,
            empty: empty.to_owned(),
            exports: vec!["jsonl", "csv"],
        })
    }

    pub(super) fn export_log(
        &self,
        section: Section,
        query: &TableQuery,
        format: &str,
    ) -> Filled<String> {
        if !matches!(section, Section::Audit | Section::Runs) {
            return Err(PageProblem::NotFound);
        }
        let (events, _) = self.events(section, query, MAX_EXPORTED)?;
        let names = ["time", "label", "uri", "contentId", "action", "decision", "reason", "detail"];
        exported(events.iter().map(audit::json), &names, format)
    }

    pub(super) fn context_table(&self) -> Filled<TableView> {
        let lines = self.settings.audit().read();
        let lines = lines.map_err(|error| PageProblem::Refused(error.to_string()))?;
        let open = windows::open_windows(lines.filter_map(Result::ok), SystemTime::now());
        let rows = open.into_iter().map(|open| TableRow {
            cells: vec![
                Cell::Skill(key_of(&open.id), open.id.to_string()),
                Cell::Text(open.windows.to_string()),
                Cell::Time(humantime::format_rfc3339_seconds(open.since).to_string()),
                Cell::Code(open.content.map(|content| content.to_string()).unwrap_or_default()),
            ],
            acts: Vec::new(),
        });
        Ok(TableView {
            about: "Skills that a client loaded within the last day and did not release: what models may \
                    have in their context now."
                .to_owned(),
            columns: vec!["Skill", "Windows", "Loaded", "Content"],
            rows: rows.collect(),
            empty: "No skill is loaded.".to_owned(),
            ..TableView::default()
        })
    }
}

fn event_row(event: &Event) -> TableRow {
    let about = match &event.skill {
        Some(skill) => Cell::Skill(key_of(skill), skill.to_string()),
        None => Cell::Text(event.label.clone()),
    };
    let outcome = match (event.decision, event.reason) {
        (Decision::Allowed, _) => Cell::State(Tone::Good, "allowed".to_owned()),
        (Decision::Refused, None) => Cell::State(Tone::Bad, "refused".to_owned()),
        (Decision::Refused, Some(reason)) => {
            Cell::State(Tone::Bad, format!("refused: {}", reason.code()))
        }
    };
    TableRow {
        cells: vec![
            Cell::Time(humantime::format_rfc3339_seconds(event.time).to_string()),
            Cell::Text(word(event.action)),
            outcome,
            about,
            Cell::Text(event.detail.clone().unwrap_or_default()),
        ],
        acts: Vec::new(),
    }
}
