//! Skills that a program puts in and takes out, as a source of the catalogue.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use skillwire_core::Finding;

use crate::{
    skill::Skill,
    source::{
        ChangeCallback, GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange,
        SourceUnavailable,
    },
};

/// Skills that a program puts in and takes out; the next scan reports what changed.
///
/// Clones share everything: one is the source of a server, and the program keeps another.
#[derive(Debug, Clone, Default)]
pub struct HeldSkills(Arc<Mutex<SourceState>>);

#[derive(Default)]
struct SourceState {
    /// What the next scan reports; later changes of a group replace earlier ones.
    unreported: BTreeMap<GroupKey, Option<Arc<Skill>>>,
    on_change: Option<ChangeCallback>,
}

impl std::fmt::Debug for SourceState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceState")
            .field("unreported", &self.unreported.len())
            .finish_non_exhaustive()
    }
}

impl HeldSkills {
    /// Puts skills in or, without a skill, takes them out; each has the key of its group.
    ///
    /// The server that follows this source scans soon after, unless the caller refreshes it at once.
    pub fn set(&self, changes: impl IntoIterator<Item = (String, Option<Arc<Skill>>)>) {
        let callback = {
            let mut state = self.0.lock();
            let keyed = changes.into_iter().map(|(key, skill)| (GroupKey(key.into()), skill));
            state.unreported.extend(keyed);
            state.on_change.clone().filter(|_| !state.unreported.is_empty())
        };
        // The lock is released by now: the receiver may scan at once.
        if let Some(callback) = callback {
            callback();
        }
    }
}

impl SkillSource for HeldSkills {
    fn scan(
        &self,
        _: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let unreported = std::mem::take(&mut self.0.lock().unreported);
        for (key, skill) in unreported {
            report(match skill {
                None => SourceChange::Removed(key),
                Some(skill) => {
                    let origin = key.0.to_string();
                    let inspected =
                        InspectedSkill { origin, findings: Vec::new(), skill: Some(skill) };
                    SourceChange::Updated(key, vec![inspected])
                }
            });
        }
        Ok(Vec::new())
    }

    fn on_change(&self, callback: ChangeCallback) {
        let has_news = {
            let mut state = self.0.lock();
            state.on_change = Some(Arc::clone(&callback));
            !state.unreported.is_empty()
        };
        if has_news {
            callback();
        }
    }
}
