//! Resolving what a model or a user writes to a file of a skill.

use skillwire_core::{RelPath, ResourceUri, SkillUri, percent::decode_or_keep};

use crate::refusal::Reason;

/// Resolves a reference against the skill's root directory.
///
/// A full URI is taken as it is. A path may be written as on disk or percent-encoded as in a link;
/// `.` and `..` are resolved and may not leave the root.
pub fn resolve(skill: &SkillUri, reference: &str) -> Result<Vec<ResourceUri>, Reason> {
    if has_scheme(reference) {
        let uri = ResourceUri::parse(reference).map_err(|_| Reason::PathOutsideSkill)?;
        return if skill.contains(&uri) { Ok(vec![uri]) } else { Err(Reason::PathOutsideSkill) };
    }
    let path = reference.split(['#', '?']).next().filter(|path| !path.is_empty());
    let mut candidates = Vec::new();
    // A file name may contain what a link would treat as an anchor, so the whole text is tried
    // first.
    for text in [Some(reference), path].into_iter().flatten() {
        let decoded: Vec<String> = text.split('/').map(decode_or_keep).collect();
        // A link is decoded segment by segment, as `check` does it. The result is split into
        // segments again, so that an encoded `..` climbs like a plain one and is refused when it
        // leaves the root.
        for text in [text.to_owned(), decoded.join("/")] {
            let uri = skill.root().child(&inside(&text)?);
            if !candidates.contains(&uri) {
                candidates.push(uri);
            }
        }
    }
    Ok(candidates)
}

/// Tells whether a text begins with a URI scheme, by its grammar and not by a list of names.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Removes `.` and `..` from a path, which must stay below the root.
pub fn inside(text: &str) -> Result<RelPath, Reason> {
    if text.starts_with('/') || text.contains('\\') {
        return Err(Reason::PathOutsideSkill);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().ok_or(Reason::PathOutsideSkill)?;
            }
            segment => segments.push(segment),
        }
    }
    RelPath::parse(&segments.join("/")).map_err(|_| Reason::PathOutsideSkill)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(reference: &str) -> Result<Vec<String>, Reason> {
        let skill = SkillUri::parse("skill://acme/pdf/SKILL.md").unwrap();
        resolve(&skill, reference).map(|uris| uris.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn references_resolve_against_the_directory_of_the_skill_file_hst_41() {
        for reference in
            ["refs/x.md", "./refs/x.md", "refs/../refs/./x.md", "skill://acme/pdf/refs/x.md"]
        {
            assert_eq!(uris(reference).unwrap()[0], "skill://acme/pdf/refs/x.md", "{reference}");
        }
        assert!(uris("a%20b.md").unwrap().contains(&"skill://acme/pdf/a%20b.md".to_owned()));
        // A `%` that encodes nothing stands for itself, as it does where links are checked.
        let beside = "skill://acme/pdf/50%25/a%20b%C3%A9.md".to_owned();
        assert!(uris("50%/a%20b%c3%a9.md").unwrap().contains(&beside));
        assert_eq!(uris("50%20%.md").unwrap(), ["skill://acme/pdf/50%2520%25.md"]);
        assert!(uris("x.md#part").unwrap().contains(&"skill://acme/pdf/x.md".to_owned()));
    }

    #[test]
    fn what_leaves_the_skill_is_refused_hst_43() {
        for reference in [
            "../../etc/passwd",
            "../pdf-extra/x",
            "%2e%2e/x",
            "a/%2e%2e/%2e%2e/x",
            "/etc/passwd",
            "..\\x",
            "..",
            ".",
            "",
            "a\0b",
        ] {
            assert_eq!(uris(reference), Err(Reason::PathOutsideSkill), "{reference:?}");
        }
    }

    #[test]
    fn schemes_are_parsed_and_never_opened_hst_114() {
        for reference in [
            "file:///etc/passwd",
            "file:/etc/passwd",
            "FILE:///etc/passwd",
            "file:etc",
            "https://example.com/x",
            "skill://acme/pdf-extra/x",
            "skill://acme/pdf/../x",
            "skill://acme/pdf/%2e%2e/x",
            "javascript:x",
        ] {
            assert_eq!(uris(reference), Err(Reason::PathOutsideSkill), "{reference:?}");
        }
    }
}
