//! `skillwire server add`: configures a server, connects to it and says what it found.

use std::io::Write;

#[cfg(feature = "setup")]
use skillwire_trust::ServerLabel;

use super::{Outcome, config, label, trial, trust, unusable};
use crate::{
    args::ServerAddArgs,
    exit::Exit,
    failure::Failure,
    output::WARNING,
    prose,
    refusals::RefusalText,
    session::{self, SessionOptions},
    settings::HostSettings,
};

/// The label under which a server is configured as `args` would configure it.
#[cfg(feature = "setup")]
pub(in crate::commands::host) fn configured_as(
    args: &ServerAddArgs,
) -> Result<Option<ServerLabel>, Failure> {
    let wanted = config::new(args)?;
    let configured = HostSettings::resolve()?.servers().load().map_err(unusable)?;
    let same = configured.servers.into_iter().find(|(_, config)| *config == wanted);
    Ok(same.map(|(label, _)| label))
}

/// Configures the server and says to `out` what it is.
pub(in crate::commands::host) fn add(args: &ServerAddArgs, out: &mut impl Write) -> Outcome {
    let label = label(&args.label)?;
    let config = config::new(args)?;
    let keys = trust::read_keys(&args.trust_key)?;
    let servers = HostSettings::resolve()?.servers();
    if !servers.add(&label, &config).map_err(unusable)? {
        return Err(Failure::usage(format!("There is a server `{label}` already.")).hint(format!(
            "`skillwire server set {label}` changes how it is reached and keeps your decisions about its \
             skills. For another server, choose another label."
        )));
    }
    if args.legacy_discovery {
        servers.set_legacy(&label, true).map_err(unusable)?;
    }
    if !keys.is_empty() {
        servers.set_trust_keys(&label, &keys).map_err(unusable)?;
    }
    if args.no_connect {
        writeln!(out, "Added the server `{label}`, and did not connect to it.")?;
        writeln!(prose::stderr(), "`skillwire list --server {label}` shows its skills.")?;
        return Ok(Exit::Ok);
    }
    session::with(false, SessionOptions::default(), async |session| {
        match (trial::connect(session, &label).await, args.must_connect) {
            (Ok(found), _) => {
                let found = trial::summary(&found, &config);
                writeln!(out, "Added the server `{label}`: {found}.")?;
                let mut err = prose::stderr();
                writeln!(
                    err,
                    "`skillwire list --server {label}` shows its skills, `skillwire approve '{label}:*'` \
                     approves what it lists now."
                )?;
                Ok(Exit::Ok)
            }
            (Err(refusal), true) => {
                servers.remove(&label).map_err(unusable)?;
                Err(trial::advice(refusal, &label, &config).into())
            }
            (Err(refusal), false) => {
                let refusal = trial::advice(refusal, &label, &config);
                writeln!(out, "Added the server `{label}`.")?;
                let mut err = prose::stderr();
                writeln!(err, "{}", RefusalText(&refusal))?;
                writeln!(
                    err,
                    "{WARNING}warning{WARNING:#}: `{label}` is kept all the same. `skillwire list \
                     --server {label}` tries it again, `skillwire server set {label}` changes it, `skillwire server remove \
                     {label}` removes it."
                )?;
                Ok(Exit::Ok)
            }
        }
    })
}
