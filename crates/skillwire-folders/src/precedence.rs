//! Which of several local skills a bare name means, and the handles of the others.

use std::collections::{BTreeMap, BTreeSet};

use skillwire_core::{Code, ContentId, ContentSet, Finding};
use skillwire_trust::Origin;

use super::skill::LocalSkill;

/// The skill that a bare name means.
struct Winner {
    handle: String,
    content: Option<ContentId>,
}

/// Gives every skill its own handle and reports which ones are hidden.
///
/// The first skill of a name wins: the project before the user, then the order of the folders. A copy of
/// the winner, as several agents have one, is not reported: its name means the same bytes either way.
pub(super) fn settle(skills: &mut [LocalSkill]) -> Vec<Finding> {
    let mut first: BTreeMap<String, Winner> = BTreeMap::new();
    let mut taken: BTreeSet<(Origin, String)> = BTreeSet::new();
    let mut findings = Vec::new();
    for skill in skills {
        let name = skill.entry().frontmatter.name().to_string();
        if !taken.insert((skill.origin().clone(), name.clone())) {
            skill.handle = format!("{}:{}", skill.origin(), path(skill));
        }
        match first.get(&name) {
            None => {
                let winner = Winner { handle: skill.handle.clone(), content: content(skill) };
                first.insert(name, winner);
            }
            Some(winner) => {
                if winner.content.is_none() || winner.content != content(skill) {
                    let message = format!("The skill `{name}` is hidden by `{}`.", winner.handle);
                    let finding = Finding::new(Code::DuplicateName, path(skill), message)
                        .help(format!("Use `{}` to name it, or remove one of them.", skill.handle));
                    findings.push(finding);
                }
                skill.hidden_by = Some(winner.handle.clone());
            }
        }
    }
    findings
}

/// Returns the identity of the skill's files.
fn content(skill: &LocalSkill) -> Option<ContentId> {
    ContentSet::of(skill.entry())?.content_id().ok()
}

/// Returns the skill's path below its base, as in its URI.
fn path(skill: &LocalSkill) -> String {
    let root = skill.entry().uri.root().as_str();
    root.split_once("://").map_or(root, |(_, path)| path).to_owned()
}
