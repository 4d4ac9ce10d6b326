//! `skillwire server remove`: a server and everything that came from it.

use std::io::Write as _;

use serde_json::json;
use skillwire_trust::{Reason, Refusal};

use super::{Outcome, label, unusable};
use crate::{args::ServerRemoveArgs, exit::Exit, report, session};

pub(super) fn run(args: &ServerRemoveArgs) -> Outcome {
    let label = label(&args.label)?;
    let options = session::Options { offline: true, ..session::Options::default() };
    session::with(args.json, options, async |session| {
        // Files and decisions go first: a label that is free again must not bring them back.
        let removed = session.host().remove_server(&label)?;
        let logged_in = session.settings().logins().remove(&label).map_err(unusable)?;
        let configured = session.settings().servers().remove(&label).map_err(unusable)?;
        if !configured && !logged_in && removed.files == 0 && removed.records == 0 {
            return Err(Refusal::new(Reason::ServerUnknown)
                .skill(&label)
                .hint("`skillwire server list` shows the labels.")
                .into());
        }
        if args.json {
            let removed = json!({
                "label": label, "configured": configured, "login": logged_in,
                "files": removed.files, "decisions": removed.records,
            });
            report::json(&mut std::io::stdout().lock(), &removed)?;
            return Ok(Exit::Ok);
        }
        let counted = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            many => format!("{many} {one}s"),
        };
        writeln!(
            anstream::stdout(),
            "Removed the server `{label}`, {}{} and {} about its skills.",
            if logged_in { "its login, " } else { "" },
            counted(removed.files, "cached file"),
            counted(removed.records, "decision"),
        )?;
        Ok(Exit::Ok)
    })
}
