//! Where the skills of an upstream come from.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The longest address, command or argument, in bytes.
const MAX_TEXT_BYTES: usize = 2_000;

/// The most headers, arguments and variables together.
const MAX_TEXTS: usize = 100;

/// Headers whose values are credentials.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];

/// Where the skills of an upstream come from.
///
/// Texts may hold variables such as `${DOCS_TOKEN}`, which each replica fills in from its own environment,
/// so that no credential is kept in the hub's database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum UpstreamSource {
    /// An MCP server at a URL.
    Mcp {
        /// Its endpoint.
        url: String,
        /// Headers of every request. No header of a client is ever passed on.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Whether all its resources are searched for skills of older dialects.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        older: bool,
    },
    /// An MCP server that each replica starts.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// Variables of its environment.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Whether all its resources are searched for skills of older dialects.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        older: bool,
    },
    /// A git repository at a ref.
    Git {
        /// Its address.
        url: String,
        /// The branch, tag or commit; without one, the branch that the repository shows first.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// A folder on the machine of the hub; every replica needs the same one.
    Folder {
        /// Its path.
        path: String,
    },
    /// A web site that publishes skills below `/.well-known/`.
    WellKnown {
        /// The origin, such as `https://example.com`.
        url: String,
    },
}

impl UpstreamSource {
    /// An MCP server at a URL, without headers.
    pub fn mcp(url: impl Into<String>) -> Self {
        Self::Mcp { url: url.into(), headers: BTreeMap::new(), older: false }
    }

    /// Returns the word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mcp { .. } => "mcp",
            Self::Command { .. } => "command",
            Self::Git { .. } => "git",
            Self::Folder { .. } => "folder",
            Self::WellKnown { .. } => "well-known",
        }
    }

    /// Whether the source runs a program or reads files of the hub's machine, which only its operator may
    /// decide.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Command { .. } | Self::Folder { .. } => true,
            // `git` takes paths and helpers that run programs besides addresses.
            Self::Git { url, .. } => {
                !has_scheme(url, &["http", "https", "ssh", "git"]) && !is_ssh_place(url)
            }
            Self::Mcp { .. } | Self::WellKnown { .. } => false,
        }
    }

    /// Whether the source is an MCP server, which may have tools and prompts.
    pub fn has_tools(&self) -> bool {
        matches!(self, Self::Mcp { .. } | Self::Command { .. })
    }

    /// Refuses texts that are too long or hold control characters, and credentials.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let texts = self.texts();
        let bad = |text: &&str| text.len() > MAX_TEXT_BYTES || text.contains(char::is_control);
        if texts.len() > MAX_TEXTS || texts.iter().any(bad) {
            let limit = MAX_TEXT_BYTES;
            return Err(Refusal::BadText { what: "texts of the upstream", limit });
        }
        let refuse = |reason: &str| Err(Refusal::BadUpstream(reason.to_owned()));
        match self {
            Self::Mcp { url, headers, .. } => {
                if !has_scheme(url, &["http", "https"]) {
                    return refuse(
                        "the address of an MCP server begins with `https://` or `http://`",
                    );
                }
                let is_credential =
                    |name: &str| CREDENTIALS.iter().any(|known| name.eq_ignore_ascii_case(known));
                let literal = |(name, value): (&String, &String)| {
                    is_credential(name) && !value.contains("${")
                };
                if headers.iter().any(literal) {
                    return refuse(
                        "a header with a credential names a variable, as in `Bearer ${TOKEN}`",
                    );
                }
            }
            Self::Command { command, .. } if command.trim().is_empty() => {
                return refuse("the command is empty");
            }
            Self::Folder { path } if !path.starts_with('/') => {
                return refuse("the path of a folder is absolute");
            }
            Self::WellKnown { url } if !has_scheme(url, &["http", "https"]) => {
                return refuse("a web origin begins with `https://` or `http://`");
            }
            Self::Git { url, .. } if url.is_empty() || url.starts_with('-') => {
                return refuse("the address of the repository is empty or begins with `-`");
            }
            _ => {}
        }
        Ok(())
    }

    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Mcp { url, headers, .. } => pairs(headers).chain([url.as_str()]).collect(),
            Self::Command { command, args, env, .. } => pairs(env)
                .chain(args.iter().map(String::as_str))
                .chain([command.as_str()])
                .collect(),
            Self::Git { url, reference } => {
                reference.as_deref().into_iter().chain([url.as_str()]).collect()
            }
            Self::Folder { path: text } | Self::WellKnown { url: text } => vec![text],
        }
    }
}

fn pairs(map: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    map.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()])
}

/// Whether an address is `USER@HOST:PATH`, which `git` reaches by SSH.
fn is_ssh_place(url: &str) -> bool {
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let parts = url.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| plain(user) && plain(host) && !path.starts_with(':'))
}

fn has_scheme(url: &str, schemes: &[&str]) -> bool {
    url.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

/// Shows the source without headers, arguments and variables, which may hold secrets.
impl fmt::Display for UpstreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mcp { url, .. } | Self::Git { url, reference: None } => f.write_str(url),
            Self::Git { url, reference: Some(reference) } => write!(f, "{url}@{reference}"),
            Self::Command { command, .. } => f.write_str(command),
            Self::Folder { path } => f.write_str(path),
            Self::WellKnown { url } => write!(f, "{url} (well-known)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_a_variable_and_never_a_text_gw_19() {
        let with = |value: &str| UpstreamSource::Mcp {
            url: "https://docs.example/mcp".into(),
            headers: BTreeMap::from([("Authorization".into(), value.into())]),
            older: false,
        };
        assert!(with("Bearer ${DOCS_TOKEN}").check().is_ok());
        assert!(with("Bearer abc").check().is_err());
        assert!(!with("Bearer ${DOCS_TOKEN}").to_string().contains("DOCS"));
    }

    #[test]
    fn addresses_of_another_kind_are_refused() {
        for bad in ["", "docs.example", "ftp://docs.example", "https://", "https://a\u{1b}b/mcp"] {
            assert!(UpstreamSource::mcp(bad).check().is_err(), "{bad}");
        }
        assert!(UpstreamSource::Folder { path: "skills".into() }.check().is_err());
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        assert!(UpstreamSource::Git { url: long, reference: None }.check().is_err());
    }

    #[test]
    fn sources_that_touch_the_hubs_machine_are_known() {
        let git = |url: &str| UpstreamSource::Git { url: url.into(), reference: None };
        assert!(git("file:///srv/skills").is_local());
        for local in ["/srv/skills", "skills", "FILE:///srv", "ext::sh -c id", "a@b::x"] {
            assert!(git(local).is_local(), "{local}");
        }
        assert!(!git("git@git.example:acme/skills.git").is_local());
        assert!(!git("https://example.com/skills.git").is_local());
        assert!(UpstreamSource::Folder { path: "/srv".into() }.is_local());
        assert!(!UpstreamSource::mcp("https://docs.example/mcp").is_local());
    }
}
