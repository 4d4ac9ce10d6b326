//! Code of one language inside code of another: `python -c '…'`.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::language::Language;

static INLINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?s)(?-u:\b)(python3?|node|bun|deno|pwsh|powershell)\s+(?:-[0-9A-Za-z]+\s+){0,3}?(?:-c|-e|--eval|-Command|eval)\s+"#,
        r#"(?:"((?:[^"\\]|\\.)*)"|'([^']*)')|"#,
        r#"(?-u:\b)(python3?|node)\s+(?:-\s+)?<<-?\s*['"]?(\w+)['"]?\n"#
    ))
    .expect("it is a regex")
});

/// Finds code of other languages in a shell's code: the language, and where it stands.
pub(super) fn find(code: &str) -> Vec<(Language, Range<usize>)> {
    let language = |name: &str| match name {
        name if name.starts_with("python") => Language::Python,
        "pwsh" | "powershell" => Language::PowerShell,
        _ => Language::JavaScript,
    };
    let mut found = Vec::new();
    for captures in INLINE.captures_iter(code).take(50) {
        if let (Some(name), Some(inner)) = (captures.get(1), captures.get(2).or(captures.get(3))) {
            found.push((language(name.as_str()), inner.range()));
        } else if let (Some(name), Some(end), Some(whole)) =
            (captures.get(4), captures.get(5), captures.get(0))
        {
            let rest = &code[whole.end()..];
            let until = rest.find(&format!("\n{}", end.as_str())).unwrap_or(rest.len());
            found.push((language(name.as_str()), whole.end()..whole.end() + until));
        }
    }
    found
}
