//! `skillwire server set`: changes how a server is reached, and keeps every decision about its skills.

use std::io::Write as _;

use skillwire_client::ServerConfig;
use skillwire_trust::{Origin, RecordStore as _, ServerLabel};

use super::{Outcome, config, is_decided, label, trial, unknown, unusable};
use crate::{
    args::ServerSetArgs,
    exit::Exit,
    failure::Failure,
    output::{NOTE, WARNING, counted},
    prose,
    refusals::RefusalText,
    report::printable,
    session::{self, SessionOptions},
    settings::HostSettings,
};

pub(super) fn run(args: &ServerSetArgs) -> Outcome {
    let label = label(&args.label)?;
    let settings = HostSettings::resolve()?;
    let servers = settings.servers();
    let configured = servers.load().map_err(unusable)?;
    let Some(current) = configured.servers.get(&label) else {
        return Err(unknown(&label, configured.servers.keys()).into());
    };
    if !args.changes_anything() {
        return Err(Failure::usage("There is nothing to change.").hint(format!(
            "Give a URL, a program after `--`, `--header`, `--bearer-token-file` or `--env`; \
             `skillwire server set --help` says more. `skillwire server list` shows `{label}`."
        )));
    }
    let changed = config::changed(current, args)?;
    servers.set(&label, &changed).map_err(unusable)?;
    let decisions = decisions(&settings, &label);
    let reached = printable(&changed.to_string());
    note_credentials(current, &changed)?;
    if args.no_connect {
        writeln!(prose::stdout(), "`{label}` is now {reached}. {decisions}")?;
        return Ok(Exit::Ok);
    }
    session::with(false, SessionOptions::default(), async |session| {
        match trial::connect(session, &label).await {
            Ok(found) => {
                let found = trial::summary(&found, &changed);
                writeln!(prose::stdout(), "`{label}` is now {reached}: {found}. {decisions}")?;
                Ok(Exit::Ok)
            }
            Err(refusal) if args.must_connect => {
                servers.set(&label, current).map_err(unusable)?;
                Err(trial::advice(refusal, &label, &changed).into())
            }
            Err(refusal) => {
                let refusal = trial::advice(refusal, &label, &changed);
                writeln!(prose::stdout(), "`{label}` is now {reached}. {decisions}")?;
                let mut err = prose::stderr();
                writeln!(err, "{}", RefusalText(&refusal))?;
                writeln!(
                    err,
                    "{WARNING}warning{WARNING:#}: `{label}` does not answer like this. `skillwire list \
                     --server {label}` tries it again."
                )?;
                Ok(Exit::Ok)
            }
        }
    })
}

/// Says what stays.
fn decisions(settings: &HostSettings, label: &ServerLabel) -> String {
    let (records, _) = settings.records().of_origin(&Origin::Server(label.clone()));
    match records.iter().filter(|record| is_decided(record)).count() {
        0 => "There are no decisions about its skills yet.".to_owned(),
        1 => "Your decision about a skill of it stays: it is bound to the content.".to_owned(),
        many => format!(
            "Your {} about its skills stay: each is bound to the content.",
            counted(many, "decision")
        ),
    }
}

/// Tells the user that another server now gets the headers and the token of the earlier one.
fn note_credentials(before: &ServerConfig, after: &ServerConfig) -> std::io::Result<()> {
    let (ServerConfig::Http(before), ServerConfig::Http(after)) = (before, after) else {
        return Ok(());
    };
    let host = |url: &str| url.split('/').nth(2).unwrap_or_default().to_owned();
    let [from, to] = [before, after].map(|server| host(server.url().reveal()));
    let kept = after.headers().keys().filter(|name| before.headers().contains_key(*name)).count();
    let token = after.bearer_token_file().is_some()
        && after.bearer_token_file() == before.bearer_token_file();
    let what = match (kept, token) {
        _ if from == to => return Ok(()),
        (0, false) => return Ok(()),
        (0, true) => "the token".to_owned(),
        (some, false) => format!("the {}", counted(some, "header")),
        (some, true) => format!("the token and the {}", counted(some, "header")),
    };
    writeln!(
        prose::stderr(),
        "{NOTE}note{NOTE:#}: `{}` now gets {what} of `{}`; `--remove-header NAME` and \
         `--no-bearer-token-file` take them out.",
        printable(&to),
        printable(&from)
    )
}
