//! The summary that a user at a terminal sees when a server starts.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};
use skillwire_catalog::Refreshed;
use skillwire_core::{Effect, Strictness};

use crate::{
    output::{FAINT, STRONG, WARNING, counted},
    prose,
    report::printable,
};

/// The most served skills that are named one by one.
const SHOWN: usize = 20;

/// The width lines are cut to, at most.
const WIDTH: usize = 88;

/// The narrowest terminal that lines are cut for.
const LEAST_WIDTH: usize = 40;

/// How a client reaches this server.
pub(super) enum ClientSetup<'a> {
    /// Starts it with these arguments.
    Stdio {
        arguments: &'a [String],
    },
    Http {
        url: &'a str,
        needs_token: bool,
    },
}

impl ClientSetup<'_> {
    fn configuration(&self) -> Value {
        let server = match self {
            Self::Stdio { arguments } => json!({ "command": "skillwire", "args": arguments }),
            Self::Http { url, needs_token: false } => json!({ "type": "http", "url": url }),
            Self::Http { url, needs_token: true } => {
                json!({ "type": "http", "url": url, "headers": { "Authorization": "Bearer YOUR-TOKEN" } })
            }
        };
        json!({ "mcpServers": { "skills": server } })
    }
}

/// Shows what is served and how to use it, on standard error and only to a terminal.
pub(super) fn show(refreshed: &Refreshed, strictness: Strictness, client: &ClientSetup<'_>) {
    if std::io::stderr().is_terminal() {
        let width = terminal_size::terminal_size_of(std::io::stderr())
            .map_or(WIDTH, |(width, _)| usize::from(width.0).clamp(LEAST_WIDTH, WIDTH));
        // The server also runs if the terminal is gone.
        let _ = write(&mut prose::stderr(), refreshed, strictness, client, width);
    }
}

fn write(
    out: &mut impl Write,
    refreshed: &Refreshed,
    strictness: Strictness,
    client: &ClientSetup<'_>,
    width: usize,
) -> std::io::Result<()> {
    let mut served: Vec<_> = refreshed.inspected().filter_map(|i| i.skill.as_ref()).collect();
    served.sort_by(|a, b| a.uri.cmp(&b.uri));
    writeln!(out, "{STRONG}Serving {}{STRONG:#}", counted(served.len(), "skill"))?;
    let shown: Vec<_> = served.iter().take(SHOWN).collect();
    let widest = shown.iter().map(|skill| printable(&skill.path()).chars().count()).max();
    let column = widest.unwrap_or(0).min(width / 2);
    for skill in shown {
        let description = one_line(&skill.description(), width - column - 4);
        let path = printable(&skill.path());
        writeln!(out, "  {path:column$}  {FAINT}{description}{FAINT:#}")?;
    }
    if served.len() > SHOWN {
        writeln!(out, "  {FAINT}and {} more{FAINT:#}", served.len() - SHOWN)?;
    }
    let mut skipped: Vec<_> = refreshed.inspected().filter(|i| i.skill.is_none()).collect();
    skipped.sort_by(|a, b| a.origin.cmp(&b.origin));
    // The log has said why each is skipped, unless it leaves warnings out.
    let is_logged = tracing::enabled!(tracing::Level::WARN);
    if !skipped.is_empty() {
        let place = if is_logged { ", for the reasons above" } else { "" };
        writeln!(out, "{WARNING}Skipped {}{WARNING:#}{place}", counted(skipped.len(), "skill"))?;
        for skip in skipped.into_iter().filter(|_| !is_logged) {
            let reason = skip.reasons(strictness).next();
            let mut text = reason.map_or(String::new(), |r| format!("{} [{}]", r.message, r.code));
            if reason.is_some_and(|reason| reason.code.effect() == Effect::SkipUnlessLenient) {
                text.push_str(" `--lenient` serves it all the same.");
            }
            writeln!(out, "  {}  {}", printable(&skip.origin), printable(&text))?;
        }
        writeln!(out, "  {FAINT}`skillwire check` says how to fix them.{FAINT:#}")?;
    }
    writeln!(out, "Add this to your MCP client's configuration:")?;
    writeln!(out, "{}", serde_json::to_string_pretty(&client.configuration())?)?;
    if let ClientSetup::Stdio { .. } = client {
        writeln!(out, "{FAINT}Waiting for a client on standard input; Ctrl-C ends.{FAINT:#}")?;
    }
    Ok(())
}

/// Makes untrusted text printable and cuts it to one line.
fn one_line(text: &str, width: usize) -> String {
    let flat = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if flat.chars().count() <= width {
        return flat;
    }
    let cut: String = flat.chars().take(width.saturating_sub(1)).collect();
    cut + "…"
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skillwire_catalog::{Catalog, Refresher, SnapshotOptions};
    use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest};
    use skillwire_testkit::SkillFolder;

    use super::*;

    /// The summary without colours.
    fn shown(folder: &SkillFolder, client: &ClientSetup<'_>) -> String {
        let options = DirectoryOptions::default().label("skills");
        let source = DirectorySource::new(folder.path(), options).unwrap();
        let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
        let refreshed =
            Refresher::new(catalog, vec![Box::new(source)]).refresh(&ScanRequest::everything());
        let mut out = Vec::new();
        write(&mut out, &refreshed, Strictness::Normal, client, WIDTH).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn what_is_served_what_is_skipped_and_how_to_connect() {
        let folder = SkillFolder::with_skills(&["acme/billing/refunds", "a"]);
        let long = json!("Reads \u{1b}[2J\nand writes. ".repeat(9));
        folder
            .file("long/SKILL.md", format!("---\nname: long\ndescription: {long}\n---\n"))
            .file("bad/SKILL.md", "# No frontmatter\n")
            .file("worse/SKILL.md", "---\nname: Worse\ndescription: Use when.\n---\n");
        let url = "http://127.0.0.1:8640/mcp";
        let mut all = shown(&folder, &ClientSetup::Http { url, needs_token: false });
        for client in [
            ClientSetup::Http { url, needs_token: true },
            ClientSetup::Stdio { arguments: &["serve".to_owned(), "team=/srv/team".to_owned()] },
        ] {
            all.push_str("\n...\n");
            let text = shown(&SkillFolder::with_skills(&["a"]), &client);
            all.push_str(&text);
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn a_long_listing_is_cut() {
        let folder = SkillFolder::new();
        for index in 0..25 {
            folder.skill(&format!("s{index}"));
        }
        let text = shown(&folder, &ClientSetup::Stdio { arguments: &[] });
        assert!(text.starts_with("Serving 25 skills\n"), "{text}");
        assert!(text.contains("\n  and 5 more\n"), "{text}");
    }
}
