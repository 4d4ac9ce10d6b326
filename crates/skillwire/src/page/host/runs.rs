//! Runs of scripts: one row for each, from the two lines that the log has about it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use skillwire_page::model::{Cell, TableRow, Tone};
use skillwire_trust::{Action, Decision, Event, Reason};

use crate::page::texts;

/// The most runs whose end is still awaited while the log is read.
const MAX_STARTED: usize = 256;

/// The longest text of a record that is shown.
const MAX_TEXT: usize = 300;

/// What the log says about one run.
///
/// The log has a record as JSON, or a few words if the run did not come that far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunRecord {
    script: String,
    asked_by: String,
    outcome: String,
    isolation: String,
    network: Vec<String>,
    variables: Vec<String>,
    used: Option<UsedResources>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsedResources {
    wall_ms: u64,
    peak_memory: Option<u64>,
}

impl RunRecord {
    pub(super) fn parse(detail: &str) -> Self {
        if let Ok(mut record) = serde_json::from_str::<Self>(detail) {
            // The message of a failure was written for a terminal.
            record.outcome =
                record.outcome.replace("not run: error: ", "not run: ").replace('`', "");
            return record;
        }
        let (script, outcome) = match detail.split_once(": ") {
            Some((script, reason)) => (script, format!("not run: {reason}")),
            None => (detail, String::new()),
        };
        Self { script: script.to_owned(), outcome, ..Self::default() }
    }

    fn is_started(&self) -> bool {
        self.outcome == "started"
    }

    fn asked_by(&self) -> &'static str {
        match self.asked_by.as_str() {
            "user" => texts::ASKED_BY_YOU,
            "model" => texts::ASKED_BY_MODEL,
            _ => "",
        }
    }

    /// What it took, in words.
    fn used(&self) -> Option<String> {
        let used = self.used.as_ref()?;
        let seconds = Duration::from_millis(used.wall_ms).as_secs_f64();
        let memory = used.peak_memory.map(|bytes| format!(", {} MiB", bytes >> 20));
        Some(format!("{seconds:.2} s{}", memory.unwrap_or_default()))
    }

    /// What it could reach, in words.
    fn terms(&self) -> String {
        if self.isolation.is_empty() {
            return String::new();
        }
        let list = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let (network, variables) = (list(&self.network), list(&self.variables));
        texts::run_terms(&self.isolation, &network, &variables)
    }

    /// The run in one sentence, for a list of everything that happened.
    pub(super) fn sentence(&self) -> String {
        let parts = [self.script.clone(), self.outcome.clone(), self.used().unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        cut(&parts.join(" · "))
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// Joins the line that a run began with and the line that says how it ended.
#[derive(Default)]
pub(super) struct JoinedRuns {
    started: Vec<(Event, RunRecord)>,
}

impl JoinedRuns {
    /// Takes the next event of the log, and returns it as a run if it ends one. The run has the time at
    /// which it began.
    pub(super) fn add(&mut self, mut event: Event) -> Option<Event> {
        if event.action == Action::Execute {
            return Some(event);
        }
        let record = RunRecord::parse(event.detail.as_deref().unwrap_or_default());
        if record.is_started() {
            if self.started.len() >= MAX_STARTED {
                let (oldest, _) = self.started.remove(0);
                self.started.push((event, record));
                return Some(oldest);
            }
            self.started.push((event, record));
            return None;
        }
        let began = self.started.iter().position(|(began, earlier)| {
            began.skill == event.skill && earlier.script == record.script
        });
        if let Some(began) = began {
            event.time = self.started.remove(began).0.time;
        }
        Some(event)
    }

    /// The runs of which no end was logged: they go on, or were cut off.
    pub(super) fn unfinished(self) -> impl Iterator<Item = Event> {
        self.started.into_iter().map(|(event, _)| event)
    }
}

/// One run as a row.
pub(super) fn run_row(event: &Event, skill: Cell) -> TableRow {
    let detail = event.detail.as_deref().unwrap_or_default();
    let record = RunRecord::parse(detail);
    let (tone, word) = match (event.decision, event.reason) {
        (Decision::Refused, _) => (Tone::Bad, texts::NOT_RUN.to_owned()),
        (Decision::Allowed, _) if record.is_started() => {
            (Tone::Waiting, texts::RUN_UNFINISHED.to_owned())
        }
        (Decision::Allowed, _) => match record.outcome.as_str() {
            "" => (Tone::Good, "allowed".to_owned()),
            "exited with 0" => (Tone::Good, texts::RUN_FINISHED.to_owned()),
            outcome => (Tone::Warning, cut(outcome)),
        },
    };
    let reason = match record.outcome.strip_prefix("not run: ") {
        Some(reason) => reason,
        None => event.reason.map_or("", Reason::meaning),
    };
    let used = record.used().unwrap_or_else(|| cut(reason));
    TableRow {
        cells: vec![
            Cell::Time(humantime::format_rfc3339_seconds(event.time).to_string()),
            Cell::Detailed(cut(&record.script), record.asked_by().to_owned()),
            skill,
            Cell::State(tone, word),
            Cell::Detailed(used, record.terms()),
        ],
        acts: Vec::new(),
    }
}

/// The members of [`run_json`], in the order of a table.
pub(super) const RUN_MEMBERS: [&str; 12] = [
    "time",
    "label",
    "uri",
    "script",
    "askedBy",
    "decision",
    "reason",
    "outcome",
    "isolation",
    "network",
    "variables",
    "milliseconds",
];

/// One run as an export has it: what the row says, with nothing cut.
pub(super) fn run_json(event: &Event) -> Value {
    let record = RunRecord::parse(event.detail.as_deref().unwrap_or_default());
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    json!({
        "time": humantime::format_rfc3339_millis(event.time).to_string(),
        "label": event.label,
        "uri": event.skill.as_ref().map(|skill| skill.uri.as_str()),
        "script": record.script,
        "askedBy": named(&record.asked_by),
        "decision": event.decision,
        "reason": event.reason,
        "outcome": named(&record.outcome),
        "isolation": named(&record.isolation),
        "network": record.network.join(" "),
        "variables": record.variables.join(" "),
        "milliseconds": record.used.as_ref().map(|used| used.wall_ms),
        "peakMemory": record.used.as_ref().and_then(|used| used.peak_memory),
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use skillwire_trust::{Origin, SkillId};

    use super::*;

    fn event(detail: &str, second: u64) -> Event {
        let origin = Origin::parse("acme").unwrap();
        let uri = skillwire_core::SkillUri::parse("skill://a/SKILL.md").unwrap();
        Event {
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
            label: "acme".to_owned(),
            skill: Some(SkillId { origin, uri }),
            content: None,
            content_id: None,
            action: Action::Run,
            decision: Decision::Allowed,
            reason: None,
            detail: Some(detail.to_owned()),
        }
    }

    #[test]
    fn a_run_is_one_row_with_the_time_at_which_it_began() {
        let mut joined = JoinedRuns::default();
        let lines = [
            r#"{"script":"a.py","outcome":"started"}"#,
            r#"{"script":"b.py","outcome":"started"}"#,
            r#"{"script":"a.py","outcome":"exited with 0","isolation":"full","used":{"wall_ms":1234,"peak_memory":8388608}}"#,
            "scripts/c.py: it may not run",
        ];
        let ended: Vec<Event> =
            (0..).zip(lines).filter_map(|(second, line)| joined.add(event(line, second))).collect();
        assert_eq!(ended.len(), 2);
        assert_eq!(ended[0].time, SystemTime::UNIX_EPOCH);
        let record = RunRecord::parse(ended[0].detail.as_deref().unwrap());
        assert_eq!(record.sentence(), "a.py · exited with 0 · 1.23 s, 8 MiB");
        assert_eq!(record.terms(), "full isolation; network: none; variables: none");
        let exported = run_json(&ended[0]);
        assert_eq!(exported["time"], "1970-01-01T00:00:00.000Z");
        assert_eq!(
            (&exported["script"], &exported["outcome"], &exported["milliseconds"]),
            (&json!("a.py"), &json!("exited with 0"), &json!(1234)),
        );
        assert!(RUN_MEMBERS.iter().all(|name| exported.get(name).is_some()));
        let record = RunRecord::parse(ended[1].detail.as_deref().unwrap());
        assert_eq!(record.sentence(), "scripts/c.py · not run: it may not run");
        let unfinished: Vec<Event> = joined.unfinished().collect();
        assert_eq!(unfinished.len(), 1);
        assert!(unfinished[0].detail.as_deref().unwrap().contains("b.py"));
    }

    #[test]
    fn lines_that_are_no_records_are_shown_as_they_are() {
        for line in ["", "{", "[]", "{\"script\":7}", &"x".repeat(10_000)] {
            assert!(RunRecord::parse(line).sentence().len() <= MAX_TEXT, "{line}");
        }
    }
}
