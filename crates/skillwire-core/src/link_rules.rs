//! Findings about the links between the files of a skill.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    file_set::CheckedFile,
    finding::{Code, Finding},
    links::{self, Link, NotPortable, Target},
    path::SKILL_FILE,
    yaml,
};

/// The most findings of one code about links of one file; the rest is counted.
const MOST_EACH: usize = 5;

/// A link from one file of the skill to another.
struct Followed<'a> {
    from: CheckedFile<'a>,
    link: Link,
    to: String,
}

/// Checks every relative link of the Markdown files.
pub(crate) fn check(files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut followed = Vec::new();
    for file in files.iter().filter(|file| is_markdown(file.path.file_name())) {
        let Ok(text) = std::str::from_utf8(file.bytes) else { continue };
        let start = if file.path.as_str() == SKILL_FILE { body_offset(file.bytes) } else { 0 };
        let base = file.path.parent().map_or(String::new(), |parent| parent.to_string());
        let mut odd: BTreeMap<Code, (Vec<Finding>, BTreeSet<String>)> = BTreeMap::new();
        for link in links::find(&text[start..], start) {
            let (code, message, help) = match judge(&paths, &base, &link.target) {
                Judged::Elsewhere => continue,
                Judged::Fine(to) => {
                    followed.push(Followed { from: *file, link, to });
                    continue;
                }
                Judged::Odd(code, message, help) => (code, message, help),
            };
            let (shown, targets) = odd.entry(code).or_default();
            // The same link again is the same mistake.
            if targets.insert(link.target) && shown.len() < MOST_EACH {
                let finding = Finding::new(code, file.path.as_str(), message).help(help);
                shown.push(finding.at(file.bytes, link.span));
            }
        }
        for (mut shown, targets) in odd.into_values() {
            let more = targets.len() - shown.len();
            if let Some(last) = shown.last_mut() {
                last.message.push_str(&like_it(more));
            }
            findings.extend(shown);
        }
    }
    check_chains(&followed, findings);
}

/// Counts the links that are not shown.
fn like_it(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => " 1 more link here is like it.".to_owned(),
        more => format!(" {more} more links here are like it."),
    }
}

/// Where the text of a `SKILL.md` begins, which is all of it where there is no frontmatter.
fn body_offset(bytes: &[u8]) -> usize {
    yaml::split(bytes).map_or(0, |fenced| fenced.body_offset)
}

enum Judged {
    Elsewhere,
    Fine(String),
    Odd(Code, String, String),
}

/// Judges a link in a file of the directory `base`.
///
/// Hosts resolve links against that directory or against the skill's root; either will do.
fn judge(paths: &BTreeSet<&str>, base: &str, target: &str) -> Judged {
    let from_root = || match links::resolve("", target) {
        Target::Inside(path) if exists(paths, &path) => Some(path),
        _ => None,
    };
    let not_portable = |reason: &str, help: String| {
        Judged::Odd(Code::LinkNotPortable, format!("The link `{target}` {reason}."), help)
    };
    match links::resolve(base, target) {
        Target::Elsewhere => Judged::Elsewhere,
        Target::NotPortable(why) => {
            let relative = "Link to files of the skill by relative path, with `/`.".to_owned();
            match why {
                NotPortable::Outside => not_portable("leads out of the skill", relative),
                NotPortable::Absolute => not_portable("is an absolute path", relative),
                NotPortable::Backslash => {
                    let help = format!("Write `{}`.", target.replace('\\', "/"));
                    not_portable("separates names by backslashes", help)
                }
            }
        }
        Target::Inside(path) | Target::Climbing(path) if !exists(paths, &path) => from_root()
            .map_or_else(
                || {
                    let help = "Add the file or fix the link: a host can follow only links to \
                                files that the skill has.";
                    let message = format!("The skill has no file `{path}`.");
                    Judged::Odd(Code::LinkMissing, message, help.to_owned())
                },
                Judged::Fine,
            ),
        Target::Inside(path) => Judged::Fine(path),
        Target::Climbing(path) => not_portable(
            "goes up by `..`",
            format!("Some hosts refuse `..`; write `{path}`, the path from the skill's root."),
        ),
    }
}

/// Tells whether the skill has a file or directory at a path.
fn exists(paths: &BTreeSet<&str>, path: &str) -> bool {
    let inside = |other: &&str| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    path.is_empty()
        || paths.contains(path)
        // Everything inside a directory comes after its own name and a slash.
        || paths.range(format!("{path}/").as_str()..).next().is_some_and(inside)
}

/// Reports files that only a reference mentions, when `SKILL.md` does not.
fn check_chains(followed: &[Followed<'_>], findings: &mut Vec<Finding>) {
    let direct = followed.iter().filter(|link| link.from.path.as_str() == SKILL_FILE);
    let direct: BTreeSet<&str> = direct.map(|link| link.to.as_str()).collect();
    let mut seen = BTreeSet::new();
    for Followed { from, link, to } in followed {
        let second_hand = direct.contains(from.path.as_str()) && !direct.contains(to.as_str());
        if second_hand && to != SKILL_FILE && is_markdown(to) && seen.insert(to) {
            let message = format!("`{to}` is reached only through this file, not from `SKILL.md`.");
            findings.push(
                Finding::new(Code::LinkChain, from.path.as_str(), message)
                    .help("Link to it from `SKILL.md` as well: agents rarely follow chains.")
                    .at(from.bytes, link.span),
            );
        }
    }
}

fn is_markdown(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("md"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RelPath;

    fn messages(body: &str) -> Vec<String> {
        let file = format!("---\nname: a\ndescription: Use when asked.\n---\n{body}");
        let path = RelPath::skill_file();
        let mut findings = Vec::new();
        check(&[CheckedFile { path: &path, bytes: file.as_bytes() }], &mut findings);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn of_many_odd_links_a_few_are_shown_and_the_rest_is_counted_fmt_19() {
        let links =
            |count| (0..count).map(|n| format!("[x]({n}.md)")).collect::<Vec<_>>().join(" ");
        let few = messages(&links(MOST_EACH));
        assert_eq!(few.len(), MOST_EACH);
        assert!(!few.concat().contains("like it"), "{few:?}");
        let one_more = messages(&links(MOST_EACH + 1)).concat();
        assert!(one_more.ends_with(" 1 more link here is like it."), "{one_more}");
        let many = messages(&links(MOST_EACH + 2));
        assert_eq!(many.len(), MOST_EACH);
        assert!(many[MOST_EACH - 1].ends_with(" 2 more links here are like it."), "{many:?}");
        assert_eq!(messages("[x](a.md) [y](a.md)").len(), 1);
        assert_eq!(messages("[x](a.md) [y](/a.md)").len(), 2);
    }

    #[test]
    fn a_link_in_a_nested_list_is_checked_and_an_escaped_one_is_not_fmt_19() {
        let nested = "1. One\n    - Two: see [more](references/gone.md).\n";
        assert_eq!(messages(nested), ["The skill has no file `references/gone.md`."]);
        assert_eq!(messages("Write \\[text](gone.md) for a link.\n"), [""; 0]);
    }

    #[test]
    fn a_directory_exists_when_something_is_in_it_fmt_19() {
        let paths = BTreeSet::from(["a.md", "docs-old/x.md", "docs/y.md"]);
        for path in ["", "a.md", "docs", "docs-old", "docs/y.md"] {
            assert!(exists(&paths, path), "{path}");
        }
        for path in ["a", "doc", "docs/y", "x.md", "z"] {
            assert!(!exists(&paths, path), "{path}");
        }
    }
}
