//! Prints each finding on a line of its own, in the form that editors and `grep` understand.

use std::io::Write;

use skillwire_core::Finding;

use super::printable;

/// Writes `file:line:column: level[code]: message`, without line and column where there are none.
pub(crate) fn concise(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    write!(out, "{}:", printable(&finding.file))?;
    if let Some(position) = finding.position {
        write!(out, "{}:{}:", position.line, position.column)?;
    }
    let (level, code) = (finding.level.as_str(), finding.code);
    writeln!(out, " {level}[{code}]: {}", printable(&finding.message))
}

#[cfg(test)]
mod tests {
    use skillwire_core::{Code, Span};

    use super::*;

    #[test]
    fn a_finding_is_one_line_whatever_it_says() {
        let mut out = Vec::new();
        let finding = Finding::new(Code::LinkMissing, "a/SKILL.md", "No\n`x`.");
        concise(&mut out, &finding.at(b"one\ntwo", Span::new(5, 6))).unwrap();
        concise(&mut out, &Finding::new(Code::HiddenFile, "a/.x", "Hidden.")).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a/SKILL.md:2:2: warning[link-missing]: No\\n`x`.\na/.x: info[hidden-file]: Hidden.\n"
        );
    }
}
