//! `skillwire list --browse`: a user picks a skill that no listing mentions.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde_json::{Map, Value, json};
use skillwire_host::{
    context::text::one_line,
    dialect::SkillTemplate,
    label::ServerLabel,
    refusal::{Reason, Refusal},
};

use super::Outcome;
use crate::{
    exit::Exit,
    failure::Failure,
    output::{FAINT, HELP, STRONG},
    refused::argument,
    report,
    session::Session,
};

/// The most values that are shown at once.
const MOST_SHOWN: usize = 20;

/// Shows the templates of a server, and at a terminal lets the user fill one in.
pub(super) async fn run(session: &Session, label: &str, json: bool) -> Outcome {
    let label = ServerLabel::parse(label).map_err(|error| {
        Refusal::new(Reason::ServerUnknown).skill(label).actual(format!("a label that {error}"))
    })?;
    let templates = session.host().templates(&label).await?;
    if json {
        let shown: Vec<_> = templates
            .iter()
            .map(|template| {
                json!({
                    "template": template.template,
                    "name": template.name,
                    "description": template.description,
                    "variables": template.variables().collect::<Vec<_>>(),
                })
            })
            .collect();
        report::json(&mut io::stdout().lock(), &shown)?;
        return Ok(Exit::Ok);
    }
    if templates.is_empty() {
        writeln!(anstream::stderr(), "`{label}` has no templates of skills.")?;
        return Ok(Exit::Ok);
    }
    let mut out = anstream::stdout();
    for (number, template) in templates.iter().enumerate() {
        let description = template.description.as_deref().unwrap_or(&template.name);
        writeln!(
            out,
            "{STRONG}{:>3}{STRONG:#}  {}  {FAINT}{}{FAINT:#}",
            number + 1,
            one_line(&template.template),
            one_line(description)
        )?;
    }
    out.flush()?;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(Exit::Ok);
    }
    let template = match templates.as_slice() {
        [template] => template,
        several => choose(several)?,
    };
    let values = fill(session, &label, template).await?;
    let uri = template.fill(&values)?;
    let handle = argument(&format!("{label}:{uri}"));
    writeln!(anstream::stdout(), "{label}:{uri}")?;
    writeln!(
        anstream::stderr(),
        "{HELP}help:{HELP:#} `skillwire show {handle}` shows it, `skillwire approve {handle}` \
         approves it."
    )?;
    Ok(Exit::Ok)
}

fn choose(templates: &[SkillTemplate]) -> Result<&SkillTemplate, Failure> {
    let typed = ask("Number of the template")?;
    let number = typed.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let chosen = number.and_then(|number| templates.get(number));
    chosen.ok_or_else(|| Failure::usage("There is no template with this number."))
}

/// Asks for one value after the other; what was typed is completed until it is one of the values.
async fn fill(
    session: &Session,
    label: &ServerLabel,
    template: &SkillTemplate,
) -> Result<Map<String, Value>, Failure> {
    let mut filled = Map::new();
    for variable in template.variables() {
        let mut typed = String::new();
        loop {
            let host = session.host();
            let values = host.complete(label, template, variable, &typed, &filled).await?;
            if values.contains(&typed) || (values.is_empty() && !typed.is_empty()) {
                break;
            }
            let shown: Vec<_> =
                values.iter().take(MOST_SHOWN).map(|value| one_line(value)).collect();
            if !shown.is_empty() {
                let more = if values.len() > MOST_SHOWN { ", …" } else { "" };
                writeln!(anstream::stderr(), "  {FAINT}{}{more}{FAINT:#}", shown.join(", "))?;
            }
            ask(variable)?.trim().clone_into(&mut typed);
            if typed.is_empty() {
                return Err(Failure::usage("Nothing was chosen."));
            }
        }
        filled.insert(variable.to_owned(), typed.into());
    }
    Ok(filled)
}

fn ask(what: &str) -> Result<String, Failure> {
    let mut err = anstream::stderr().lock();
    write!(err, "{STRONG}{}{STRONG:#}: ", one_line(what))?;
    err.flush()?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    Ok(typed)
}
