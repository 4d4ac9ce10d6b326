//! Prints findings as SARIF 2.1.0, which code scanners and editors read.

use serde_json::{Value, json};
use skillwire_core::{Code, Finding, Level};

/// A finding that the author silenced, with the reason.
pub(crate) type Silenced = (Finding, String);

/// Makes one log of all findings. Silenced findings are included and marked as suppressed.
pub(crate) fn sarif(findings: &[&Finding], silenced: &[Silenced]) -> Value {
    let mut codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    codes.extend(silenced.iter().map(|(finding, _)| finding.code));
    codes.sort_unstable();
    codes.dedup();
    let mut results: Vec<Value> = findings.iter().map(|finding| result(finding, &codes)).collect();
    results.extend(silenced.iter().map(|(finding, reason)| {
        let mut result = result(finding, &codes);
        result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
        result
    }));
    sarif_log(&codes.iter().map(|code| rule(*code)).collect::<Vec<_>>(), &results)
}

/// Makes a log of rules and results.
pub(crate) fn sarif_log(rules: &[Value], results: &[Value]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "skillwire",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: Code) -> Value {
    let page = code.page();
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.summary() },
        "fullDescription": { "text": code.why() },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(code.level()) },
    })
}

fn result(finding: &Finding, codes: &[Code]) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": sarif_uri(&finding.file) } });
    if let (Some(from), Some(to)) = (finding.position, finding.end) {
        place["region"] = json!({
            "startLine": from.line,
            "startColumn": from.column,
            "endLine": to.line,
            "endColumn": to.column,
        });
    }
    let text = match super::help(finding) {
        Some(help) => format!("{} {help}", finding.message),
        None => finding.message.clone(),
    };
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": codes.binary_search(&finding.code).unwrap_or_default(),
        "level": level(finding.level),
        "message": { "text": text },
        "locations": [{ "physicalLocation": place }],
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info | Level::Advice => "note",
    }
}

/// Turns a path into a URI; a relative path stays relative.
pub(crate) fn sarif_uri(path: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let path = path.strip_prefix("./").unwrap_or(path);
    let prefix = if path.starts_with('/') { "file://" } else { "" };
    let mut out = prefix.to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let digits = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
            out.extend(['%'].into_iter().chain(digits.map(char::from)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(sarif_uri("./a/with space.md"), "a/with%20space.md");
        assert_eq!(sarif_uri("a:b/é"), "a%3Ab/%C3%A9");
        assert_eq!(sarif_uri("/srv/skills/a"), "file:///srv/skills/a");
    }
}
