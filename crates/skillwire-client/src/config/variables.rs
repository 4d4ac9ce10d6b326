//! Variables in configured values, such as `Bearer ${GITHUB_TOKEN}`.
//!
//! Other MCP clients expand them in their own configurations, and files of these are imported here.
//! The values are filled in for each connection, so that no secret of the environment is written
//! into the configuration.

/// A variable that a configured value names and that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the variable `{name}` is not set")]
pub struct UnsetVariable {
    /// Its name.
    pub name: String,
}

/// Fills in `${NAME}`, `${env:NAME}` and `${NAME:-default}`; `$${` stands for `${`.
///
/// Everything else stays as it is, also `$NAME` and what is not the name of a variable.
pub fn expand(
    text: &str,
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<String, UnsetVariable> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        expanded.push_str(before);
        let Some((name, default, length)) = variable(after) else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        match value_of(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => return Err(UnsetVariable { name: name.to_owned() }),
        }
        rest = &after[length..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Reads the variable after `${`: its name, its default and the length up to and with `}`.
fn variable(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let end = text.find('}')?;
    let inside = &text[..end];
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, default, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_an_unset_one_is_named_fu_25() {
        let value_of = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        for (text, expected) in [
            ("Bearer ${TOKEN}", "Bearer s3cret"),
            ("${env:TOKEN}${TOKEN}", "s3crets3cret"),
            ("${MISSING:-plain} ${TOKEN:-x}", "plain s3cret"),
            ("$TOKEN ${} ${a-b} ${1} ${", "$TOKEN ${} ${a-b} ${1} ${"),
            ("$${TOKEN}", "${TOKEN}"),
            ("", ""),
        ] {
            assert_eq!(expand(text, value_of).as_deref(), Ok(expected), "{text}");
        }
        let unset = expand("a ${GITHUB_TOKEN}", value_of).unwrap_err();
        assert_eq!(unset.to_string(), "the variable `GITHUB_TOKEN` is not set");
    }
}
