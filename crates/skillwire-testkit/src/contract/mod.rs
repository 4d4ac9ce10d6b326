//! The contract of [`SkillSource`], as tests for every implementation, also those of other
//! projects.
//!
//! ```
//! # mod tests {
//! use skillwire_source::MemorySource;
//!
//! // Put this into a module of its own: each rule of the contract becomes one test.
//! skillwire_testkit::source_contract!(|| {
//!     let mut source = MemorySource::new("notes");
//!     // ... add skills; at least one of them must be served.
//!     source
//! });
//! # }
//! ```
//!
//! A second function, which changes the source, adds the rule about changes.

mod changes;
mod skills;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use skillwire_core::Strictness;
use skillwire_source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange};

pub use self::{
    changes::{
        a_change_is_reported_once, an_unchanged_source_reports_nothing,
        concurrent_scans_lose_nothing,
    },
    skills::{entries_match_their_files, files_read_back, skills_can_be_served_together},
};

/// How a source broke a rule of the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ContractViolation(String);

/// Whether a source keeps a rule.
pub type ContractResult = Result<(), ContractViolation>;

fn violated<T>(text: impl Into<String>) -> Result<T, ContractViolation> {
    Err(ContractViolation(text.into()))
}

/// Makes the tests of the contract: `source_contract!(make)` or `source_contract!(make, change)`.
///
/// `make` makes a source with at least one skill that is served, and always an equal one. `change`
/// gets such a source and changes something in it.
#[macro_export]
macro_rules! source_contract {
    ($make:expr) => {
        $crate::source_contract!(@rules $make;
            the_first_scan_reports_every_group
            an_unchanged_source_reports_nothing
            concurrent_scans_lose_nothing
            files_read_back
            entries_match_their_files
            skills_can_be_served_together
        );
    };
    ($make:expr, $change:expr) => {
        $crate::source_contract!($make);

        #[test]
        fn a_change_is_reported_once() {
            $crate::contract::a_change_is_reported_once($make, $change).unwrap();
        }
    };
    (@rules $make:expr; $($rule:ident)*) => {
        $(
            #[test]
            fn $rule() {
                $crate::contract::$rule($make).unwrap();
            }
        )*
    };
}

/// The groups that one scan reported, by key.
type Groups = BTreeMap<GroupKey, Vec<InspectedSkill>>;

/// What one scan reported.
#[derive(Debug, Default)]
struct Scanned {
    updated: Groups,
    removed: Vec<GroupKey>,
}

/// Scans once, and checks what holds for every scan.
fn scan(source: &dyn SkillSource, request: &ScanRequest) -> Result<Scanned, ContractViolation> {
    let mut scanned = Scanned::default();
    let mut repeated = None;
    let mut report = |change: SourceChange| match change {
        SourceChange::Updated(key, inspected) => {
            if scanned.updated.insert(key.clone(), inspected).is_some() {
                repeated = Some(key);
            }
        }
        SourceChange::Removed(key) => scanned.removed.push(key),
    };
    let ended = catch_unwind(AssertUnwindSafe(|| source.scan(request, &mut report)));
    match ended {
        Err(_) => return violated("The scan panicked."),
        Ok(Err(unavailable)) => {
            return violated(format!("The source is unavailable: {unavailable}."));
        }
        Ok(Ok(_)) => {}
    }
    if let Some(GroupKey(key)) = repeated {
        return violated(format!("One scan reported the group `{key}` twice."));
    }
    for inspected in scanned.updated.values().flatten() {
        let silent = inspected.reasons(Strictness::Strict).next().is_none();
        if inspected.skill.is_none() && silent {
            let origin = &inspected.origin;
            return violated(format!("`{origin}` is not served, and no finding says why."));
        }
    }
    Ok(scanned)
}

/// The first scan of a source.
fn first_scan(source: &dyn SkillSource) -> Result<Groups, ContractViolation> {
    let scanned = scan(source, &ScanRequest::everything())?;
    if let Some(GroupKey(key)) = scanned.removed.first() {
        return violated(format!(
            "The first scan reports that `{key}` was removed, but it was never reported."
        ));
    }
    if !scanned.updated.values().flatten().any(|inspected| inspected.skill.is_some()) {
        return violated("No skill is served, so the contract cannot be tested. Add a skill.");
    }
    Ok(scanned.updated)
}

/// The entries that clients would get, by group.
fn entries(groups: &Groups) -> BTreeMap<&str, Vec<Cow<'_, str>>> {
    groups
        .iter()
        .map(|(GroupKey(key), inspected)| {
            let skills = inspected.iter().filter_map(|one| one.skill.as_deref());
            (&**key, skills.map(|skill| skill.entry.text()).collect())
        })
        .collect()
}

/// The first scan reports every group: an equal source reports the same groups, with the same keys
/// and entries.
pub fn the_first_scan_reports_every_group<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    let first = first_scan(&make())?;
    let second = first_scan(&make())?;
    if entries(&first) == entries(&second) {
        return Ok(());
    }
    violated(format!(
        "Two equal sources report differently: {:?} and {:?}.",
        entries(&first),
        entries(&second)
    ))
}
