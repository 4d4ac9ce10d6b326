//! Findings about the files of a skill taken together.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use crate::{
    file_rules::{holds_no_secret, secret_kind},
    finding::{Code, Exemption, Finding},
    link_rules,
    path::{RelPath, SKILL_FILE},
    secret_text,
    skill_file::SkillFile,
    uri::percent::encode_path,
};

/// One file of a skill, for checking.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFile<'a> {
    /// The path of the file, relative to the skill's root.
    pub path: &'a RelPath,
    /// The bytes of the file.
    pub bytes: &'a [u8],
}

/// Checks names, links and scripts of a complete set of files.
///
/// `skill` is the parsed `SKILL.md` among them, or `None` if it could not be parsed.
pub fn check(skill: Option<&SkillFile>, files: &[CheckedFile<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_names(files, &mut findings);
    check_twins(files, &mut findings);
    if let Some(skill) = skill {
        check_license(skill, files, &mut findings);
    }
    link_rules::check(files, &mut findings);
    check_scripts(files, &mut findings);
    findings
}

fn check_names(files: &[CheckedFile<'_>], findings: &mut Vec<Finding>) {
    for path in files.iter().map(|file| file.path) {
        if encode_path(path) != path.as_str() {
            findings.push(Finding::new(
                Code::FileNameEncoded,
                path.as_str(),
                "The file name is percent-encoded in its URI.",
            ));
        }
        // A file that looks like a secret has a finding of its own, unless the operator allowed it.
        let is_secret = secret_kind(path.file_name()).is_some();
        if !is_secret && path.segments().any(|segment| segment.starts_with('.')) {
            findings.push(Finding::new(
                Code::HiddenFile,
                path.as_str(),
                "The hidden file is part of the skill and is served.",
            ));
        }
    }
}

/// Reports a file whose name says that it holds a secret, unless its bytes show that it does not.
///
/// Without bytes the name alone decides.
pub fn check_secret(path: &RelPath, bytes: Option<&[u8]>) -> Option<Finding> {
    let kind = secret_kind(path.file_name())?;
    if bytes.is_some_and(|bytes| holds_no_secret(path.file_name(), bytes)) {
        return None;
    }
    Some(
        Finding::new(
            Code::SecretFile,
            path.as_str(),
            format!("The file looks like {kind}, and everything in a skill is served."),
        )
        .help("Move it out of the skill, or allow it if it is not a secret.")
        .exempt_by(Exemption::SecretFile(path.file_name().to_owned())),
    )
}

/// The most keys and tokens of one file that are reported.
const MOST_SECRETS: usize = 20;

/// Reports keys and tokens in a text, each with its line.
pub fn check_secret_text(file: CheckedFile<'_>) -> Vec<Finding> {
    let Ok(text) = std::str::from_utf8(file.bytes) else { return Vec::new() };
    let report = |secret: secret_text::SecretText| {
        let kind = secret.kind;
        // A pattern for the name of `SKILL.md` would let through what every other skill says.
        let path = file.path.as_str();
        let exemption =
            (secret.sure && path != SKILL_FILE).then(|| Exemption::SecretFile(path.to_owned()));
        let (code, message, help) = if secret.sure {
            let remove = "Remove it, and revoke it if it was ever published";
            let help = if exemption.is_some() {
                format!("{remove}; or allow it if it is not a secret.")
            } else {
                format!("{remove}.")
            };
            let message = format!("This looks like {kind}, and everything in a skill is served.");
            (Code::SecretText, message, help)
        } else {
            let message = format!("This may be {kind}, and everything in a skill is served.");
            let help = "Remove and revoke it if it is real; if not, write what is seen to be an \
                        example, such as `your-key-here`.";
            (Code::SecretPossible, message, help.to_owned())
        };
        let finding = Finding::new(code, path, message).help(help).at(file.bytes, secret.span);
        Finding { exemption, ..finding }
    };
    secret_text::find(text).take(MOST_SECRETS).map(report).collect()
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
                .help("Rename one of them: systems that take both for one name keep only one."),
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
    let missing = named.filter(|name| !files.iter().any(|file| file.path.as_str() == *name));
    let Some(name) = missing else { return };
    let message = format!("`license` names `{name}`, which the skill does not have.");
    let finding = Finding::new(Code::LicenseFileMissing, SKILL_FILE, message)
        .help("Add the file, or write a short licence name such as `Apache-2.0`.");
    let skill_md = files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    findings.push(match skill_md.zip(skill.license) {
        Some((file, span)) => finding.at(file.bytes, span),
        None => finding,
    });
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
