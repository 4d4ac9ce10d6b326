//! Everything one source has, kept up to date and judged together.

use std::{collections::BTreeMap, sync::Arc};

use skillwire_core::finding::Finding;

use crate::{
    collect::{judge, occupants},
    namespace::{Namespace, SiteId},
    skill::Skill,
    source::{Inspected, Look, Report, SiteKey, Source, Unavailable},
};

/// The only source of a collection.
const ONLY: usize = 0;

/// The places of a source, as they were when it was last looked at.
#[derive(Debug, Default)]
pub struct Collection {
    namespace: Namespace<Arc<Skill>>,
    sites: BTreeMap<SiteKey, Vec<Inspected>>,
    findings: Vec<Finding>,
}

impl Collection {
    /// Looks at a source again; always at the same one.
    pub fn update(&mut self, source: &dyn Source, look: &Look) -> Result<(), Unavailable> {
        let Self { namespace, sites, findings } = self;
        *findings = source.scan(look, &mut |report| match report {
            Report::Site(key, inspected) => {
                namespace.replace(&id(&key), occupants(&inspected));
                sites.insert(key, inspected);
            }
            Report::Gone(key) => {
                namespace.replace(&id(&key), Vec::new());
                sites.remove(&key);
            }
        })?;
        Ok(())
    }

    /// Each place with its skills, as they stand beside all others.
    pub fn sites(&self) -> impl Iterator<Item = (&SiteKey, Vec<Inspected>)> {
        self.sites.iter().map(|(key, inspected)| {
            let mut inspected = inspected.clone();
            for place in &mut inspected {
                if let Some(skill) = place.skill.clone() {
                    judge(place, &skill, &self.namespace);
                }
            }
            (key, inspected)
        })
    }

    /// The findings that belong to no place.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

fn id(key: &SiteKey) -> SiteId {
    (ONLY, key.clone())
}
