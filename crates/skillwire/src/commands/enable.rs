//! `skillwire enable` and `skillwire disable`: whether a skill is used at all.

use std::io::{self, Write as _};

use serde_json::json;

use super::Outcome;
use crate::{args::HandleArgs, exit::Exit, report, session};

pub(super) fn run(args: &HandleArgs, enabled: bool) -> Outcome {
    let options = session::Options::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        // Switching off must work when the server is gone.
        let named = if enabled {
            session.find(&args.handle).await?
        } else {
            session.find_remembered(&args.handle).await?
        };
        session.host().set_enabled(named.listed.id(), enabled)?;
        if args.json {
            let switched = json!({ "handle": named.handle, "enabled": enabled });
            report::json(&mut io::stdout().lock(), &switched)?;
        } else {
            let word = if enabled { "enabled" } else { "disabled" };
            writeln!(anstream::stdout(), "{} is {word}.", named.handle)?;
        }
        Ok(Exit::Ok)
    })
}
