//! What a person at a terminal sees when a server starts.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};
use skillwire_catalog::refresh::Refreshed;
use skillwire_core::finding::Strictness;

use crate::{
    output::{FAINT, STRONG, WARNING},
    report::printable,
};

/// Served skills that are named one by one.
const SHOWN: usize = 20;

/// The width lines are cut to.
const WIDTH: usize = 88;

/// How a client reaches this server.
pub(super) enum Client<'a> {
    Stdio { dirs: &'a [String] },
    Http { url: &'a str, needs_token: bool },
}

impl Client<'_> {
    fn configuration(&self) -> Value {
        let server = match self {
            Self::Stdio { dirs } => {
                let arguments: Vec<&str> =
                    std::iter::once("serve").chain(dirs.iter().map(String::as_str)).collect();
                json!({ "command": "skillwire", "args": arguments })
            }
            Self::Http { url, needs_token: false } => json!({ "type": "http", "url": url }),
            Self::Http { url, needs_token: true } => {
                json!({ "type": "http", "url": url, "headers": { "Authorization": "Bearer YOUR-TOKEN" } })
            }
        };
        json!({ "mcpServers": { "skills": server } })
    }
}

/// Shows what is served and how to use it, on standard error and only to a terminal.
pub(super) fn show(
    refreshed: &Refreshed,
    strictness: Strictness,
    client: &Client<'_>,
) -> std::io::Result<()> {
    if !std::io::stderr().is_terminal() {
        return Ok(());
    }
    write(&mut anstream::stderr().lock(), refreshed, strictness, client)
}

fn write(
    out: &mut impl Write,
    refreshed: &Refreshed,
    strictness: Strictness,
    client: &Client<'_>,
) -> std::io::Result<()> {
    let inspected = &refreshed.scan.inspected;
    let served: Vec<_> = inspected.iter().filter_map(|i| i.skill.as_ref()).collect();
    let noun = if served.len() == 1 { "skill" } else { "skills" };
    writeln!(out, "{STRONG}Serving {} {noun}{STRONG:#}", served.len())?;
    let shown: Vec<_> = served.iter().take(SHOWN).collect();
    let widest = shown.iter().map(|skill| skill.path.to_string().chars().count()).max();
    let column = widest.unwrap_or(0).min(WIDTH / 2);
    for skill in shown {
        let description = one_line(skill.frontmatter.description(), WIDTH - column - 4);
        let path = skill.path.to_string();
        writeln!(out, "  {path:column$}  {FAINT}{description}{FAINT:#}")?;
    }
    if served.len() > SHOWN {
        writeln!(out, "  {FAINT}and {} more{FAINT:#}", served.len() - SHOWN)?;
    }
    let skipped: Vec<_> = inspected.iter().filter(|i| i.skill.is_none()).collect();
    if !skipped.is_empty() {
        writeln!(out, "{WARNING}Skipped {}{WARNING:#}", skipped.len())?;
        for skip in skipped {
            let reason = skip.reasons(strictness).next();
            let text = reason.map_or(String::new(), |r| format!("{} [{}]", r.message, r.code));
            writeln!(out, "  {}  {}", printable(&skip.origin), printable(&text))?;
        }
        writeln!(out, "  {FAINT}`skillwire check` says how to mend them.{FAINT:#}")?;
    }
    writeln!(out, "Add this to your MCP client's configuration:")?;
    writeln!(out, "{}", serde_json::to_string_pretty(&client.configuration())?)?;
    if let Client::Stdio { .. } = client {
        writeln!(out, "{FAINT}Waiting for a client on standard input; Ctrl-C ends.{FAINT:#}")?;
    }
    Ok(())
}

/// Cuts a stranger's text to one printable line.
fn one_line(text: &str, width: usize) -> String {
    let flat = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if flat.chars().count() <= width {
        return flat;
    }
    let cut: String = flat.chars().take(width.saturating_sub(1)).collect();
    cut + "…"
}
