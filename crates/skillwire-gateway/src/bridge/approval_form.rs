//! The form that asks the user about a skill.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skillwire_core::{
    ContentDiff, LineChange, Resources, SkillEntry, SkillResource, SkillUri, diff_lines,
    visible::{lines, one_line, one_line_within},
};
use skillwire_engine::offer::Form;
use skillwire_host::FileComparison;
use skillwire_trust::{ApprovalCard, ListedSkill, Origin, SignatureCheck, SkillId};

use super::{Bridge, text::count};

/// The field with which the user agrees.
pub(crate) const AGREE: &str = "load";

/// The most files that a form names, and the most of each kind of change.
const MAX_FILES: usize = 40;

/// The most characters of a skill's description.
const MAX_DESCRIPTION: usize = 1_100;

/// The most characters of the description in the first line.
const SUMMARY_DESCRIPTION: usize = 200;

/// The most files that the second line names.
const SUMMARY_FILES: usize = 4;

/// The most characters of a path, a tool or the name of a field.
const MAX_PATH: usize = 200;

/// The most characters of a value of the frontmatter.
const MAX_VALUE: usize = 400;

/// The largest file whose versions are compared; a user would not read more in a form.
const MAX_COMPARED_BYTES: u64 = 256 * 1024;

/// The most lines of a form that show differences.
const MAX_LINES: usize = 80;

/// The most characters of a line that shows a difference.
const MAX_LINE: usize = 300;

/// The longest time that the comparison of two texts may take. A server can write texts that take
/// very long to compare.
const PATIENCE: Duration = Duration::from_millis(500);

impl Bridge {
    /// Writes the form: what the user should see before they agree, and the digest of the exact
    /// content that they approve.
    pub(crate) async fn approval_form(&self, listed: &ListedSkill, card: &ApprovalCard) -> Form {
        let mut text = summary(card);
        text.push('\n');
        describe(&mut text, &card.skill, &card.entry);
        for path in card.unread_files.iter().take(MAX_FILES) {
            let path = one_line_within(path.as_str(), MAX_PATH);
            let _ = writeln!(text, "  {path} (named by the server, not read yet)");
        }
        more(&mut text, card.unread_files.len());
        if !card.arguments.is_empty() {
            let names = card.arguments.iter().map(|it| one_line_within(&it.name, MAX_PATH));
            let names = names.collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                text,
                "Its server writes the instructions for arguments of each load: {names}"
            );
        }
        if card.integrity.is_first_seen() {
            text.push_str(
                "Its server lists no digests: these were taken when the skill was first seen here.\n",
            );
        }
        if !card.requested_tools.is_empty() {
            let tools = card.requested_tools.iter().map(|tool| one_line_within(tool, MAX_PATH));
            let tools = tools.collect::<Vec<_>>().join(", ");
            let _ =
                writeln!(text, "It asks for these tools, which loading does not grant: {tools}");
        }
        for line in card.proposed.run_lines() {
            let _ = writeln!(text, "Each of its scripts gets {line}");
        }
        describe_signature(&mut text, &card.signature);
        if let Some(changes) = &card.changes {
            text.push('\n');
            describe_changes(&mut text, &card.skill.uri, changes);
            text.push_str(&self.changed_lines(listed, changes).await);
        }
        // After the comparison of versions, which reads files: a form that is made again when the
        // answer comes has to be the same.
        self.write_notes(&mut text, card).await;
        match card.content {
            Some(content) => {
                let _ = writeln!(text, "\nYou approve exactly this content: {content}");
            }
            None => text
                .push_str("\nIts files have no digests, so each load can bring other content.\n"),
        }
        text.push_str(
            "It is text for the model. Skillwire cannot control what this client does with it.",
        );
        let field = json!({
            "type": "boolean",
            "title": "Let the model load this skill",
            "description": "Yes lets the model read it until its content changes.",
            "default": false,
        });
        Form::new(text, &json!({ AGREE: field }), &[AGREE])
    }

    /// The changed lines of changed files, for those of which both versions are available.
    async fn changed_lines(&self, skill: &ListedSkill, changes: &ContentDiff) -> String {
        let mut text = String::new();
        let mut left = MAX_LINES;
        for (before, after) in &changes.changed {
            let compared =
                self.host().compare_versions(skill, before, after, MAX_COMPARED_BYTES).await;
            let FileComparison::Texts { approved, listed } = compared else { continue };
            let _ = writeln!(text, "\n{}:", path(&skill.id().uri, after));
            left = write_changed(&mut text, &approved, &listed, left);
            if left == 0 {
                text.push_str("… and more.\n");
                break;
            }
        }
        text
    }
}

/// The first two lines: many clients show no more of a form. The first says what the skill does, in
/// its own words; the second says where it comes from and what it consists of.
fn summary(card: &ApprovalCard) -> String {
    let name = one_line_within(card.entry.frontmatter.name().as_str(), MAX_PATH);
    let description = one_line_within(card.entry.frontmatter.description(), SUMMARY_DESCRIPTION);
    let question = match card.changes {
        None => "Load the skill",
        Some(_) => "Load the skill, which has changed since you approved it:",
    };
    let origin = origin(&card.skill.origin);
    let files = match &card.entry.resources {
        Resources::Dynamic => "its server does not list its files".to_owned(),
        Resources::Listed(files) => {
            let named = files.iter().take(SUMMARY_FILES).map(|file| path(&card.skill.uri, file));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if files.len() > SUMMARY_FILES { ", …" } else { "" };
            let total = files.iter().map(|file| file.size).sum();
            format!("{}, {}: {named}{more}", count(files.len(), "file"), size(total))
        }
    };
    format!("{question} {name}? It says: {description}\nFrom {origin}; {files}\n")
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Server(label) => format!("the MCP server `{label}` (the name you gave it)"),
        Origin::Local => "a skill folder of yours".to_owned(),
        Origin::Project => "a skill folder of this project".to_owned(),
    }
}

/// Says who vouches for the content, if the user has a rule about that.
fn describe_signature(text: &mut String, signature: &SignatureCheck) {
    let _ = match signature {
        SignatureCheck::NotAsked => Ok(()),
        SignatureCheck::Unsigned => writeln!(text, "Signature: none"),
        SignatureCheck::NotRead => writeln!(text, "Signature: there is one, which was not read"),
        SignatureCheck::Refused(problem) => {
            let problem = one_line_within(problem, MAX_VALUE);
            writeln!(text, "Signature: not valid, because it {problem}")
        }
        SignatureCheck::Vouched(vouchers) => vouchers.iter().try_for_each(|voucher| {
            let name = one_line_within(&voucher.name, MAX_PATH);
            let signer = one_line_within(&voucher.signer, MAX_VALUE);
            writeln!(text, "Signed by {name}, whom you trust: {signer}")
        }),
    };
}

pub(crate) fn describe(text: &mut String, skill: &SkillId, entry: &SkillEntry) {
    let _ = writeln!(text, "Skill: {}", one_line(&skill.to_string()));
    let description = one_line_within(entry.frontmatter.description(), MAX_DESCRIPTION);
    if description.chars().count() > SUMMARY_DESCRIPTION {
        let _ = writeln!(text, "What it says it does, in full: {description}");
    }
    let Resources::Listed(files) = &entry.resources else {
        text.push_str("Files: not listed by its server\n");
        return;
    };
    let total = files.iter().map(|file| file.size).sum();
    let _ = writeln!(text, "Files: {}, {} in all", count(files.len(), "file"), size(total));
    for file in files.iter().take(MAX_FILES) {
        let _ = writeln!(text, "  {} ({})", path(&skill.uri, file), size(file.size));
    }
    more(text, files.len());
}

fn describe_changes(text: &mut String, skill: &SkillUri, changes: &ContentDiff) {
    text.push_str("What changed:\n");
    for (sign, files) in [("+", &changes.added), ("-", &changes.removed)] {
        for file in files.iter().take(MAX_FILES) {
            let _ = writeln!(text, "  {sign} {} ({})", path(skill, file), size(file.size));
        }
        more(text, files.len());
    }
    for (before, after) in changes.changed.iter().take(MAX_FILES) {
        let _ = writeln!(
            text,
            "  ~ {} ({}, was {})",
            path(skill, after),
            size(after.size),
            size(before.size)
        );
    }
    more(text, changes.changed.len());
    for field in changes.frontmatter.iter().take(MAX_FILES) {
        let value = |value: &Option<Value>| match value {
            Some(value) => one_line_within(&value.to_string(), MAX_VALUE),
            None => "nothing".to_owned(),
        };
        let pointer = one_line_within(&field.pointer, MAX_PATH);
        let before = value(&field.before);
        let after = value(&field.after);
        let _ = writeln!(text, "  frontmatter {pointer}: {after} (was {before})");
    }
    if changes.is_empty() {
        text.push_str("  It was something else in between, and is what you approved again.\n");
    }
}

/// The path of a file in its skill, with hidden and control characters escaped.
fn path(skill: &SkillUri, file: &SkillResource) -> String {
    let path = skill.below(&file.uri).map_or_else(|| file.uri.to_string(), |path| path.to_string());
    one_line_within(&path, MAX_PATH)
}

fn more(text: &mut String, files: usize) {
    if files > MAX_FILES {
        let _ = writeln!(text, "  … and {} more", count(files - MAX_FILES, "file"));
    }
}

/// Writes a size in the unit that is easiest to read.
fn size(bytes: u64) -> String {
    if bytes < 10_000 {
        format!("{bytes} bytes")
    } else if bytes < 10_000_000 {
        format!("{} kB", bytes / 1_000)
    } else {
        format!("{} MB", bytes / 1_000_000)
    }
}

/// Writes removed and added lines and returns how many more may be written.
fn write_changed(text: &mut String, old: &str, new: &str, mut left: usize) -> usize {
    let hunks = diff_lines(old, new, 0, Instant::now() + PATIENCE);
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        if line.change == LineChange::Unchanged {
            continue;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        let short: String = lines(line.text).chars().take(MAX_LINE).collect();
        let _ = writeln!(text, "  {} {short}", line.change.sign());
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_and_do_not_act() {
        let mut text = String::new();
        let left = write_changed(&mut text, "a\nb\nc\n", "a\nB\u{202e}\nc\n", 10);
        assert_eq!((text.as_str(), left), ("  - b\n  + B\\u{202e}\n", 8));
    }

    #[test]
    fn a_flood_of_changes_is_cut() {
        let new = "x\n".repeat(10_000);
        let mut text = String::new();
        assert_eq!(write_changed(&mut text, "", &new, MAX_LINES), 0);
        assert_eq!(text.lines().count(), MAX_LINES);
    }
}
