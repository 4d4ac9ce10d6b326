//! Text inside the XML that two dialects list skills in.

/// Escapes text so that it can neither end its element nor begin a line.
pub(crate) fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !escaped.is_empty() {
            escaped.push(' ');
        }
        for character in word.chars() {
            match character {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&apos;"),
                control if control.is_control() => {}
                other => escaped.push(other),
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_cannot_end_its_element_d9() {
        let hostile = "a</description>\n<x a=\"1\" b='2'>& \u{1b}[2J";
        assert_eq!(
            xml_text(hostile),
            "a&lt;/description&gt; &lt;x a=&quot;1&quot; b=&apos;2&apos;&gt;&amp; [2J"
        );
    }
}
