//! Paths that a text names outside link syntax, such as `python scripts/fill.py`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::span::Span;

/// The directories whose files a text is taken to name; the format suggests these.
const DIRECTORIES: [&str; 4] = ["scripts/", "references/", "resources/", "assets/"];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(DIRECTORIES).ok());

/// A path in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedPath<'a> {
    /// The path as it is written, without a `./` before it.
    pub(crate) path: &'a str,
    /// Its place in the text.
    pub(crate) span: Span,
}

/// Finds every path that is surely meant as a file of the skill; spans count from `offset`.
///
/// A path that goes on from another one (`~/x/scripts/a.py`), has a placeholder in it, or has no
/// ending is left out: it may be about something else.
pub(crate) fn find(text: &str, offset: usize) -> impl Iterator<Item = NamedPath<'_>> {
    let starts = FINDER.as_ref().into_iter().flat_map(move |finder| finder.find_iter(text));
    starts.filter_map(move |found| {
        let start = found.start();
        let before = text[..start].strip_suffix("./").unwrap_or(&text[..start]);
        if before.ends_with(|c: char| c.is_alphanumeric() || "/\\.-_~}>)$%*@:=&?#+".contains(c)) {
            return None;
        }
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let said_before = text[line..start].to_ascii_lowercase();
        if said_before.contains("example") || said_before.contains("e.g.") {
            return None;
        }
        let rest = &text[start..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
        let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        // A placeholder goes on after the path, or is a part of it.
        let goes_on = |c: char| !c.is_ascii() || "<{[*$(%\\@".contains(c);
        if rest[length..].starts_with(goes_on) {
            return None;
        }
        let path = rest[..length].trim_end_matches(['.', '-', '_', '/']);
        let span = Span::new(offset + start, offset + start + path.len());
        is_file(path).then_some(NamedPath { path, span })
    })
}

/// Tells whether a path ends in a file name with an ending and is no example.
fn is_file(path: &str) -> bool {
    const EXAMPLES: [&str; 11] = [
        "example", "your", "my-", "my_", "foo", "bar.", "xxx", "xyz", "name.", "file.", "template",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let ended = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    let lower = path.to_ascii_lowercase();
    ended
        && !path.contains("//")
        && !path.contains("..")
        && !EXAMPLES.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<&str> {
        let found = find(text, 7);
        let checked = found.map(|NamedPath { path, span }| {
            assert_eq!(&text[span.start - 7..span.end - 7], path);
            path
        });
        checked.collect()
    }

    #[test]
    fn files_of_the_skill_are_found_however_they_are_written_rs_13() {
        for text in [
            "Run `python scripts/a.py --x`.",
            "bash ./scripts/a.py",
            "\"scripts/a.py\"",
            "see scripts/a.py.",
            "(scripts/a.py)",
        ] {
            assert_eq!(paths(text), ["scripts/a.py"], "{text}");
        }
        assert_eq!(
            paths("references/a/b-c.md, assets/x.png; scripts/run.sh\nresources/t.json"),
            ["references/a/b-c.md", "assets/x.png", "scripts/run.sh", "resources/t.json"]
        );
    }

    #[test]
    fn what_may_be_about_something_else_is_left_out_rs_13() {
        for text in [
            "~/.agents/skills/x/scripts/a.py",
            "{baseDir}/scripts/a.py",
            "$DIR/scripts/a.py",
            "scripts/<name>.py",
            "scripts/*.py",
            "scripts/{name}.py",
            "scripts/your-script.py",
            "scripts/example.py",
            "scripts/",
            "scripts/run",
            "myscripts/a.py",
            "https://x.org/assets/a.png",
            "scripts/a.py/../b",
            "references/é.md",
            "references/aé.md",
            "scripts/v1.2",
            "- **Example**: `scripts/rotate.py`",
            "Helpers (e.g. scripts/a.py)",
            "assets/a.b-c-d-e-f",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }
}
