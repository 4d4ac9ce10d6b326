//! Small pieces of text.

/// A number of things, in words.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 10_000 {
        format!("{bytes} bytes")
    } else if bytes < 10_000_000 {
        format!("{} kB", bytes / 1_000)
    } else {
        format!("{} MB", bytes / 1_000_000)
    }
}
