//! The settings of `bridge`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use skillwire_gateway::{BridgeOptions, shell};
use skillwire_host::local::folders;
use skillwire_server::http::AccessRules;

use super::{HostSettings, environment::own_home, http::host_of, serve::read_file};
use crate::{
    args::{BridgeArgs, HttpAddress},
    exit::Exit,
    failure::Failure,
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
    // The client may have set `SKILLWIRE_HOME`, which the user's terminal lacks, so the command
    // names it.
    let home = own_home().map(|home| {
        let home = std::path::absolute(&home).unwrap_or_else(|_| PathBuf::from(&home));
        format!("SKILLWIRE_HOME={} ", shell::word(&home.display().to_string()))
    });
    BridgeOptions::default()
        .max_handles(args.handles)
        .catalogue_budget(args.budget)
        .approve_command(format!("{}skillwire approve", home.unwrap_or_default()))
        .asks_user(args.lock.is_none())
        .reads_folders(true)
}

/// The folders of local skills, without symbolic links.
pub(crate) fn skill_folders(settings: &HostSettings, trust_project: bool) -> Vec<PathBuf> {
    let project = settings.project().filter(|_| trust_project);
    folders(settings.home(), project).iter().map(|folder| real(folder)).collect()
}

/// Resolves symbolic links in a path; a path that does not exist stays as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
