//! Patterns of URIs that a user fills in, for skills that no listing has.

use skillwire_core::Scheme;

/// A pattern of URIs such as `skill://docs/{product}/SKILL.md`.
///
/// `{name}` stands for one segment and `{+name}` for several.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UriTemplate {
    /// The pattern.
    pub uri: String,
    /// A short name.
    pub name: String,
    /// What the pattern leads to.
    pub description: String,
}

/// The error for a text that is not a pattern of URIs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a template: it needs a scheme and a variable, such as `skill://docs/{{product}}/SKILL.md`"
)]
pub struct InvalidTemplate(String);

impl UriTemplate {
    /// Reads a pattern.
    pub fn parse(uri: &str) -> Result<Self, InvalidTemplate> {
        let invalid = || InvalidTemplate(uri.to_owned());
        let (scheme, rest) = uri.split_once("://").ok_or_else(invalid)?;
        Scheme::parse(scheme).map_err(|_| invalid())?;
        let mut names = Vec::new();
        let mut pieces = rest.split('{');
        let literal = pieces.next().unwrap_or_default();
        if literal.contains('}') || rest.chars().any(char::is_whitespace) {
            return Err(invalid());
        }
        for piece in pieces {
            let (name, literal) = piece.split_once('}').ok_or_else(invalid)?;
            let name = name.strip_prefix('+').unwrap_or(name);
            let is_name = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_name || names.contains(&name) || literal.contains('}') {
                return Err(invalid());
            }
            names.push(name);
        }
        if names.is_empty() {
            return Err(invalid());
        }
        let name = format!("{scheme}-{}", names.join("-"));
        let description = "A skill at this pattern of URIs.".to_owned();
        Ok(Self { uri: uri.to_owned(), name, description })
    }

    /// Sets a short name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what the pattern leads to.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Tells whether the pattern has a variable.
    pub fn has_variable(&self, name: &str) -> bool {
        self.before(name).is_some()
    }

    /// Returns the part before a variable, and the part after it.
    pub fn around(&self, name: &str) -> Option<(&str, &str)> {
        let before = self.before(name)?;
        let rest = &self.uri[before.len()..];
        Some((before, &rest[rest.find('}')? + 1..]))
    }

    fn before(&self, name: &str) -> Option<&str> {
        let parts = [format!("{{{name}}}"), format!("{{+{name}}}")];
        let at = parts.iter().find_map(|part| self.uri.find(part.as_str()))?;
        Some(&self.uri[..at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_scheme_and_variables_p_18() {
        let template = UriTemplate::parse("skill://docs/{product}/{+path}").unwrap();
        assert!(template.has_variable("product") && template.has_variable("path"));
        assert_eq!(template.around("product"), Some(("skill://docs/", "/{+path}")));
        assert_eq!(template.around("other"), None);
        for bad in [
            "skill://docs/SKILL.md",
            "docs/{product}",
            "skill://{}/SKILL.md",
            "skill://{a}/{a}",
            "skill://{a/SKILL.md",
            "skill://a}/{b}",
            "skill://{a}/ b",
        ] {
            assert!(UriTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
