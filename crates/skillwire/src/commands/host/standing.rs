//! `skillwire enable`, `disable` and `revoke`: change whether a skill may be used.

use std::io::{self, Write as _};

use serde_json::json;

use super::Outcome;
use crate::{args::HandleArgs, exit::Exit, prose, report, session};

/// Enables or disables a skill.
pub(super) fn set_enabled(args: &HandleArgs, enabled: bool) -> Outcome {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        // Disabling must work while the server cannot be reached.
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
            writeln!(prose::stdout(), "{} is {word}.", named.handle)?;
        }
        Ok(Exit::Ok)
    })
}

/// Withdraws an approval.
pub(super) fn revoke(args: &HandleArgs) -> Outcome {
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        // Revoking must work while the server cannot be reached.
        let named = session.find_remembered(&args.handle).await?;
        let existed = session.host().revoke(named.listed.id())?;
        if args.json {
            let revoked = json!({ "handle": named.handle, "was_approved": existed });
            report::json(&mut io::stdout().lock(), &revoked)?;
        } else if existed {
            writeln!(prose::stdout(), "{} is no longer approved.", named.handle)?;
        } else {
            writeln!(prose::stdout(), "{} was not approved.", named.handle)?;
        }
        Ok(Exit::Ok)
    })
}
