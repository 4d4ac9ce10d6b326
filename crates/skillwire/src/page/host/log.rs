//! The log: what happened, which scripts ran, and what is in context now.

use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, SystemTime},
};

use skillwire_core::Digest;
use skillwire_page::{
    Filled, PageProblem,
    model::{Cell, FilterChoice, FilterGroup, Section, TableQuery, TableRow, TableView, Tone},
};
use skillwire_trust::{Action, Decision, Event, SkillId};

use super::{
    HostPage, key_of,
    runs::{JoinedRuns, RUN_MEMBERS, RunRecord, run_json, run_row},
    searched_text,
};
use crate::commands::host::{audit, windows};
use crate::{
    output::counted,
    page::{exported::exported, texts},
};

/// The most events that one export has.
const MAX_EXPORTED: usize = 200_000;

/// The most origins that the filter offers.
const MAX_ORIGINS: usize = 200;

/// How far the filter of time goes back: its value, its words and the time.
const PERIODS: [(&str, &str, Duration); 4] = [
    ("hour", texts::LAST_HOUR, Duration::from_hours(1)),
    ("day", texts::LAST_DAY, Duration::from_hours(24)),
    ("week", texts::LAST_WEEK, Duration::from_hours(24 * 7)),
    ("month", texts::LAST_MONTH, Duration::from_hours(24 * 30)),
];

/// Every action, in the order of the filter.
const ACTIONS: [Action; 15] = [
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
    Action::ReadResource,
    Action::CrossOriginRead,
    Action::Export,
    Action::Release,
    Action::Remove,
];

fn word(action: Action) -> String {
    let value = serde_json::to_value(action).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// The beginning of a digest, as far as it tells contents apart at a glance; the page of the skill has all
/// of it.
fn short(content: &Digest) -> String {
    content.to_string().chars().take("sha256:".len() + 16).chain(['…']).collect()
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
        Some(skill) => searched_text(skill),
        None => event.label.to_lowercase(),
    };
    let period = query.filter("since");
    let period = period.and_then(|since| PERIODS.iter().find(|(value, ..)| *value == since));
    let oldest = period.and_then(|(.., period)| SystemTime::now().checked_sub(*period));
    oldest.is_none_or(|oldest| event.time >= oldest)
        && query.filter("action").is_none_or(|action| word(event.action) == action)
        && query.filter("outcome").is_none_or(|wanted| wanted == outcome)
        && query.filter("origin").is_none_or(|origin| event.label == origin)
        && query.words.split_whitespace().all(|wanted| {
            let wanted = wanted.to_lowercase();
            let detail = event.detail.as_deref().unwrap_or_default();
            about().contains(&wanted) || detail.to_lowercase().contains(&wanted)
        })
}

/// The events of a section that fit a query.
#[derive(Default)]
struct FittingEvents {
    /// At most so many of the last ones, oldest first.
    last: VecDeque<Event>,
    /// The origins of all events of the section.
    origins: BTreeSet<String>,
    /// How many lines of the log cannot be read.
    unreadable: usize,
}

impl FittingEvents {
    fn note_origin(&mut self, event: &Event) {
        if self.origins.len() < MAX_ORIGINS && !self.origins.contains(&event.label) {
            self.origins.insert(event.label.clone());
        }
    }

    fn keep(&mut self, event: Event, query: &TableQuery, most: usize) {
        if fits(query, &event) {
            self.last.push_back(event);
            if self.last.len() > most {
                self.last.pop_front();
            }
        }
    }
}

impl HostPage {
    /// Reads the events of a section, and returns how many lines of the log cannot be read.
    fn each_event(&self, section: Section, mut take: impl FnMut(Event)) -> Filled<usize> {
        let lines = self.settings.audit().read();
        let lines = lines.map_err(|error| PageProblem::Refused(error.to_string()))?;
        let mut unreadable = 0;
        for line in lines {
            match line {
                Ok(event) if belongs(section, &event) => take(event),
                Ok(_) => {}
                Err(_) => unreadable += 1,
            }
        }
        Ok(unreadable)
    }

    /// Reads the events that fit.
    fn events(&self, section: Section, query: &TableQuery, most: usize) -> Filled<FittingEvents> {
        let mut found = FittingEvents::default();
        let unreadable = self.each_event(section, |event| {
            found.note_origin(&event);
            found.keep(event, query, most);
        })?;
        Ok(FittingEvents { unreadable, ..found })
    }

    /// Reads the runs that fit, each once.
    fn runs(&self, query: &TableQuery, most: usize) -> Filled<FittingEvents> {
        let mut found = FittingEvents::default();
        let mut joined = JoinedRuns::default();
        let unreadable = self.each_event(Section::Runs, |event| {
            found.note_origin(&event);
            if let Some(run) = joined.add(event) {
                found.keep(run, query, most);
            }
        })?;
        for run in joined.unfinished() {
            found.keep(run, query, most);
        }
        found.last.make_contiguous().sort_by_key(|run| run.time);
        Ok(FittingEvents { unreadable, ..found })
    }

    pub(super) fn log_table(&self, section: Section, query: &TableQuery) -> Filled<TableView> {
        let first = query.page.saturating_mul(TableQuery::PAGE).min(MAX_EXPORTED);
        let most = first + TableQuery::PAGE + 1;
        let found = match section {
            Section::Runs => self.runs(query, most)?,
            _ => self.events(section, query, most)?,
        };
        let FittingEvents { last, origins, unreadable } = found;
        let newest: Vec<&Event> = last.iter().rev().skip(first).collect();
        let has_more = newest.len() > TableQuery::PAGE;
        let row = |event: &Event| match section {
            Section::Runs => run_row(event, self.about(event)),
            _ => self.event_row(event),
        };
        let rows = newest.into_iter().take(TableQuery::PAGE).map(row).collect();
        let choice = |word: String| FilterChoice { value: word.clone(), label: word };
        let group =
            |name, label: &str, choices| FilterGroup { name, label: label.to_owned(), choices };
        let mut filters = Vec::new();
        if section == Section::Audit {
            let choices = ACTIONS.into_iter().map(|action| choice(word(action))).collect();
            filters.push(group("action", texts::WHAT_HAPPENED, choices));
        }
        let outcomes = ["allowed", "refused"].map(|word| choice(word.to_owned()));
        filters.push(group("outcome", texts::OUTCOME, outcomes.to_vec()));
        filters.push(group("origin", texts::ORIGIN, origins.into_iter().map(choice).collect()));
        let periods = PERIODS.map(|(value, label, _)| FilterChoice {
            value: value.to_owned(),
            label: label.to_owned(),
        });
        filters.push(group("since", texts::TIME, periods.to_vec()));
        let mut notices = Vec::new();
        if unreadable > 0 {
            notices.push(skillwire_page::model::Notice {
                tone: Tone::Warning,
                text: texts::unreadable_lines(unreadable),
                act: None,
            });
        }
        let is_asked = !query.words.is_empty() || !query.filters.is_empty();
        let (about, empty, columns) = match section {
            Section::Runs => (texts::RUNS_ABOUT, texts::RUNS_EMPTY, texts::RUN_COLUMNS),
            _ => (texts::LOG_ABOUT, texts::LOG_EMPTY, texts::LOG_COLUMNS),
        };
        let empty = if is_asked { texts::NOTHING_FITS } else { empty };
        Ok(TableView {
            about: about.to_owned(),
            columns: columns.to_vec(),
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
        // One more tells whether something is left out.
        let mut found = match section {
            Section::Runs => self.runs(query, MAX_EXPORTED + 1)?.last,
            _ => self.events(section, query, MAX_EXPORTED + 1)?.last,
        };
        let left_out = (found.len() > MAX_EXPORTED).then(|| {
            found.pop_front();
            texts::export_ends(MAX_EXPORTED)
        });
        if section == Section::Runs {
            return exported(found.iter().map(run_json), &RUN_MEMBERS, format, left_out);
        }
        let names = ["time", "label", "uri", "contentId", "action", "decision", "reason", "detail"];
        exported(found.iter().map(audit::json), &names, format, left_out)
    }

    pub(super) fn context_table(&self) -> Filled<TableView> {
        let lines = self.settings.audit().read();
        let lines = lines.map_err(|error| PageProblem::Refused(error.to_string()))?;
        let open = windows::open_windows(lines.filter_map(Result::ok), SystemTime::now());
        let rows = open.into_iter().map(|open| TableRow {
            cells: vec![
                self.skill_cell(&open.id),
                Cell::Time(humantime::format_rfc3339_seconds(open.since).to_string()),
                Cell::Text(counted(open.windows, "window")),
                Cell::Code(open.content.map(|content| short(&content)).unwrap_or_default()),
            ],
            acts: Vec::new(),
        });
        Ok(TableView {
            about: texts::CONTEXT_ABOUT.to_owned(),
            columns: texts::CONTEXT_COLUMNS.to_vec(),
            rows: rows.collect(),
            empty: texts::CONTEXT_EMPTY.to_owned(),
            ..TableView::default()
        })
    }

    /// A skill with a link to it, under the name that it has on the command line.
    pub(super) fn skill_cell(&self, id: &SkillId) -> Cell {
        let name = self.known().handle(id).map_or_else(|| id.to_string(), str::to_owned);
        Cell::Skill(key_of(id), name)
    }

    fn about(&self, event: &Event) -> Cell {
        match &event.skill {
            Some(skill) => self.skill_cell(skill),
            None => Cell::Text(event.label.clone()),
        }
    }

    fn event_row(&self, event: &Event) -> TableRow {
        let outcome = match (event.decision, event.reason) {
            (Decision::Allowed, _) => Cell::State(Tone::Good, "allowed".to_owned()),
            (Decision::Refused, None) => Cell::State(Tone::Bad, "refused".to_owned()),
            (Decision::Refused, Some(reason)) => {
                Cell::State(Tone::Bad, texts::refused(reason.code()))
            }
        };
        let detail = event.detail.as_deref().unwrap_or_default();
        let detail = match event.action {
            Action::Run => RunRecord::parse(detail).sentence(),
            _ => detail.to_owned(),
        };
        TableRow {
            cells: vec![
                Cell::Time(humantime::format_rfc3339_seconds(event.time).to_string()),
                Cell::Text(word(event.action)),
                outcome,
                self.about(event),
                Cell::Text(detail),
            ],
            acts: Vec::new(),
        }
    }
}
