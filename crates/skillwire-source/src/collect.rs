//! Reading sources once, whole, for a report instead of a server.

use std::sync::Arc;

use skillwire_core::{
    finding::{Code, Finding},
    path::SKILL_FILE,
};

use crate::{
    namespace::{Namespace, some_of},
    skill::Skill,
    source::{Inspected, Look, Report, Source, Unavailable},
};

/// Everything sources have, judged together.
#[derive(Debug, Default)]
pub struct Collected {
    /// Each place that is or tried to be a skill: served ones by URI, then the others by origin.
    pub inspected: Vec<Inspected>,
    /// Findings that belong to no skill.
    pub findings: Vec<Finding>,
}

/// Reads all sources and puts their skills into one namespace.
pub fn collect(sources: &[&dyn Source]) -> Result<Collected, Unavailable> {
    let mut namespace: Namespace<Arc<Skill>> = Namespace::default();
    let mut collected = Collected::default();
    for (index, source) in sources.iter().enumerate() {
        let findings = source.scan(&Look::everywhere(), &mut |report| {
            if let Report::Site(key, inspected) = report {
                namespace.replace(&(index, key), occupants(&inspected));
                collected.inspected.extend(inspected);
            }
        })?;
        collected.findings.extend(findings);
    }
    for inspected in &mut collected.inspected {
        if let Some(skill) = inspected.skill.clone() {
            judge(inspected, &skill, &namespace);
        }
    }
    collected.inspected.sort_by(|a, b| key(a).cmp(&key(b)));
    Ok(collected)
}

/// What a site wants to put into a namespace.
pub fn occupants(inspected: &[Inspected]) -> Vec<(String, Arc<Skill>)> {
    inspected
        .iter()
        .filter_map(|inspected| {
            Some((inspected.origin.clone(), Arc::clone(inspected.skill.as_ref()?)))
        })
        .collect()
}

fn key(inspected: &Inspected) -> (bool, &str, &str) {
    match &inspected.skill {
        Some(skill) => (false, skill.uri.as_str(), &inspected.origin),
        None => (true, "", &inspected.origin),
    }
}

/// Adds what the namespace has against a skill, or notes that it shares its name.
pub(crate) fn judge(inspected: &mut Inspected, skill: &Skill, namespace: &Namespace<Arc<Skill>>) {
    let disputes = namespace.disputes(skill.uri.as_str());
    if !disputes.is_empty() {
        let own = disputes.into_iter().find(|(origin, _)| *origin == inspected.origin);
        inspected.findings.extend(own.map(|(_, finding)| finding));
        inspected.skill = None;
    } else if let Some(finding) = shared_name(&inspected.origin, skill, namespace) {
        inspected.findings.push(finding);
    }
}

/// Points out that a skill shares its name with others.
pub fn shared_name(
    origin: &str,
    skill: &Skill,
    namespace: &Namespace<Arc<Skill>>,
) -> Option<Finding> {
    let uris = namespace.namesakes(&skill.uri)?;
    let shown = some_of(uris.iter());
    let message = format!("The name `{}` is shared by {shown}.", skill.name());
    Some(
        Finding::new(Code::DuplicateName, format!("{origin}/{SKILL_FILE}"), message)
            .help("Hosts must tell them apart by path; distinct names are easier."),
    )
}
