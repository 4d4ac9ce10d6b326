//! `skillwire server remove`: forgets a server, after asking if decisions would be lost.

use std::io::Write as _;

use serde_json::json;
use skillwire_trust::{Origin, RecordStore as _, ServerLabel};

use super::{Outcome, is_decided, label, unknown, unusable};
use crate::{
    args::ServerRemoveArgs, exit::Exit, failure::Failure, output::counted, prose, report, session,
    settings::HostSettings, terminal,
};

/// Removes a server and everything that came from it.
pub(super) fn run(args: &ServerRemoveArgs) -> Outcome {
    let label = label(&args.label)?;
    let options = session::SessionOptions { offline: true, ..session::SessionOptions::default() };
    session::with(args.json, options, async |session| {
        if !args.yes {
            confirm_removal(session.settings(), &label)?;
        }
        // The configuration goes last. If the process dies in between, the label is still taken,
        // and the command can be repeated. In the other order, a new server under the same label
        // would inherit the approvals and cached files of the old one.
        let removed = session.host().remove_server(&label)?;
        let logged_in = session.settings().logins().remove(&label).map_err(unusable)?;
        let configured = session.settings().servers().remove(&label).map_err(unusable)?;
        if !configured && !logged_in && removed.files == 0 && removed.records == 0 {
            return Err(unknown(&label, session.host().servers().iter()).into());
        }
        if args.json {
            let removed = json!({
                "label": label, "configured": configured, "login": logged_in,
                "files": removed.files, "decisions": removed.records,
            });
            report::json(&mut std::io::stdout().lock(), &removed)?;
            return Ok(Exit::Ok);
        }
        writeln!(
            prose::stdout(),
            "Removed the server `{label}`, {}{} and {} about its skills.",
            if logged_in { "its login, " } else { "" },
            counted(removed.files, "cached file"),
            counted(removed.records, "decision"),
        )?;
        Ok(Exit::Ok)
    })
}

/// Asks before decisions about the server's skills are deleted with it.
fn confirm_removal(settings: &HostSettings, label: &ServerLabel) -> Result<(), Failure> {
    let (records, _) = settings.records().of_origin(&Origin::Server(label.clone()));
    let decisions = records.iter().filter(|record| is_decided(record)).count();
    if decisions == 0 {
        return Ok(());
    }
    let decisions = counted(decisions, "decision");
    let question = format!("Remove the server `{label}` and {decisions} about its skills?");
    match terminal::agrees(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new(Exit::Declined, "Nothing was removed.")),
        None => Err(Failure::usage(format!(
            "The server `{label}` has {decisions} about its skills, which would be deleted with it."
        ))
        .hint("Run this command in a terminal and decide there.")),
    }
}
