//! `skillwire server trust`: keys whose signed decisions count instead of a question.

use std::io::Write as _;

use super::{Outcome, label, not_configured, unusable};
use crate::{
    args::ServerTrustArgs, exit::Exit, failure::Failure, output::counted, prose,
    settings::HostSettings,
};

pub(super) fn run(args: &ServerTrustArgs) -> Outcome {
    let label = label(&args.label)?;
    let keys = read_keys(&args.keys)?;
    let servers = HostSettings::resolve()?.servers();
    if !servers.set_trust_keys(&label, &keys).map_err(unusable)? {
        return Err(not_configured(&servers, &label));
    }
    let mut out = prose::stdout();
    if keys.is_empty() {
        writeln!(out, "You are asked about every skill of `{label}`.")?;
    } else {
        let keys = counted(keys.len(), "key");
        writeln!(out, "Decisions of `{label}` signed with {keys} count instead of a question.")?;
    }
    Ok(Exit::Ok)
}

/// Reads public keys from files, or as they were typed, and returns each as one text.
///
/// The keys are kept, and not the names of their files: a file that changes later must not change
/// what is trusted.
pub(super) fn read_keys(keys: &[String]) -> Result<Vec<String>, Failure> {
    #[cfg(feature = "sign")]
    {
        let read = |key: &String| crate::signatures::public_key(key).map(|key| key.to_line());
        keys.iter().map(read).collect()
    }
    #[cfg(not(feature = "sign"))]
    {
        if !keys.is_empty() {
            crate::features::Feature::Sign.needed_for("--trust-key")?;
        }
        Ok(Vec::new())
    }
}
