//! `skillwire server allow-legacy`: the user's word for looking through a server's resources.

use std::io::Write as _;

use skillwire_trust::{Reason, Refusal};

use super::{Outcome, label, unusable};
use crate::{args::ServerAllowLegacyArgs, exit::Exit, settings::HostSettings};

pub(super) fn run(args: &ServerAllowLegacyArgs) -> Outcome {
    let label = label(&args.label)?;
    let servers = HostSettings::resolve()?.servers();
    if !servers.set_legacy(&label, !args.off).map_err(unusable)? {
        return Err(Refusal::new(Reason::ServerUnknown)
            .skill(&label)
            .hint("`skillwire server list` shows the labels.")
            .into());
    }
    let mut out = anstream::stdout();
    if args.off {
        writeln!(out, "Only what `{label}` declares is asked for.")?;
    } else {
        writeln!(out, "The resources of `{label}` are looked through for skills.")?;
    }
    Ok(Exit::Ok)
}
