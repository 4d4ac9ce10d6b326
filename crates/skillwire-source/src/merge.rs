//! Putting the skills of several sources into one namespace.

use std::collections::BTreeMap;

use skillwire_core::{
    finding::{Code, Finding},
    path::SKILL_FILE,
};

use crate::{
    skill::Skill,
    source::{Inspected, Scan},
};

/// Merges scans: two skills at one path are both refused and named, a skill that would stand
/// inside another one's directory without being part of it is refused, and shared names are
/// pointed out.
pub fn merge(scans: impl IntoIterator<Item = Scan>) -> Scan {
    let mut merged = Scan::default();
    for scan in scans {
        merged.inspected.extend(scan.inspected);
        merged.findings.extend(scan.findings);
    }
    refuse_shared_paths(&mut merged.inspected);
    refuse_intruders(&mut merged.inspected);
    report_shared_names(&mut merged.inspected);
    merged.inspected.sort_by(|a, b| {
        let key = |inspected: &Inspected| inspected.skill.as_ref().map(|skill| skill.uri.clone());
        key(a).cmp(&key(b)).then_with(|| a.origin.cmp(&b.origin))
    });
    merged
}

fn refuse_shared_paths(inspected: &mut [Inspected]) {
    let mut by_uri: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, skill) in served(inspected) {
        by_uri.entry(skill.uri.to_string()).or_default().push(index);
    }
    for (uri, indices) in by_uri.into_iter().filter(|(_, indices)| indices.len() > 1) {
        let origins: Vec<String> =
            indices.iter().map(|index| format!("`{}`", inspected[*index].origin)).collect();
        for index in indices {
            let message = format!("{} would all be served at `{uri}`.", origins.join(" and "));
            refuse(
                &mut inspected[index],
                Finding::new(Code::PathCollision, SKILL_FILE, message)
                    .help("Rename one of them, or serve one folder under a prefix (`team=DIR`)."),
            );
        }
    }
}

fn refuse_intruders(inspected: &mut [Inspected]) {
    let roots: BTreeMap<&str, usize> =
        served(inspected).map(|(index, skill)| (skill.uri.root().as_str(), index)).collect();
    let intruders: Vec<(usize, usize)> = served(inspected)
        .filter_map(|(index, skill)| {
            let mut above = skill.uri.root().parent();
            while let Some(directory) = above {
                if let Some(owner) = roots.get(directory.as_str())
                    && !inspected[*owner].skill.as_ref().is_some_and(|owner| owner.lists(skill))
                {
                    return Some((index, *owner));
                }
                above = directory.parent();
            }
            None
        })
        .collect();
    for (intruder, owner) in intruders {
        let message = format!(
            "It would stand inside the skill of `{}`, whose manifest does not list it.",
            inspected[owner].origin
        );
        refuse(
            &mut inspected[intruder],
            Finding::new(Code::PathCollision, SKILL_FILE, message)
                .help("Serve one of the folders under another prefix (`team=DIR`)."),
        );
    }
}

fn report_shared_names(inspected: &mut [Inspected]) {
    let mut by_name: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (index, skill) in served(inspected) {
        by_name
            .entry(skill.frontmatter.name().to_string())
            .or_default()
            .push((index, skill.path.to_string()));
    }
    for (name, places) in by_name.into_iter().filter(|(_, places)| places.len() > 1) {
        let paths: Vec<_> = places.iter().map(|(_, path)| format!("`{path}`")).collect();
        for (index, _) in &places {
            let message = format!("The name `{name}` is shared by {}.", paths.join(" and "));
            let file = format!("{}/{SKILL_FILE}", inspected[*index].origin);
            inspected[*index].findings.push(
                Finding::new(Code::DuplicateName, file, message)
                    .help("Hosts must tell them apart by path; distinct names are easier."),
            );
        }
    }
}

fn served(inspected: &[Inspected]) -> impl Iterator<Item = (usize, &Skill)> {
    inspected
        .iter()
        .enumerate()
        .filter_map(|(index, inspected)| inspected.skill.as_ref().map(|skill| (index, skill)))
}

fn refuse(inspected: &mut Inspected, mut finding: Finding) {
    finding.file = format!("{}/{}", inspected.origin, finding.file);
    inspected.findings.push(finding);
    inspected.skill = None;
}
