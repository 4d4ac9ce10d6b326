//! Words in commands that a user is told to type.

/// A word as a shell takes it, quoted if it holds anything a shell might act on.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/%+=@,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_acts_on_nothing_in_a_word() {
        assert_eq!(word("acme:skill://a/SKILL.md"), "acme:skill://a/SKILL.md");
        assert_eq!(word("acme:$(rm -rf ~)"), "'acme:$(rm -rf ~)'");
        assert_eq!(word("a'b"), r"'a'\''b'");
        assert_eq!(word(""), "''");
    }
}
