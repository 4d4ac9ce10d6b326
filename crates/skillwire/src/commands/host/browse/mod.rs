//! `skillwire list --browse`: a user picks a skill that no listing mentions.

mod picker;

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::json;
use skillwire_core::visible::one_line;
use skillwire_trust::{Reason, Refusal, ServerLabel};

use self::picker::{CompletionRequest, TemplatePicker};
use super::Outcome;
use crate::{
    exit::Exit,
    output::{FAINT, HELP, STRONG},
    prose,
    refusals::argument,
    report,
    session::Session,
};

/// Shows the templates of a server, and at a terminal lets the user fill one in.
pub(super) async fn run(session: &Session, label: &str, json: bool) -> Outcome {
    let label = ServerLabel::parse(label).map_err(|error| {
        Refusal::new(Reason::ServerUnknown).about(label).actual(format!("a label that {error}"))
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
        writeln!(prose::stderr(), "`{label}` has no templates of skills.")?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
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
    let mut picker = TemplatePicker::new(io::stdin().lock(), prose::stderr());
    let template = picker.choose(&templates)?;
    let complete = async |asked: CompletionRequest<'_>| {
        let CompletionRequest { variable, typed, filled } = asked;
        Ok(session.host().complete(&label, template, variable, typed, filled).await?)
    };
    let values = picker.fill(template, complete).await?;
    let uri = skillwire_host::fill_template(template, &values)?;
    let handle = argument(&format!("{label}:{uri}"));
    writeln!(prose::stdout(), "{label}:{uri}")?;
    writeln!(
        prose::stderr(),
        "{HELP}help:{HELP:#} `skillwire show {handle}` shows it, `skillwire approve {handle}` \
         approves it."
    )?;
    Ok(Exit::Ok)
}
