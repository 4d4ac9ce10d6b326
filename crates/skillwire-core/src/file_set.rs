//! Findings about the files of a skill taken together.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use crate::{
    file_rules::secret_kind,
    finding::{Code, Finding},
    links::{self, Target},
    path::{RelPath, SKILL_FILE},
    skill_file::SkillFile,
    uri::encodes,
};

/// One file of a skill, for checking.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFile<'a> {
    /// Where the file is, relative to the skill's root.
    pub path: &'a RelPath,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Checks names, links and scripts of a complete set of files.
pub fn check(skill: &SkillFile, files: &[CheckedFile<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_names(files, &mut findings);
    check_twins(files, &mut findings);
    check_license(skill, files, &mut findings);
    check_links(skill, files, &mut findings);
    check_scripts(files, &mut findings);
    findings
}

fn check_names(files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    for path in files.iter().map(|file| file.path) {
        if encodes(path) {
            findings.push(Finding::new(
                Code::FileNameEncoded,
                path.as_str(),
                "The file name is percent-encoded in its URI.",
            ));
        }
        if path.segments().any(|segment| segment.starts_with('.')) {
            findings.push(Finding::new(
                Code::HiddenFile,
                path.as_str(),
                "The hidden file is part of the skill and is served.",
            ));
        }
    }
}

/// Reports a file whose name says that it holds a secret.
pub fn check_secret(path: &RelPath) -> Option<Finding> {
    let kind = secret_kind(path.file_name())?;
    Some(
        Finding::new(
            Code::SecretFile,
            path.as_str(),
            format!("The file looks like {kind}, and everything in a skill is served."),
        )
        .help(format!(
            "Move it out of the skill, or pass `--allow-secret-file '{}'` if it is none.",
            path.file_name()
        )),
    )
}

/// Finds names that some file systems cannot keep apart.
fn check_twins(files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    let mut by_folded: BTreeMap<String, &RelPath> = BTreeMap::new();
    for path in files.iter().map(|file| file.path) {
        let folded: String = path.as_str().nfkc().flat_map(char::to_lowercase).nfc().collect();
        if let Some(first) = by_folded.insert(folded, path) {
            findings.push(
                Finding::new(
                    Code::FileNameTwins,
                    path.as_str(),
                    format!("The name differs from `{first}` only by case or Unicode form."),
                )
                .help("Rename one of them: hosts that store files refuse such a pair."),
            );
        }
    }
}

fn check_license(skill: &SkillFile, files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    let Some(license) = skill.frontmatter.fields().get("license").and_then(|v| v.as_str()) else {
        return;
    };
    let named = license
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .find(|word| {
            let lower = word.to_ascii_lowercase();
            matches!(lower.split_once('.'), Some(("license" | "licence", "txt" | "md")))
        });
    if let Some(name) = named
        && !files.iter().any(|file| file.path.as_str() == name)
    {
        findings.push(
            Finding::new(
                Code::LicenseFileMissing,
                SKILL_FILE,
                format!("`license` names `{name}`, which the skill does not have."),
            )
            .help("Add the file, or write a short licence name such as `Apache-2.0`."),
        );
    }
}

fn check_links(skill: &SkillFile, files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let exists = |path: &str| {
        path.is_empty()
            || paths.contains(path)
            || paths
                .range(path..)
                .any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    };
    let mut linked = Vec::new();
    for file in files.iter().filter(|file| is_markdown(file.path)) {
        let Ok(text) = std::str::from_utf8(file.bytes) else { continue };
        let is_skill_file = file.path.as_str() == SKILL_FILE;
        let start = if is_skill_file { skill.body_offset } else { 0 };
        let base = file.path.parent().map_or(String::new(), |parent| parent.to_string());
        for link in links::find(&text[start..], start) {
            match links::resolve(&base, &link.target) {
                Target::Elsewhere => {}
                Target::NotPortable => findings.push(
                    Finding::new(
                        Code::LinkNotPortable,
                        file.path.as_str(),
                        format!("The link `{}` leads out of the skill.", link.target),
                    )
                    .help("Link to files of the skill by relative path, with `/`.")
                    .at(file.bytes, link.span),
                ),
                Target::Inside(path) if !exists(&path) => findings.push(
                    Finding::new(
                        Code::LinkMissing,
                        file.path.as_str(),
                        format!("The skill has no file `{path}`."),
                    )
                    .help("Add the file or mend the link; a host without a disk can follow only links to files that are served.")
                    .at(file.bytes, link.span),
                ),
                Target::Inside(path) => linked.push((file.path.as_str(), path)),
            }
        }
    }
    check_chains(&linked, findings);
}

/// Reports files that only a reference mentions, when `SKILL.md` does not.
fn check_chains(linked: &[(&str, String)], findings: &mut Vec<Finding>) {
    let from_skill: BTreeSet<&str> =
        linked.iter().filter(|(from, _)| *from == SKILL_FILE).map(|(_, to)| to.as_str()).collect();
    let mut seen = BTreeSet::new();
    for (from, to) in linked {
        let second_hand = from_skill.contains(from) && !from_skill.contains(to.as_str());
        if second_hand && to != SKILL_FILE && is_markdown_name(to) && seen.insert(to) {
            findings.push(
                Finding::new(
                    Code::LinkChain,
                    *from,
                    format!("`{to}` is reached only through this file, not from `SKILL.md`."),
                )
                .help("Link to it from `SKILL.md` as well: agents rarely follow chains."),
            );
        }
    }
}

/// Advises a first line that says how a script is run.
fn check_scripts(files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    for file in files {
        let script = file.path.as_str().starts_with("scripts/");
        let named = file.path.file_name().contains('.');
        if script
            && !named
            && !file.bytes.starts_with(b"#!")
            && std::str::from_utf8(file.bytes).is_ok()
        {
            findings.push(
                Finding::new(
                    Code::ScriptWithoutInterpreter,
                    file.path.as_str(),
                    "Neither the name nor the first line says how the script is run.",
                )
                .help("Begin it with a line such as `#!/usr/bin/env python3`."),
            );
        }
    }
}

fn is_markdown(path: &RelPath) -> bool {
    is_markdown_name(path.file_name())
}

fn is_markdown_name(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("md"))
}
