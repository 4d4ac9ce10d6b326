//! `skillwire server logout`: forgets a login.

use std::io::Write as _;

use skillwire_trust::{Reason, Refusal};

use super::{Outcome, label, unusable};
use crate::{args::ServerLogoutArgs, exit::Exit, settings::HostSettings};

pub(super) fn run(args: &ServerLogoutArgs) -> Outcome {
    let label = label(&args.label)?;
    let settings = HostSettings::resolve()?;
    if settings.logins().remove(&label).map_err(unusable)? {
        writeln!(anstream::stdout(), "Forgot the login to `{label}`.")?;
        return Ok(Exit::Ok);
    }
    if !settings.servers().load().map_err(unusable)?.servers.contains_key(&label) {
        return Err(Refusal::new(Reason::ServerUnknown)
            .skill(&label)
            .hint("`skillwire server list` shows the labels.")
            .into());
    }
    writeln!(anstream::stderr(), "There is no login to `{label}`.")?;
    Ok(Exit::Ok)
}
