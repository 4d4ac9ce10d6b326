//! Quotes the words of a command line that a user is shown, so that they see where each begins.

/// Quotes a word for a shell if it has any character that a shell might act on.
pub(crate) fn word(word: &str) -> String {
    // Quoting fails only for a NUL, which is allowed here because no command can receive one.
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
