//! The settings of `bridge`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use skillwire_gateway::{ApprovalCommand, BridgeOptions, WantedApproval};
use skillwire_server::http::AccessRules;

use super::{environment::own_home, http::host_of, serve::read_file};
use crate::{
    args::{BridgeArgs, HttpAddress},
    exit::Exit,
    failure::Failure,
    refusals, remedies,
};

/// How clients reach the bridge.
pub(crate) enum BridgeTransport {
    Stdio,
    Http { address: SocketAddr, access: AccessRules, token: String },
}

/// Resolves how clients reach the bridge. HTTP needs a loopback address and a token, since the
/// bridge acts for one user.
pub(crate) fn transport(args: &BridgeArgs) -> Result<BridgeTransport, Failure> {
    let (Some(HttpAddress(address)), Some(file)) = (args.http, &args.token_file) else {
        return Ok(BridgeTransport::Stdio);
    };
    if !address.ip().is_loopback() {
        let text = format!(
            "{address} can be reached from other machines, and a bridge acts with one user's \
             approvals."
        );
        return Err(Failure::new(Exit::Declined, text).hint("Listen on 127.0.0.1 or [::1]."));
    }
    let text = read_file(file, "--token-file")?;
    let token = text.trim();
    if token.len() < MIN_TOKEN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = format!(
            "`--token-file {}` does not hold one token of at least {MIN_TOKEN_CHARS} characters.",
            file.display()
        );
        return Err(
            Failure::usage(text).hint("Write a long random word into it, and nothing else.")
        );
    }
    let access = AccessRules::default().hosts([host_of(address)]);
    Ok(BridgeTransport::Http { address, access, token: token.to_owned() })
}

/// The shortest token that is accepted.
const MIN_TOKEN_CHARS: usize = 16;

/// The options of the bridge itself.
pub(crate) fn options(args: &BridgeArgs) -> BridgeOptions {
    BridgeOptions::default()
        .max_handles(args.handles)
        .catalogue_budget(args.budget)
        .approval_command(ApproveInTerminal { home: own_home().map(PathBuf::from) })
        .asks_user(args.lock.is_none())
        .reads_folders(true)
}

/// Words `skillwire approve` for the user's terminal.
#[derive(Debug)]
struct ApproveInTerminal {
    /// The value of `SKILLWIRE_HOME`. The client may have set it, and the user's terminal may lack
    /// it, so the command names it.
    home: Option<PathBuf>,
}

impl ApprovalCommand for ApproveInTerminal {
    fn approve(&self, skill: &str, wanted: WantedApproval<'_>) -> String {
        let skill = refusals::argument(skill);
        let command = match wanted {
            WantedApproval::Run(grants) => remedies::approve_command(&skill, Some(grants)),
            WantedApproval::RemoteRun => remedies::remote_execution_command(&skill),
            _ => remedies::approve_command(&skill, None),
        };
        match &self.home {
            None => command,
            Some(home) => {
                let home = std::path::absolute(home).unwrap_or_else(|_| home.clone());
                format!(
                    "SKILLWIRE_HOME={} {command}",
                    refusals::argument(&home.display().to_string())
                )
            }
        }
    }
}

/// Resolves symbolic links in a path; a path that does not exist stays as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
