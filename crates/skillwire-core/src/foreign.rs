//! Text that somebody else wrote, in a message of ours.

/// The most characters of it that are repeated.
const MAX_CHARS: usize = 200;

/// Repeats as much of somebody else's text as a message can bear, with nothing in it that a terminal
/// or a log would act on.
pub fn truncated(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_cannot_act_h_70() {
        assert_eq!(truncated("a `b`\u{1b}[2J\u{202e}\n"), r"a `b`\u{1b}[2J\u{202e}\n");
        let whole = "é".repeat(MAX_CHARS);
        assert_eq!(truncated(&whole), whole);
        assert_eq!(truncated(&format!("{whole}é")), format!("{whole}…"));
    }
}
