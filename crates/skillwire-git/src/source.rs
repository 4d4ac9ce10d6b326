//! Addresses of repositories, refs and commits, as `git` may be given them.

use std::fmt;

/// The reason why a text cannot be given to `git`; it continues "the address" or "the ref".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidGitSource(&'static str);

/// The address of a repository: a URL, or `user@host:path` for SSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl {
    text: String,
    protocol: &'static str,
}

impl GitUrl {
    /// Parses an address of a protocol that `git` itself speaks.
    ///
    /// Trust boundary: `git` takes texts such as `ext::COMMAND` for programs to start, and texts that
    /// begin with a hyphen for options, so neither is an address. A password in an address would end
    /// up in messages and logs.
    pub fn parse(text: &str) -> Result<Self, InvalidGitSource> {
        if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
            return Err(InvalidGitSource("is empty, begins with `-` or holds a control character"));
        }
        let Some((scheme, rest)) = text.split_once("://") else { return Self::parse_scp(text) };
        let protocols = ["https", "http", "ssh", "file"];
        let protocol = protocols.into_iter().find(|known| scheme.eq_ignore_ascii_case(known));
        let protocol = protocol.ok_or(InvalidGitSource("has an unknown protocol"))?;
        let authority = rest.split('/').next().unwrap_or_default();
        match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => {
                return Err(InvalidGitSource("holds a password; leave it to git's credentials"));
            }
            Some(_) if protocol != "ssh" => return Err(InvalidGitSource("holds a user name")),
            _ => {}
        }
        let host = authority.rsplit('@').next().unwrap_or_default();
        if protocol == "file" && (!host.is_empty() || rest.len() < 2) {
            return Err(InvalidGitSource("must be `file:///` and a path"));
        }
        if protocol != "file" && (host.is_empty() || host.starts_with('-')) {
            return Err(InvalidGitSource("has no host"));
        }
        Ok(Self { text: text.to_owned(), protocol })
    }

    /// Parses the short form of SSH, such as `git@example.com:acme/skills.git`.
    fn parse_scp(text: &str) -> Result<Self, InvalidGitSource> {
        let unknown = InvalidGitSource("is neither a URL nor `user@host:path`");
        let (place, path) = text.split_once(':').ok_or(unknown)?;
        let (user, host) = place.split_once('@').ok_or(unknown)?;
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('-')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        if plain(user) && plain(host) && !path.is_empty() && !path.starts_with([':', '-']) {
            Ok(Self { text: text.to_owned(), protocol: "ssh" })
        } else {
            Err(unknown)
        }
    }

    /// Returns the protocol, in lower case.
    pub fn protocol(&self) -> &'static str {
        self.protocol
    }

    /// Returns the address as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A branch, a tag or a commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRef(String);

impl GitRef {
    /// Returns the branch that the repository shows first.
    pub fn head() -> Self {
        Self("HEAD".to_owned())
    }

    /// Parses the name of a branch or tag, or a whole commit id.
    pub fn parse(text: &str) -> Result<Self, InvalidGitSource> {
        let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
        if text.is_empty() || text.len() > 255 {
            return Err(InvalidGitSource("is empty or longer than 255 bytes"));
        }
        if text.starts_with(['-', '/', '+']) || text.ends_with(['/', '.']) {
            return Err(InvalidGitSource("begins or ends with a character that no ref may"));
        }
        if text.contains("..") || text.contains("@{") || text.contains("//") {
            return Err(InvalidGitSource("holds `..`, `//` or `@{`"));
        }
        if text.chars().any(forbidden) {
            return Err(InvalidGitSource("holds a space or one of `~^:?*[\\`"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the ref as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a commit, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// Parses a whole id, of SHA-1 or SHA-256.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (matches!(text.len(), 40 | 64) && is_hex).then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_known_protocols_are_taken() {
        for (text, protocol) in [
            ("https://example.com/a.git", "https"),
            ("HTTPS://example.com/a", "https"),
            ("http://127.0.0.1:80/a", "http"),
            ("ssh://git@example.com:22/a", "ssh"),
            ("git@example.com:acme/a.git", "ssh"),
            ("file:///srv/a", "file"),
        ] {
            assert_eq!(GitUrl::parse(text).unwrap().protocol(), protocol, "{text}");
        }
    }

    #[test]
    fn texts_that_git_would_run_or_take_for_options_are_refused() {
        for text in [
            "",
            "-u",
            "--upload-pack=x",
            "ext::sh -c x",
            "fd::7",
            "git://example.com/a",
            "https://",
            "https://-oProxyCommand=x/a",
            "ssh://-oProxyCommand=x/a",
            "ssh://git@-oProxyCommand=x/a",
            "-oProxyCommand=x@host:path",
            "git@-oProxyCommand=x:path",
            "https://user:secret@example.com/a",
            "https://user@example.com/a",
            "file://host/a",
            "./relative",
            "https://example.com/a\n",
        ] {
            assert!(GitUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refs_are_names_and_no_expressions() {
        for good in ["main", "v1.2.0", "release/1.x", "refs/tags/v1", &"a".repeat(40)] {
            assert!(GitRef::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a..b", "a b", "HEAD~1", "main:path", "a@{1}", "/a", "a/", "+a"] {
            assert!(GitRef::parse(bad).is_err(), "{bad}");
        }
    }
}
