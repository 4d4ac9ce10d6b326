//! `skillwire windows`: which skills are in the context of a model, as far as the log tells.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    time::{Duration, SystemTime},
};

use serde::Serialize;
use skillwire_core::{Digest, visible::one_line};
use skillwire_trust::{Action, Decision, Event, SkillId};

use super::Outcome;
use crate::{
    args::WindowsArgs,
    exit::Exit,
    failure::Failure,
    output::{FAINT, STRONG, counted},
    prose, report,
    session::warn,
    settings::HostSettings,
};

/// Loads that are older are not shown without `--all`: their client has most likely ended.
const RECENT: Duration = Duration::from_hours(24);

/// A skill that was loaded and not released since.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct OpenWindows {
    #[serde(rename = "skill", serialize_with = "as_id")]
    pub(crate) id: SkillId,
    pub(crate) content: Option<Digest>,
    /// How many windows on it are open.
    pub(crate) windows: usize,
    /// When it was loaded last.
    #[serde(serialize_with = "as_text")]
    pub(crate) since: SystemTime,
}

fn as_id<S: serde::Serializer>(id: &SkillId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

fn as_text<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_seconds(*time))
}

pub(super) fn run(args: &WindowsArgs) -> Outcome {
    let lines = HostSettings::resolve()?
        .audit()
        .read()
        .map_err(|error| Failure::caused(Exit::Usage, error))?;
    let mut open = LoadedSkills::default();
    for line in lines {
        match line {
            Ok(event) => open.add(event),
            Err(error) => warn(&error.to_string())?,
        }
    }
    let oldest = SystemTime::now().checked_sub(RECENT).filter(|_| !args.all);
    let open = open.since(oldest);
    if args.json {
        report::json(&mut io::stdout().lock(), &open)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    for OpenWindows { id, windows, since, .. } in &open {
        let since = humantime::format_rfc3339_seconds(*since);
        let skill = one_line(&id.to_string());
        let windows = counted(*windows, "window");
        writeln!(out, "{STRONG}{skill}{STRONG:#}  {windows}  {FAINT}since {since}{FAINT:#}")?;
    }
    out.flush()?;
    if open.is_empty() {
        writeln!(
            prose::stderr(),
            "No skill is loaded; `skillwire audit` shows what happened before."
        )?;
    }
    Ok(Exit::Ok)
}

/// The windows that the log says are open on skills that were loaded recently, the latest first.
#[cfg(feature = "page")]
pub(crate) fn open_windows(
    events: impl Iterator<Item = Event>,
    now: SystemTime,
) -> Vec<OpenWindows> {
    let mut open = LoadedSkills::default();
    events.for_each(|event| open.add(event));
    open.since(now.checked_sub(RECENT))
}

/// The windows that the log says are open, by skill and content.
#[derive(Debug, Default)]
struct LoadedSkills(BTreeMap<(SkillId, Option<String>), OpenWindows>);

impl LoadedSkills {
    fn add(&mut self, event: Event) {
        let Event {
            skill: Some(skill), content, action, decision: Decision::Allowed, time, ..
        } = event
        else {
            return;
        };
        let key = (skill, content.map(|content| content.to_string()));
        match action {
            Action::Load => {
                let id = key.0.clone();
                let none = OpenWindows { id, content, windows: 0, since: time };
                let open = self.0.entry(key).or_insert(none);
                open.windows += 1;
                open.since = time;
            }
            Action::Release => {
                if let Some(open) = self.0.get_mut(&key) {
                    open.windows = open.windows.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// The open windows on skills that were loaded since a time, the latest first.
    fn since(self, oldest: Option<SystemTime>) -> Vec<OpenWindows> {
        let is_shown = |open: &OpenWindows| {
            open.windows > 0 && oldest.is_none_or(|oldest| open.since >= oldest)
        };
        let mut open: Vec<_> = self.0.into_values().filter(is_shown).collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.since));
        open
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::SkillUri;
    use skillwire_trust::Origin;

    use super::*;

    fn event(name: &str, action: Action, decision: Decision, second: u64) -> Event {
        let uri = SkillUri::parse(&format!("skill://{name}/SKILL.md")).unwrap();
        let origin = Origin::parse("acme").unwrap();
        Event {
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
            label: origin.label().to_owned(),
            skill: Some(SkillId { origin, uri }),
            content: Some(Digest::of(name.as_bytes())),
            content_id: None,
            action,
            decision,
            reason: None,
            detail: None,
        }
    }

    #[test]
    fn a_skill_is_in_context_until_as_many_windows_are_released_as_were_opened_p_16() {
        let mut open = LoadedSkills::default();
        for (name, action, decision) in [
            ("a", Action::Load, Decision::Allowed),
            ("a", Action::Load, Decision::Allowed),
            ("b", Action::Load, Decision::Allowed),
            ("c", Action::Load, Decision::Refused),
            ("a", Action::Release, Decision::Allowed),
            ("b", Action::Release, Decision::Allowed),
            ("b", Action::Release, Decision::Allowed),
            ("a", Action::Read, Decision::Allowed),
            ("d", Action::Load, Decision::Allowed),
        ] {
            open.add(event(name, action, decision, if name == "d" { 9 } else { 1 }));
        }
        let open = open.since(None);
        let shown: Vec<_> = open.iter().map(|open| (open.id.to_string(), open.windows)).collect();
        let expected = ["acme:skill://d/SKILL.md", "acme:skill://a/SKILL.md"];
        assert_eq!(shown, expected.map(|skill| (skill.to_owned(), 1)));
    }

    #[test]
    fn loads_of_clients_that_ended_long_ago_are_left_out_p_16() {
        let mut open = LoadedSkills::default();
        open.add(event("a", Action::Load, Decision::Allowed, 1));
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(2);
        assert_eq!(open.since(Some(later)), []);
    }
}
