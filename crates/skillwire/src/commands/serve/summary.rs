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
    writeln!(out, "{STRONG}Serving {} skills{STRONG:#}", served.len())?;
    for skill in served.iter().take(SHOWN) {
        let description: String = skill.frontmatter.description().chars().take(70).collect();
        writeln!(
            out,
            "  {}  {FAINT}{}{FAINT:#}",
            skill.path,
            printable(&description.replace('\n', " "))
        )?;
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
