//! Small pieces of text.

/// Writes a number with its noun, in the plural unless the number is one.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
