//! Names of tools and prompts as clients of the gateway see them.

use skillwire_core::Digest;
use skillwire_trust::ServerLabel;

/// The longest name that common clients accept.
const MAX_NAME: usize = 64;

/// The longest label that is written as it is.
const MAX_LABEL: usize = 24;

/// The separator between the label and the server's own name.
const SEPARATOR: &str = "__";

/// The digits of a digest in a name that cannot be written as it is.
const DIGITS: usize = 16;

/// Decides under which names the tools and prompts of a server are passed on.
///
/// Where several servers share a mount, `read_pdf` of the server `docs` becomes `docs__read_pdf`.
/// Common clients accept 64 of `A-Z`, `a-z`, `0-9`, `_` and `-`. A name that does not fit keeps its
/// readable part and gets 16 digits of its digest, so two names never become one: what stands
/// before the first `__` always names the server, and no name that ends like a digest is written as
/// it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePrefix(Option<String>);

impl NamePrefix {
    /// Leaves names as they are, for a mount of one server.
    pub fn none() -> Self {
        Self(None)
    }

    /// Puts the label of the server in front of names.
    pub fn of(label: &ServerLabel) -> Self {
        let text = label.as_str();
        let plain = text.len() <= MAX_LABEL && !text.contains('.') && !text.contains(SEPARATOR);
        Self(Some(if plain && !ends_like_digest(text) {
            text.to_owned()
        } else {
            with_digest(text, MAX_LABEL)
        }))
    }

    /// Tells whether several servers share the mount.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the name under which a tool or prompt is passed on.
    pub fn passed_on(&self, own: &str) -> String {
        let Some(prefix) = &self.0 else { return own.to_owned() };
        let room = MAX_NAME - prefix.len() - SEPARATOR.len();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let fits = own.len() <= room && own.chars().all(plain) && !ends_like_digest(own);
        let name = if fits { own.to_owned() } else { with_digest(own, room) };
        format!("{prefix}{SEPARATOR}{name}")
    }
}

/// Writes the readable part of a text and its digest within a length.
fn with_digest(text: &str, most: usize) -> String {
    let digest = Digest::of(text.as_bytes()).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let mut readable = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        // A label must not hold the separator.
        if !(c == '_' && readable.ends_with('_')) && readable.len() + DIGITS + 1 < most {
            readable.push(c);
        }
    }
    format!("{}-{}", readable.trim_end_matches('_'), &hex[..DIGITS.min(hex.len())])
}

fn ends_like_digest(text: &str) -> bool {
    let Some((_, end)) = text.rsplit_once('-') else { return false };
    end.len() == DIGITS && end.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn prefix(label: &str) -> NamePrefix {
        NamePrefix::of(&ServerLabel::parse(label).unwrap())
    }

    #[test]
    fn names_of_two_servers_never_become_one_g_02() {
        let labels = ["a", "a__b", "a.b", "a_b", "a-b", "a___b"];
        let long = "x".repeat(200);
        let longer = format!("{long}y");
        let names = ["c", "b__c", "_c", "__c", "a.b", "a/b", "a b", "ä", "", &long, &longer];
        let mut seen = HashSet::new();
        for label in labels {
            for name in names {
                let passed_on = prefix(label).passed_on(name);
                assert!(passed_on.len() <= MAX_NAME, "{passed_on}");
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                assert!(passed_on.chars().all(plain), "{passed_on}");
                assert!(seen.insert(passed_on.clone()), "{label} {name}: {passed_on}");
            }
        }
    }

    #[test]
    fn a_name_that_looks_like_a_shortened_one_is_shortened_itself() {
        let shortened = prefix("acme").passed_on("a b");
        let looks_like_it = shortened.strip_prefix("acme__").unwrap();
        assert_ne!(prefix("acme").passed_on(looks_like_it), shortened);
    }

    #[test]
    fn a_mount_of_one_server_leaves_names_alone() {
        assert_eq!(NamePrefix::none().passed_on("a b/c"), "a b/c");
        assert_eq!(prefix("acme").passed_on("read_pdf"), "acme__read_pdf");
    }
}
