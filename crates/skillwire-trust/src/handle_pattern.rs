//! Patterns that name many skills at once.

use crate::{label::ServerLabel, registry::RegistryItem};

/// The character that stands for any text.
const ANY: char = '*';

/// A pattern of handles, such as `team:*`; `*` stands for any text, also for none.
///
/// ```
/// use skillwire_trust::HandlePattern;
///
/// let pattern = HandlePattern::parse("team:*").unwrap();
/// assert_eq!(pattern.server().map(|label| label.to_string()).as_deref(), Some("team"));
/// assert_eq!(HandlePattern::parse("team:deploy"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlePattern(String);

impl HandlePattern {
    /// Returns the pattern of a text with `*`; a text without it is the handle of one skill.
    pub fn parse(text: &str) -> Option<Self> {
        text.contains(ANY).then(|| Self(text.to_owned()))
    }

    /// Returns the pattern as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the one server whose skills the pattern can match.
    pub fn server(&self) -> Option<ServerLabel> {
        let (label, _) = self.0.split_once(':')?;
        ServerLabel::parse(label).ok()
    }

    /// Tells whether the pattern matches a skill by its handle, by its name, or by its URI with its
    /// origin. A pattern without `:` matches names of every origin.
    pub fn matches(&self, item: &RegistryItem) -> bool {
        let name = item.skill.name();
        let id = item.skill.id();
        if !self.0.contains(':') {
            return is_match(&self.0, name.as_str());
        }
        [item.handle.clone(), format!("{}:{name}", id.origin), id.to_string()]
            .iter()
            .any(|text| is_match(&self.0, text))
    }
}

/// Compares a text with a pattern, in time that is linear in their lengths multiplied: only the last
/// `*` is ever tried again.
fn is_match(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_fu_07() {
        for (pattern, text, fits) in [
            ("team:*", "team:deploy", true),
            ("team:*", "team:", true),
            ("team:*", "teams:deploy", false),
            ("*:deploy", "team:deploy", true),
            ("*:deploy", "team:deploys", false),
            ("team:de*oy", "team:deploy", true),
            ("team:de*oy", "team:deoy", true),
            ("team:de*oy", "team:deo", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXcYb", false),
            ("*", "", true),
            ("**", "x", true),
            ("*aa", "a", false),
        ] {
            assert_eq!(is_match(pattern, text), fits, "{pattern} {text}");
        }
    }
}
