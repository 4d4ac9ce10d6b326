//! Prints findings as workflow commands, which GitHub shows beside the changed lines.

use std::io::Write;

use skillwire_core::{Finding, Level};

/// Writes one finding as a line that GitHub Actions understands.
pub(crate) fn github(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    let command = command(finding.level);
    let file = finding.file.strip_prefix("./").unwrap_or(&finding.file);
    write!(out, "::{command} file={}", property(file))?;
    if let (Some(from), Some(to)) = (finding.position, finding.end) {
        write!(out, ",line={},col={},endLine={}", from.line, from.column, to.line)?;
        // GitHub accepts an end column only if the range is within one line.
        if from.line == to.line {
            write!(out, ",endColumn={}", to.column)?;
        }
    }
    let help = super::help(finding).map_or(String::new(), |help| format!("\n{help}"));
    let message = data(&format!("{}{help}", finding.message));
    writeln!(out, ",title={}::{message}", property(finding.code.as_str()))
}

/// Writes a line that GitHub Actions understands, about whole lines of a file.
#[cfg(feature = "scan")]
pub(crate) fn github_lines(
    out: &mut impl Write,
    level: Level,
    file: &str,
    lines: Option<(usize, usize)>,
    title: &str,
    message: &str,
) -> std::io::Result<()> {
    let file = file.strip_prefix("./").unwrap_or(file);
    write!(out, "::{} file={}", command(level), property(file))?;
    if let Some((first, last)) = lines {
        write!(out, ",line={first},endLine={last}")?;
    }
    writeln!(out, ",title={}::{}", property(title), data(message))
}

fn command(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info | Level::Advice => "notice",
    }
}

/// Escapes a message. A line break in it would let the text of a skill begin another command.
fn data(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            c if super::is_unseen(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Escapes the value of a property, which also ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use skillwire_core::{Code, Span};

    use super::*;

    fn line(finding: &Finding) -> String {
        let mut out = Vec::new();
        github(&mut out, finding).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_finding_is_one_command_whatever_it_says() {
        let finding =
            Finding::new(Code::UnknownKey, "./a,b:c\nd.md", "100% \r\n::error::mine\u{1b}[2J.")
                .help("Do it.")
                .at(b"one\ntwo\n", Span::new(4, 7));
        assert_eq!(
            line(&finding),
            "::warning file=a%2Cb%3Ac%0Ad.md,line=2,col=1,endLine=2,endColumn=4,\
             title=unknown-key::100%25 %0D%0A::error::mine\\u{1b}[2J.%0ADo it.\n"
        );
    }

    #[test]
    fn lines_are_left_out_where_there_are_none() {
        let finding = Finding::new(Code::HiddenFile, "a/.x", "It is hidden.");
        assert_eq!(line(&finding), "::notice file=a/.x,title=hidden-file::It is hidden.\n");
        let wide = Finding::new(Code::SecretText, "x", "Key.").at(b"a\nb\nc\n", Span::new(0, 4));
        assert_eq!(line(&wide), "::error file=x,line=1,col=1,endLine=3,title=secret-text::Key.\n");
    }
}
