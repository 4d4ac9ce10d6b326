//! Findings about the links between the files of a skill.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    file_set::CheckedFile,
    finding::{Code, Finding},
    links::{self, Link, NotPortable, Target},
    named_paths,
    path::{RelPath, SKILL_FILE},
    span::Span,
    yaml,
};

/// The most findings of one code about links of one file; the rest is counted.
const MOST_EACH: usize = 5;

/// A link from one file of the skill to another.
struct InnerLink<'a> {
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
        let is_skill_file = file.path.as_str() == SKILL_FILE;
        if is_template(file.path) {
            continue;
        }
        let start = if is_skill_file { body_offset(file.bytes) } else { 0 };
        let base = file.path.parent().map_or(String::new(), |parent| parent.to_string());
        let mut odd = OddLinks::default();
        let links = links::find(&text[start..], start);
        if is_skill_file {
            let linked: BTreeSet<&str> = links.iter().map(|link| link.target.as_str()).collect();
            for named in named_paths::find(&text[start..], start) {
                if !linked.contains(named.path) && !is_named(&paths, named.path) {
                    odd.note(file, path_missing(named.path), named.path, named.span);
                }
            }
        }
        for link in links {
            match judge(&paths, &base, &link.target) {
                LinkVerdict::Elsewhere => {}
                LinkVerdict::Fine(to) => followed.push(InnerLink { from: *file, link, to }),
                LinkVerdict::Odd(problem, to) => {
                    odd.note(file, problem, &link.target, link.span);
                    followed.extend(to.map(|to| InnerLink { from: *file, link, to }));
                }
            }
        }
        odd.report(findings);
    }
    check_chains(&followed, findings);
}

/// A problem of one link or path.
struct LinkProblem {
    code: Code,
    message: String,
    help: String,
}

/// The problems of one file by code: the first few as findings, and every text that has one.
#[derive(Default)]
struct OddLinks(BTreeMap<Code, (Vec<Finding>, BTreeSet<String>)>);

impl OddLinks {
    fn note(&mut self, file: &CheckedFile<'_>, problem: LinkProblem, written: &str, span: Span) {
        let LinkProblem { code, message, help } = problem;
        let (shown, texts) = self.0.entry(code).or_default();
        // The same link again is the same mistake.
        if texts.insert(written.to_owned()) && shown.len() < MOST_EACH {
            let finding = Finding::new(code, file.path.as_str(), message).help(help);
            shown.push(finding.at(file.bytes, span));
        }
    }

    fn report(self, findings: &mut Vec<Finding>) {
        for (code, (mut shown, texts)) in self.0 {
            let more = texts.len() - shown.len();
            if let Some(last) = shown.last_mut() {
                last.message.push_str(&like_it(code, more));
            }
            findings.extend(shown);
        }
    }
}

/// Counts the links or paths that are not shown.
fn like_it(code: Code, more: usize) -> String {
    let what = if code == Code::PathMissing { "path" } else { "link" };
    match more {
        0 => String::new(),
        1 => format!(" 1 more {what} here is like it."),
        more => format!(" {more} more {what}s here are like it."),
    }
}

fn path_missing(path: &str) -> LinkProblem {
    LinkProblem {
        code: Code::PathMissing,
        message: format!("The text names `{path}`, which the skill does not have."),
        help: "Add the file or correct the name, unless the file is one that the skill makes."
            .to_owned(),
    }
}

/// Tells whether a file is there to be filled in, so that its links are about something else.
fn is_template(path: &RelPath) -> bool {
    const WORDS: [&str; 5] = ["template", "templates", "boilerplate", "scaffold", "skeleton"];
    path.segments().any(|segment| {
        let words = segment.split(|c: char| !c.is_ascii_alphanumeric());
        words.into_iter().any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
    })
}

/// Tells whether a path of the text is one of the skill, from its root or from a directory below.
fn is_named(paths: &BTreeSet<&str>, path: &str) -> bool {
    let below = |other: &&str| other.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'));
    exists(paths, path) || paths.iter().any(below)
}

/// Where the text of a `SKILL.md` begins, which is all of it where there is no frontmatter.
fn body_offset(bytes: &[u8]) -> usize {
    yaml::split(bytes).map_or(0, |fenced| fenced.body_offset)
}

enum LinkVerdict {
    Elsewhere,
    Fine(String),
    /// A problem, and the file that it leads to all the same.
    Odd(LinkProblem, Option<String>),
}

/// Judges a link in a file of the directory `base`.
///
/// Hosts resolve links against that directory or against the skill's root; either will do.
fn judge(paths: &BTreeSet<&str>, base: &str, target: &str) -> LinkVerdict {
    let from_root = || match links::resolve("", target) {
        Target::Inside(path) if exists(paths, &path) => Some(path),
        _ => None,
    };
    let not_portable = |reason: &str, help: String| {
        let message = format!("The link `{target}` {reason}.");
        LinkVerdict::Odd(LinkProblem { code: Code::LinkNotPortable, message, help }, None)
    };
    match links::resolve(base, target) {
        Target::Elsewhere => LinkVerdict::Elsewhere,
        Target::NotPortable(why) => {
            let relative = "Link to files of the skill by relative path, with `/`.".to_owned();
            match why {
                NotPortable::Outside => {
                    let help = "Skills travel alone: copy the file into the skill, or name in words \
                                what the link leads to.";
                    not_portable("leads out of the skill", help.to_owned())
                }
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
                                files that the skill has."
                        .to_owned();
                    let message = format!("The skill has no file `{path}`.");
                    LinkVerdict::Odd(LinkProblem { code: Code::LinkMissing, message, help }, None)
                },
                LinkVerdict::Fine,
            ),
        Target::Inside(path) => LinkVerdict::Fine(path),
        Target::Climbing(path) => {
            let message = format!("The link `{target}` goes up by `..`.");
            let help = "Nothing needs to change; a few hosts do not follow such links.".to_owned();
            LinkVerdict::Odd(LinkProblem { code: Code::LinkUpwards, message, help }, Some(path))
        }
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
fn check_chains(followed: &[InnerLink<'_>], findings: &mut Vec<Finding>) {
    let direct = followed.iter().filter(|link| link.from.path.as_str() == SKILL_FILE);
    let direct: BTreeSet<&str> = direct.map(|link| link.to.as_str()).collect();
    let mut seen = BTreeSet::new();
    for InnerLink { from, link, to } in followed {
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

    #[test]
    fn a_link_in_a_template_is_not_checked_rs_10() {
        let broken = b"See [x](gone.md) and [y](../gone.md).";
        let skill = RelPath::skill_file();
        for (path, count) in [
            ("assets/templates/readme.md", 0),
            ("references/plan-template.md", 0),
            ("Template.md", 0),
            ("references/templating.md", 1),
            ("references/notes.md", 1),
        ] {
            let path = RelPath::parse(path).unwrap();
            let mut findings = Vec::new();
            check(
                &[
                    CheckedFile { path: &skill, bytes: b"---\nname: a\n---\n" },
                    CheckedFile { path: &path, bytes: broken },
                ],
                &mut findings,
            );
            let missing = findings.iter().filter(|f| f.code == Code::LinkMissing);
            assert_eq!(missing.count(), count * if path.as_str().contains('/') { 2 } else { 1 });
        }
    }

    #[test]
    fn a_link_upwards_inside_a_skill_is_worth_a_note_and_no_rewrite_rs_11() {
        let [skill, inner, other] = ["SKILL.md", "references/a.md", "scripts/b.md"]
            .map(|path| RelPath::parse(path).unwrap());
        let mut findings = Vec::new();
        check(
            &[
                CheckedFile { path: &skill, bytes: b"[a](references/a.md) [b](scripts/b.md)" },
                CheckedFile { path: &inner, bytes: b"See [b](../scripts/b.md)." },
                CheckedFile { path: &other, bytes: b"" },
            ],
            &mut findings,
        );
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.code, finding.level), (Code::LinkUpwards, crate::code::Level::Info));
        assert!(!finding.help.as_ref().unwrap().contains("scripts/b.md"), "{finding:?}");
    }

    #[test]
    fn a_path_in_the_text_that_is_no_file_of_the_skill_is_reported_rs_13() {
        let skill = RelPath::skill_file();
        let there = RelPath::parse("scripts/run.py").unwrap();
        let deep = RelPath::parse("parts/references/deep.md").unwrap();
        let body = "Run `python scripts/run.py`, then read references/gone.md and resources/x.txt.\n\
                    See references/deep.md, [it](references/linked.md) and `scripts/run.py`.\n";
        let mut findings = Vec::new();
        check(
            &[
                CheckedFile { path: &skill, bytes: body.as_bytes() },
                CheckedFile { path: &there, bytes: b"" },
                CheckedFile { path: &deep, bytes: b"" },
            ],
            &mut findings,
        );
        let named = findings.iter().filter(|f| f.code == Code::PathMissing);
        let named: Vec<_> = named.map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            named,
            [
                "The text names `references/gone.md`, which the skill does not have.",
                "The text names `resources/x.txt`, which the skill does not have.",
            ]
        );
    }
}
