//! Which of several local skills a bare name means, and the handles of the others.

use std::collections::{BTreeMap, BTreeSet};

use skillwire_core::{Code, Finding};
use skillwire_trust::Origin;

use super::skill::LocalSkill;

/// Gives every skill its own handle and reports which ones are hidden.
///
/// The first skill of a name wins: the project before the user, then the order of the folders.
pub(super) fn settle(skills: &mut [LocalSkill]) -> Vec<Finding> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut taken: BTreeSet<(Origin, String)> = BTreeSet::new();
    let mut findings = Vec::new();
    for skill in skills {
        let name = skill.entry().frontmatter.name().to_string();
        if !taken.insert((skill.origin().clone(), name.clone())) {
            skill.handle = format!("{}:{}", skill.origin(), path(skill));
        }
        match first.get(&name) {
            None => {
                first.insert(name, skill.handle.clone());
            }
            Some(winner) => {
                let message = format!("The skill `{name}` is hidden by `{winner}`.");
                let finding = Finding::new(Code::DuplicateName, path(skill), message)
                    .help(format!("Use `{}` to name it, or remove one of them.", skill.handle));
                findings.push(finding);
                skill.hidden_by = Some(winner.clone());
            }
        }
    }
    findings
}

/// Returns the skill's path below its base, as in its URI.
fn path(skill: &LocalSkill) -> String {
    let root = skill.entry().uri.root().as_str();
    root.split_once("://").map_or(root, |(_, path)| path).to_owned()
}
