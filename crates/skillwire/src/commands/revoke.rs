//! `skillwire revoke`: an approval taken back.

use std::io::{self, Write as _};

use serde_json::json;

use super::Outcome;
use crate::{args::HandleArgs, exit::Exit, report, session};

pub(super) fn run(args: &HandleArgs) -> Outcome {
    let options = session::Options::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        // Taking back must work when the server is gone.
        let named = session.find_remembered(&args.handle).await?;
        let existed = session.host().revoke(named.listed.id())?;
        if args.json {
            let revoked = json!({ "handle": named.handle, "was_approved": existed });
            report::json(&mut io::stdout().lock(), &revoked)?;
        } else if existed {
            writeln!(anstream::stdout(), "{} is no longer approved.", named.handle)?;
        } else {
            writeln!(anstream::stdout(), "{} was not approved.", named.handle)?;
        }
        Ok(Exit::Ok)
    })
}
