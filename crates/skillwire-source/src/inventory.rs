//! All skills of one or more sources, checked against each other.
//!
//! Author tools need this: `check` scans several folders once, and `watch` keeps the skills of one
//! folder up to date. A server uses a catalogue instead.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use skillwire_core::{Code, Finding, SKILL_FILE};

use crate::{
    namespace::{GroupId, UriNamespace, list_a_few},
    skill::Skill,
    source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

/// What [`scan_all`] found.
#[derive(Debug, Default)]
pub struct ScanResults {
    /// Every skill and every directory that failed to be one: served skills by URI, then the others
    /// by origin.
    pub skills: Vec<InspectedSkill>,
    /// Findings that belong to no skill.
    pub findings: Vec<Finding>,
}

/// Scans sources once and checks that their skills can be served together.
pub fn scan_all(sources: &[&dyn SkillSource]) -> Result<ScanResults, SourceUnavailable> {
    let mut results = ScanResults::default();
    for mut scanned in scan_each(sources)? {
        results.skills.append(&mut scanned.skills);
        results.findings.append(&mut scanned.findings);
    }
    results.skills.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    Ok(results)
}

/// Like [`scan_all`], with the results of each source on their own.
#[tracing::instrument(level = "debug", skip_all, fields(sources = sources.len()))]
pub fn scan_each(sources: &[&dyn SkillSource]) -> Result<Vec<ScanResults>, SourceUnavailable> {
    let mut namespace: UriNamespace<Arc<Skill>> = UriNamespace::default();
    let mut all = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let mut results = ScanResults::default();
        results.findings = source.scan(&ScanRequest::everything(), &mut |change| {
            if let SourceChange::Updated(key, skills) = change {
                namespace.replace(&(index, key), servable(&skills));
                results.skills.extend(skills);
            }
        })?;
        all.push(results);
    }
    for results in &mut all {
        for inspected in &mut results.skills {
            check_against(&namespace, inspected);
        }
        results.skills.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    }
    Ok(all)
}

/// The skills of one source, updated by repeated scans.
#[derive(Debug, Default)]
pub struct SkillInventory {
    namespace: UriNamespace<Arc<Skill>>,
    groups: BTreeMap<GroupKey, Vec<InspectedSkill>>,
    findings: Vec<Finding>,
}

impl SkillInventory {
    /// Scans the source again; an inventory always belongs to the same source.
    #[tracing::instrument(level = "debug", skip_all, fields(paths = request.paths.as_ref().map(BTreeSet::len)))]
    pub fn update(
        &mut self,
        source: &dyn SkillSource,
        request: &ScanRequest,
    ) -> Result<(), SourceUnavailable> {
        let Self { namespace, groups, findings } = self;
        *findings = source.scan(request, &mut |change| match change {
            SourceChange::Updated(key, skills) => {
                namespace.replace(&only_source(&key), servable(&skills));
                groups.insert(key, skills);
            }
            SourceChange::Removed(key) => {
                namespace.replace(&only_source(&key), Vec::new());
                groups.remove(&key);
            }
        })?;
        namespace.settle();
        Ok(())
    }

    /// Each group with its skills, checked against all other skills of the source.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupKey, Vec<InspectedSkill>)> {
        self.groups.iter().map(|(key, skills)| {
            let mut skills = skills.clone();
            for inspected in &mut skills {
                check_against(&self.namespace, inspected);
            }
            (key, skills)
        })
    }

    /// The findings that belong to no skill.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// The skills of a group that claim a URI, with the origin of each.
pub fn servable(skills: &[InspectedSkill]) -> Vec<(String, Arc<Skill>)> {
    skills
        .iter()
        .filter_map(|inspected| {
            Some((inspected.origin.clone(), Arc::clone(inspected.skill.as_ref()?)))
        })
        .collect()
}

/// Points out that a skill shares its name with others.
pub fn shared_name_finding(
    origin: &str,
    skill: &Skill,
    namespace: &UriNamespace<Arc<Skill>>,
) -> Option<Finding> {
    let uris = namespace.uris_with_same_name(&skill.uri)?;
    let shown = list_a_few(uris.iter());
    let message = format!("The name `{}` is shared by {shown}.", skill.name());
    Some(
        Finding::new(Code::DuplicateName, format!("{origin}/{SKILL_FILE}"), message)
            .help("Hosts must tell them apart by path; distinct names are easier."),
    )
}

/// Refuses a skill whose URI is disputed, or adds a finding if its name is shared.
fn check_against(namespace: &UriNamespace<Arc<Skill>>, inspected: &mut InspectedSkill) {
    let Some(skill) = inspected.skill.clone() else { return };
    let is_holder =
        namespace.holder(skill.uri.as_str()).is_some_and(|one| Arc::ptr_eq(one, &skill));
    if !is_holder {
        let conflicts = namespace.conflicts(skill.uri.as_str());
        let own = conflicts.into_iter().find(|(origin, _)| *origin == inspected.origin);
        inspected.findings.extend(own.map(|(_, finding)| finding));
        inspected.skill = None;
    } else if let Some(finding) = shared_name_finding(&inspected.origin, &skill, namespace) {
        inspected.findings.push(finding);
    }
}

/// Served skills come first, ordered by URI.
fn sort_key(inspected: &InspectedSkill) -> (bool, &str, &str) {
    match &inspected.skill {
        Some(skill) => (false, skill.uri.as_str(), &inspected.origin),
        None => (true, "", &inspected.origin),
    }
}

fn only_source(key: &GroupKey) -> GroupId {
    (0, key.clone())
}
