//! `skillwire audit`: shows the log of what happened to skills on this machine.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use serde_json::json;
use skillwire_core::visible::one_line;
use skillwire_state::UnreadableLine;
use skillwire_trust::{Decision, Event};

use super::Outcome;
use crate::{
    args::AuditArgs,
    exit::Exit,
    failure::Failure,
    output::{ADDED, ERROR, FAINT, STRONG},
    prose, report,
    session::warn,
    settings::HostSettings,
};

pub(super) fn run(args: &AuditArgs) -> Outcome {
    let lines = HostSettings::resolve()?
        .audit()
        .read()
        .map_err(|error| Failure::caused(Exit::Usage, error))?;
    let mut last = VecDeque::new();
    let mut out = prose::stdout();
    for line in lines {
        match args.last {
            None => show(&mut out, &line, args.json)?,
            Some(most) => {
                last.push_back(line);
                if last.len() > most {
                    last.pop_front();
                }
            }
        }
    }
    last.iter().try_for_each(|line| show(&mut out, line, args.json))?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn show(
    out: &mut impl Write,
    line: &Result<Event, UnreadableLine>,
    as_json: bool,
) -> io::Result<()> {
    match line {
        // A damaged line is reported, and the other lines are still shown.
        Err(error) => warn(&error.to_string()),
        Ok(event) if as_json => report::json_line(out, &json(event)),
        Ok(event) => print(out, event),
    }
}

/// An event as programs read it.
pub(crate) fn json(event: &Event) -> serde_json::Value {
    json!({
        "time": humantime::format_rfc3339_millis(event.time).to_string(),
        "label": event.label,
        "uri": event.skill.as_ref().map(|skill| skill.uri.as_str()),
        "content": event.content,
        "contentId": event.content_id,
        "action": event.action,
        "decision": event.decision,
        "reason": event.reason,
        "detail": event.detail,
    })
}

fn print(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let time = humantime::format_rfc3339_seconds(event.time);
    let word = serde_json::to_value(event.action)?;
    let action = word.as_str().unwrap_or_default();
    let about = match &event.skill {
        Some(skill) => skill.to_string(),
        None => event.label.clone(),
    };
    write!(out, "{FAINT}{time}{FAINT:#}  {STRONG}{action:8}{STRONG:#} ")?;
    match (event.decision, event.reason) {
        (Decision::Allowed, _) => write!(out, "{ADDED}allowed{ADDED:#}")?,
        (Decision::Refused, None) => write!(out, "{ERROR}refused{ERROR:#}")?,
        (Decision::Refused, Some(reason)) => {
            write!(out, "{ERROR}refused{ERROR:#} {}", reason.code())?;
        }
    }
    write!(out, "  {}", one_line(&about))?;
    match &event.detail {
        Some(detail) => writeln!(out, "  {}", one_line(detail)),
        None => writeln!(out),
    }
}
