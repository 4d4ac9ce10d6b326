//! Words of a command line that a message asks the user to type.

/// A word as a shell takes it, quoted if it holds anything a shell might act on.
pub fn word(word: &str) -> String {
    // Only a NUL could not be quoted, and it is allowed: it cannot reach a command anyway.
    let quoted = shlex::Quoter::new().allow_nul(true).quote(word);
    quoted.map_or_else(|_| String::new(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_acts_on_nothing_in_a_word() {
        assert_eq!(word("acme:skill://a/SKILL.md"), "acme:skill://a/SKILL.md");
        assert_eq!(word("acme:$(rm -rf ~)"), "'acme:$(rm -rf ~)'");
        assert_eq!(word("a'b"), r#""a'b""#);
        assert_eq!(word("a'$(b)"), r#""a'"'$(b)'"#);
        assert_eq!(word(""), "''");
    }
}
