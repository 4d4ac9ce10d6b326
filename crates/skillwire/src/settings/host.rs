//! Where the host keeps its state, and which variables the server processes that it starts get.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_client::{
    CommandEndpoint, Endpoint, HttpServer, Secret, ServerConfig, ServerUrl, StdioServer, expand,
};
use skillwire_host::OriginAddress;
use skillwire_state::{AuditLog, FileCache, FileDialects, FileRecords, Logins, Servers};
use skillwire_trust::{DecisionKeys, Reason, Refusal, Remedy, ServerLabel, SignatureRules};

use super::{
    environment::{cache_folder, environment, home_folder, state_folder, variable},
    user::UserSettings,
};
use crate::{exit::Exit, failure::Failure, regular_file};

/// The largest token file that is read.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

/// Variables that a server process inherits because it may not work without them. None is meant for
/// secrets.
const INHERITED: [&str; 21] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "SHELL",
    "TERM",
    "TZ",
    // Windows.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
];

/// Prefixes of such variables.
const INHERITED_FAMILIES: [&str; 2] = ["LC_", "XDG_"];

/// The folders that the host uses.
pub(crate) struct HostSettings {
    state: PathBuf,
    cache: PathBuf,
    home: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl HostSettings {
    /// Finds the folders.
    pub(crate) fn resolve() -> Result<Self, Failure> {
        let nowhere = || {
            Failure::usage("There is no folder to keep state in: this user has no home.")
                .hint("Set `SKILLWIRE_HOME` to a folder that only you can write to.")
        };
        Ok(Self {
            state: state_folder().ok_or_else(nowhere)?,
            cache: cache_folder().ok_or_else(nowhere)?,
            home: home_folder(),
            project: std::env::current_dir().ok(),
        })
    }

    /// The folder of the user's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.state.clone()
    }

    /// The configured servers.
    pub(crate) fn servers(&self) -> Servers {
        Servers::new(&self.state, "servers.json")
    }

    /// The logins to servers that want one.
    pub(crate) fn logins(&self) -> Logins {
        logins(&self.state)
    }

    /// The user's decisions about skills.
    pub(crate) fn records(&self) -> FileRecords {
        FileRecords::new(self.approvals())
    }

    /// The folder of the user's decisions.
    pub(crate) fn approvals(&self) -> PathBuf {
        self.state.join("approvals")
    }

    /// The audit log.
    pub(crate) fn audit(&self) -> AuditLog {
        AuditLog::new(&self.state)
    }

    /// The stored dialects of servers.
    pub(crate) fn dialects(&self) -> FileDialects {
        FileDialects::new(self.state.join("dialects"))
    }

    /// The user's own settings.
    pub(crate) fn user(&self) -> Result<UserSettings, Failure> {
        UserSettings::read(&self.state)
    }

    /// Forbids approvals without a question from now on.
    #[cfg(feature = "page")]
    pub(crate) fn forbid_unattended_approvals(&self) -> Result<(), Failure> {
        UserSettings::forbid_unattended_approvals(&self.state)
    }

    /// The user's rules about signers; without the file there are none.
    pub(crate) fn signature_rules(&self) -> Result<Option<Arc<dyn SignatureRules>>, Failure> {
        #[cfg(feature = "sign")]
        let rules = super::trust::read(&self.state)?.map(|rules| Arc::new(rules) as _);
        // Rules that this build cannot follow must not be passed over.
        #[cfg(not(feature = "sign"))]
        let rules = {
            if self.state.join("trust.toml").exists() {
                crate::features::Feature::Sign.needed_for("trust.toml")?;
            }
            None
        };
        Ok(rules)
    }

    /// The names of the signers in the user's rules; none without rules.
    #[cfg(feature = "page")]
    #[cfg_attr(
        not(feature = "sign"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there are no rules")
    )]
    pub(crate) fn signer_names(&self) -> Result<Vec<String>, Failure> {
        #[cfg(feature = "sign")]
        return Ok(super::trust::read(&self.state)?.map(|rules| rules.names()).unwrap_or_default());
        #[cfg(not(feature = "sign"))]
        Ok(Vec::new())
    }

    /// The user's rules about signers in a few words, and whether there are any.
    #[cfg(feature = "page")]
    pub(crate) fn signature_rules_in_words(&self) -> Result<(bool, String), Failure> {
        #[cfg(feature = "sign")]
        return Ok(match super::trust::read(&self.state)? {
            Some(rules) => (true, rules.in_words()),
            None => (false, "none".to_owned()),
        });
        #[cfg(not(feature = "sign"))]
        Ok(match self.signature_rules()? {
            Some(_) => (true, "set".to_owned()),
            None => (false, "none".to_owned()),
        })
    }

    /// The keys whose signed decisions count instead of a question, as the user or a lock file wrote
    /// them.
    pub(crate) fn decision_keys(
        written: &BTreeMap<ServerLabel, Vec<String>>,
    ) -> Result<Option<Arc<dyn DecisionKeys>>, Failure> {
        #[cfg(feature = "sign")]
        let keys =
            super::decision_keys::ServerKeys::parse(written)?.map(|keys| Arc::new(keys) as _);
        #[cfg(not(feature = "sign"))]
        let keys = {
            if !written.is_empty() {
                crate::features::Feature::Sign.needed_for("trusted keys of a server")?;
            }
            None
        };
        Ok(keys)
    }

    /// The signers that the user's rules name.
    #[cfg(feature = "sign")]
    pub(crate) fn trusted_signers(&self) -> Result<Vec<skillwire_attest::TrustedSigner>, Failure> {
        Ok(super::trust::read(&self.state)?
            .map_or_else(Vec::new, super::trust::TrustRules::into_signers))
    }

    /// The cache of verified files of servers.
    pub(crate) fn cache(&self) -> Result<FileCache, Failure> {
        FileCache::new(self.cache.join("files")).map_err(|error| {
            Failure::caused(Exit::Usage, error).hint("Set `SKILLWIRE_HOME` to another folder.")
        })
    }

    /// The user's home, for skill folders in it.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The working directory, for skill folders in it.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }
}

fn logins(state: &Path) -> Logins {
    Logins::new(state.join("logins"))
}

/// Makes the address of a configured server; variables, the bearer token and the login are read now.
pub(crate) fn address(
    label: &ServerLabel,
    config: &ServerConfig,
) -> Result<OriginAddress, Refusal> {
    match config {
        ServerConfig::Stdio(server) => command(label, server).map(Into::into),
        ServerConfig::Http(server) => http(label, server).map(Into::into),
        ServerConfig::WellKnown(origin) => Ok(origin.origin().clone().into()),
    }
}

/// The address by which a server is the same to every user, without what may be a secret: the URL before
/// its query, or the program with its arguments.
pub(crate) fn server_address(config: &ServerConfig) -> String {
    match config {
        ServerConfig::Http(server) => {
            let url = server.url().reveal();
            url.split('?').next().unwrap_or(url).to_owned()
        }
        ServerConfig::WellKnown(origin) => origin.url().trim_end_matches('/').to_owned(),
        ServerConfig::Stdio(server) => {
            let words =
                std::iter::once(server.command()).chain(server.args().iter().map(String::as_str));
            // Joining fails only for a NUL, which no argument has.
            shlex::try_join(words).unwrap_or_default()
        }
    }
}

/// Fills in the variables of a configured value.
fn filled_in(label: &ServerLabel, text: &str) -> Result<String, Refusal> {
    expand(text, variable).map_err(|unset| {
        Refusal::new(Reason::VariableUnset)
            .about(label)
            .actual(&unset)
            .remedy(Remedy::SetVariable(unset.name))
    })
}

fn command(label: &ServerLabel, server: &StdioServer) -> Result<Endpoint, Refusal> {
    let args = server.args().iter().map(|arg| filled_in(label, arg));
    let mut command = CommandEndpoint::new(filled_in(label, server.command())?)
        .args(args.collect::<Result<Vec<_>, _>>()?)
        .folder(server.folder().map(Path::to_owned));
    for (name, value) in environment() {
        if is_inherited(&name) && !server.env().contains_key(&name) {
            command = command.inherit(name, value);
        }
    }
    for (name, value) in server.env() {
        command = command.env(name, Secret::new(filled_in(label, value.reveal())?));
    }
    Ok(Endpoint::Command(command))
}

/// Tells whether a server process inherits a variable. Windows ignores the case of names.
fn is_inherited(name: &str) -> bool {
    let name = if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() };
    INHERITED.contains(&name.as_str())
        || INHERITED_FAMILIES.iter().any(|family| name.starts_with(family))
}

fn http(label: &ServerLabel, server: &HttpServer) -> Result<Endpoint, Refusal> {
    let url = filled_in(label, server.url().reveal())?;
    ServerUrl::parse(&url).map_err(|error| {
        Refusal::new(Reason::ServerUnreachable)
            .about(label)
            .expected("a URL once its variables are filled in")
            .actual(error)
    })?;
    let mut headers = Vec::new();
    for (name, value) in server.headers() {
        headers.push((name.clone(), Secret::new(filled_in(label, value.reveal())?)));
    }
    if let Some(file) = server.bearer_token_file() {
        let token = bearer_token(file).map_err(|problem| {
            Refusal::new(Reason::ServerUnreachable)
                .about(label)
                .expected(format!("a bearer token in `{}`", file.display()))
                .actual(format!("a file that {problem}"))
        })?;
        headers.push(("Authorization".to_owned(), Secret::new(format!("Bearer {token}"))));
    }
    #[cfg(feature = "oauth")]
    if let Some(bearer) = login(label, server)? {
        return Ok(Endpoint::LoggedIn { url, headers, bearer });
    }
    Ok(Endpoint::Http { url, headers })
}

/// The login to a server, if there is one and no token is configured.
#[cfg(feature = "oauth")]
fn login(
    label: &ServerLabel,
    server: &HttpServer,
) -> Result<Option<std::sync::Arc<dyn skillwire_client::Bearer>>, Refusal> {
    use skillwire_client::oauth::StoredLogin;
    let Some(state) = state_folder().filter(|_| !server.is_authorized()) else { return Ok(None) };
    let options = crate::session::client_options();
    let found =
        StoredLogin::find(std::sync::Arc::new(logins(&state)), label, server.url(), options);
    let found = found.map_err(|error| {
        Refusal::new(Reason::StateUnusable)
            .about(label)
            .file(error.place)
            .actual(error.problem)
            .hint(format!("`skillwire server login {label}` logs in again."))
    })?;
    Ok(found.map(|login| std::sync::Arc::new(login) as _))
}

/// Reads a token. The error continues a sentence after the file's name, and never repeats its
/// content.
fn bearer_token(file: &Path) -> Result<String, String> {
    let text = regular_file::read(file, MAX_TOKEN_BYTES)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let token = text.trim();
    let usable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(token.to_owned()) } else { Err("does not hold one token".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_server_gets_no_variable_that_may_hold_a_secret() {
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "XDG_RUNTIME_DIR", "TMPDIR", "TERM"] {
            assert!(is_inherited(name), "{name}");
        }
        for name in ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PATHS", "LC", ""] {
            assert!(!is_inherited(name), "{name}");
        }
    }
}
