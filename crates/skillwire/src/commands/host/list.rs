//! `skillwire list`: shows every skill of every origin with its state.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use serde::Serialize;
use serde_json::Value;
use skillwire_dialects::Dialect;
use skillwire_host::{
    Discovered, Host,
    context::text::{one_line, one_line_within},
};
use skillwire_trust::{
    DecisionChannel, DecisionCheck, Origin, Reason, Refusal, RegistryItem, Remedy, ServerLabel,
    SignatureCheck, SkillId, Standing,
};

use super::Outcome;
#[cfg(feature = "add")]
use crate::commands::install::listed::InstalledRow;
use crate::{
    args::ListArgs,
    exit::Exit,
    output::{ADDED, ERROR, FAINT, HELP, STRONG, WARNING},
    prose, refusals, remedies, report,
    session::{self, Session, card, report_incomplete},
    terminal,
};

/// A description that would get fewer columns than this is printed on a line of its own.
const MIN_DESCRIPTION: usize = 30;

/// The columns of the longest state, `approved`.
const STATE: usize = 8;

#[derive(Serialize)]
pub(super) struct ListReport<'a> {
    servers: Vec<ServerRow<'a>>,
    skills: Vec<SkillRow<'a>>,
    refused: Vec<Refusal>,
    incomplete: Vec<Refusal>,
    warnings: &'a [String],
    /// Skills that a server's instructions name and its listing lacks.
    references: Vec<String>,
    /// Skills that `add` installed, in whatever folder.
    #[cfg(feature = "add")]
    installed: Vec<InstalledRow>,
}

/// How a server offers its skills.
#[derive(Serialize)]
struct ServerRow<'a> {
    label: &'a ServerLabel,
    dialect: Dialect,
    title: &'static str,
}

#[derive(Serialize)]
pub(super) struct SkillRow<'a> {
    pub(super) handle: &'a str,
    name: &'a str,
    origin: &'a Origin,
    uri: &'a str,
    pub(super) description: &'a str,
    pub(super) state: &'static str,
    /// How the approval came, if the user's record says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<DecisionChannel>,
    /// What is known about its signature, if the user has a rule about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<SignatureCheck>,
    /// What is known about its server's signed decision, if the user trusts a key for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionCheck>,
    /// Why a skill cannot be used although its entry can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    shares_name: bool,
    dynamic: bool,
    /// How the server offers it; absent for a skill in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<Dialect>,
    /// Whether its files are compared with the first ones seen, because the server gives no
    /// digests.
    first_seen: bool,
    /// The author's own keys and values, such as version and tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
}

impl SkillRow<'_> {
    /// What follows the state: how an approval came, if not at a terminal.
    pub(super) fn suffix(&self) -> &'static str {
        self.decided.map_or("", DecisionChannel::suffix)
    }
}

pub(super) fn run(args: &ListArgs) -> Outcome {
    let options = session::SessionOptions::everywhere(args.origins).waiting(args.wait);
    session::with(args.json, options, async |session| {
        if let (true, Some(label)) = (args.browse, args.server()) {
            return super::browse::run(session, label, args.json).await;
        }
        let only = args.server().map(origin).transpose()?;
        let mut printed = Printed::default();
        let found = match &only {
            // The user sees the other servers' skills while a slow one is waited for.
            None if !args.json => {
                let mut printing = Ok(());
                let part = |found: &Discovered| {
                    if printing.is_ok() {
                        printing = printed.print(session, found);
                    }
                };
                let found = session.discover_in_parts(part).await;
                printing?;
                found
            }
            only => session.discover(only.as_ref()).await?,
        };
        let items = found.registry.items();
        let nothing = items.is_empty() && found.refused.is_empty();
        let exit = match found.incomplete.first() {
            Some(first) if nothing => refusals::exit(first.class()),
            _ => Exit::Ok,
        };
        #[cfg(feature = "add")]
        let installed = match &only {
            None => crate::commands::install::listed::rows(session.settings())?,
            Some(_) => Vec::new(),
        };
        if args.json {
            let rows = items.iter().map(|item| row(session.host(), item)).collect();
            let mut listing = listing(&found, rows);
            #[cfg(feature = "add")]
            listing.installed.extend(installed);
            report::json(&mut io::stdout().lock(), &listing)?;
            return Ok(exit);
        }
        printed.print(session, &found)?;
        printed.print_marks()?;
        #[cfg(feature = "add")]
        crate::commands::install::listed::print(&mut prose::stdout(), &installed)?;
        report_incomplete(&found)?;
        #[cfg(feature = "add")]
        let nothing = nothing && installed.is_empty();
        if nothing && found.incomplete.is_empty() {
            writeln!(
                prose::stderr(),
                "There are no skills; `skillwire add OWNER/REPO` installs some, `skillwire server add` \
                 adds a server."
            )?;
        }
        Ok(exit)
    })
}

/// What was printed already, while a server had not answered yet.
#[derive(Default)]
struct Printed {
    skills: BTreeSet<SkillId>,
    refused: Vec<Refusal>,
    /// Whether a row has a mark that is explained below all of them.
    shares_name: bool,
    first_seen: bool,
}

impl Printed {
    /// Prints what was not printed before.
    fn print(&mut self, session: &Session, found: &Discovered) -> io::Result<()> {
        let items = found.registry.items().iter();
        let late = items.filter(|item| self.skills.insert(item.skill.id().clone()));
        let rows: Vec<_> = late.map(|item| row(session.host(), item)).collect();
        let refused = found.refused.iter().filter(|refusal| !self.refused.contains(refusal));
        print(&mut prose::stdout(), &rows, &found.dialects, refused, terminal::width())?;
        self.refused.clone_from(&found.refused);
        self.shares_name |= rows.iter().any(|row| row.shares_name);
        self.first_seen |= rows.iter().any(|row| row.first_seen);
        Ok(())
    }

    /// Explains the marks of the rows.
    fn print_marks(&self) -> io::Result<()> {
        let mut out = prose::stdout();
        if self.shares_name {
            writeln!(
                out,
                "{WARNING}*{WARNING:#} Several skills have this name: use the whole handle."
            )?;
        }
        if self.first_seen {
            writeln!(
                out,
                "{WARNING}first-seen{WARNING:#} The server does not give digest and size of every file: each is \
                 held to what was seen first."
            )?;
        }
        out.flush()
    }
}

/// Makes the report that is printed as JSON.
pub(super) fn listing<'a>(found: &'a Discovered, skills: Vec<SkillRow<'a>>) -> ListReport<'a> {
    let Discovered { refused, incomplete, warnings, dialects, references, .. } = found;
    let servers = dialects
        .iter()
        .map(|(label, dialect)| ServerRow { label, dialect: *dialect, title: dialect.title() })
        .collect();
    let references = references.iter().map(ToString::to_string).collect();
    let refused = refused.iter().map(remedies::worded).collect();
    let incomplete = incomplete.iter().map(remedies::worded).collect();
    ListReport {
        servers,
        skills,
        refused,
        incomplete,
        warnings,
        references,
        #[cfg(feature = "add")]
        installed: Vec::new(),
    }
}

fn origin(label: &str) -> Result<Origin, Refusal> {
    Origin::parse(label).map_err(|error| {
        Refusal::new(Reason::ServerUnknown)
            .about(label)
            .actual(format!("a label that {error}"))
            .remedy(Remedy::ListServers)
    })
}

pub(super) fn row<'a>(host: &Host, item: &'a RegistryItem) -> SkillRow<'a> {
    let (state, reason) = match host.standing_of_known(&item.skill) {
        Ok(standing) => (standing.word(), None),
        // A decision that cannot be read approves nothing, and does not affect other skills.
        Err(refusal) => ("refused", Some(refusal.reason)),
    };
    let entry = item.skill.entry();
    SkillRow {
        handle: &item.handle,
        name: item.skill.name().as_str(),
        origin: &item.skill.id().origin,
        uri: item.skill.id().uri.as_str(),
        description: entry.frontmatter.description(),
        state,
        decided: host.decided_through(item.skill.id()).filter(|_| state == "approved"),
        signature: item
            .skill
            .certain()
            .ok()
            .map(|listed| host.known_signature(listed))
            .filter(|signature| *signature != SignatureCheck::NotAsked),
        decision: item
            .skill
            .certain()
            .ok()
            .map(|listed| host.known_decision(listed))
            .filter(|decision| *decision != DecisionCheck::NotAsked),
        reason,
        shares_name: item.shares_name,
        dynamic: item.skill.integrity().is_dynamic(),
        dialect: item.skill.id().origin.server().map(|_| item.skill.dialect()),
        first_seen: item.skill.integrity().is_first_seen(),
        metadata: entry.frontmatter.fields().get("metadata"),
    }
}

fn print<'a>(
    out: &mut impl Write,
    rows: &[SkillRow<'_>],
    dialects: &BTreeMap<ServerLabel, Dialect>,
    refused: impl Iterator<Item = &'a Refusal>,
    width: Option<usize>,
) -> io::Result<()> {
    let mut before = None;
    let widest = rows.iter().map(|row| one_line(row.handle).chars().count()).max().unwrap_or(0);
    for row in rows {
        if before != Some(row.origin) {
            let dialect = row.origin.server().and_then(|label| dialects.get(label));
            let dialect = dialect.map_or_else(String::new, |dialect| {
                format!(" ({}, {})", dialect.code(), dialect.title())
            });
            writeln!(out, "{FAINT}from {}{dialect}{FAINT:#}", card::origin(row.origin))?;
            before = Some(row.origin);
        }
        print_row(out, row, widest, width)?;
    }
    for refusal in refused {
        let subject = refusal.subject.as_ref().map(ToString::to_string);
        let skill = one_line(subject.as_deref().unwrap_or("an entry"));
        let code = refusal.reason.code();
        writeln!(out, "  {skill}  {ERROR}refused{ERROR:#} {code}: {}", refusal.reason.meaning())?;
        for (what, text) in [("expected", &refusal.expected), ("actual", &refusal.actual)] {
            if let Some(text) = text {
                writeln!(out, "    {FAINT}{what}:{FAINT:#} {}", one_line(text))?;
            }
        }
        if let Some(hint) = &remedies::worded(refusal).hint {
            writeln!(out, "    {HELP}help:{HELP:#} {}", one_line(hint))?;
        }
    }
    out.flush()
}

fn print_row(
    out: &mut impl Write,
    row: &SkillRow<'_>,
    widest: usize,
    width: Option<usize>,
) -> io::Result<()> {
    let handle = one_line(row.handle);
    let style = match row.state {
        word if word == Standing::New.word() => STRONG,
        "approved" => ADDED,
        "disabled" => FAINT,
        "refused" => ERROR,
        _ => WARNING,
    };
    let mark = if row.shares_name { format!("{WARNING}*{WARNING:#}") } else { " ".to_owned() };
    let reason = row.reason.map_or_else(String::new, |reason| format!(" {}", reason.code()));
    let seen = if row.first_seen { " first-seen" } else { "" };
    let reason = format!("{}{reason}{seen}", row.suffix());
    let state = format!("{style}{}{style:#}", row.state);
    let pad = " ".repeat(STATE.saturating_sub(row.state.len()));
    write!(out, "  {handle:widest$}{mark} {state}{reason}")?;
    let used = 2 + widest + 2 + STATE + reason.len() + 2;
    match width {
        None => writeln!(out, "{pad}  {}", one_line(row.description)),
        Some(width) if width >= used + MIN_DESCRIPTION => {
            let description = one_line_within(row.description, width - used - 1);
            writeln!(out, "{pad}  {description}")
        }
        Some(width) => {
            let room = width.saturating_sub(5).max(1);
            writeln!(out, "\n    {FAINT}{}{FAINT:#}", one_line_within(row.description, room))
        }
    }
}
