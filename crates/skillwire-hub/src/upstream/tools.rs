//! Which tools and prompts of an upstream an operator lets clients use.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The most patterns of one upstream.
const MAX_PATTERNS: usize = 200;

/// The longest pattern, in bytes.
const MAX_BYTES: usize = 200;

/// Which tools and prompts of an upstream an operator lets clients use, as patterns such as `read_*`.
///
/// `*` matches any part of a name, `?` one character. Without a pattern there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ToolPatterns(Vec<String>);

impl ToolPatterns {
    /// Takes patterns; refuses too many of them, and those that match no name of a tool.
    pub fn parse<S: Into<String>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Refusal> {
        checked(patterns, "_-./:*?", "tools, in letters, digits and `_-./:*?`").map(Self)
    }

    /// Tells whether no tool is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the patterns.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl TryFrom<Vec<String>> for ToolPatterns {
    type Error = Refusal;

    fn try_from(patterns: Vec<String>) -> Result<Self, Refusal> {
        Self::parse(patterns)
    }
}

impl From<ToolPatterns> for Vec<String> {
    fn from(patterns: ToolPatterns) -> Self {
        patterns.0
    }
}

/// Which resources of an upstream that belong to no skill clients may read, as patterns of the upstream's own
/// URIs such as `file:///docs/**`.
///
/// `*` matches any part of a segment, `**` any segments, `?` one character. Without a pattern there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ResourcePatterns(Vec<String>);

impl ResourcePatterns {
    /// Takes patterns; refuses too many of them, and those that match no URI.
    pub fn parse<S: Into<String>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Refusal> {
        let what = "resources, in characters of a URI, `*` and `?`";
        checked(patterns, "_-./:*?+%#=&@~$!,;()", what).map(Self)
    }

    /// Tells whether no resource is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the patterns.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl TryFrom<Vec<String>> for ResourcePatterns {
    type Error = Refusal;

    fn try_from(patterns: Vec<String>) -> Result<Self, Refusal> {
        Self::parse(patterns)
    }
}

impl From<ResourcePatterns> for Vec<String> {
    fn from(patterns: ResourcePatterns) -> Self {
        patterns.0
    }
}

/// Takes patterns of letters, digits and these marks; refuses too many of them, and those that match nothing.
fn checked<S: Into<String>>(
    patterns: impl IntoIterator<Item = S>,
    marks: &str,
    what: &str,
) -> Result<Vec<String>, Refusal> {
    let patterns: Vec<String> = patterns.into_iter().map(Into::into).collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    let good =
        |pattern: &String| (1..=MAX_BYTES).contains(&pattern.len()) && pattern.chars().all(plain);
    if patterns.len() > MAX_PATTERNS || !patterns.iter().all(good) {
        let reason =
            format!("at most {MAX_PATTERNS} patterns of up to {MAX_BYTES} bytes name {what}");
        return Err(Refusal::BadUpstream(reason));
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_match_no_tool_are_refused() {
        assert!(ToolPatterns::parse(["read_*", "docs.search", "a/b", "?"]).is_ok());
        for bad in ["", "a b", "[a]", "{a,b}", "a\\n", &"x".repeat(MAX_BYTES + 1)] {
            assert!(ToolPatterns::parse([bad]).is_err(), "{bad}");
        }
        assert!(ToolPatterns::parse(vec!["x"; MAX_PATTERNS + 1]).is_err());
        assert!(serde_json::from_str::<ToolPatterns>(r#"["[a]"]"#).is_err());
    }

    #[test]
    fn patterns_that_match_no_resource_are_refused() {
        let good = ["file:///docs/**", "db://t?q=*", "urn:isbn:*", "**"];
        assert!(ResourcePatterns::parse(good).is_ok());
        for bad in ["", "a b", "[a]", "x://{id}", "a\\n", &"x".repeat(MAX_BYTES + 1)] {
            assert!(ResourcePatterns::parse([bad]).is_err(), "{bad}");
        }
        assert!(ResourcePatterns::parse(vec!["x"; MAX_PATTERNS + 1]).is_err());
        assert!(serde_json::from_str::<ResourcePatterns>(r#"["[a]"]"#).is_err());
    }
}
