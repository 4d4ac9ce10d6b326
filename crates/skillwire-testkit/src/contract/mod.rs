//! What every [`SkillSource`] must keep, as tests that others can run against theirs.
//!
//! ```
//! # mod tests {
//! use skillwire_source::MemorySource;
//!
//! // In a module of its own: each rule of the contract becomes one test.
//! skillwire_testkit::source_contract!(|| {
//!     let mut source = MemorySource::new("notes");
//!     // ... add skills; at least one must be served.
//!     source
//! });
//! # }
//! ```
//!
//! A second function, which changes something in the source, adds the rules about changes.

mod changes;
mod skills;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use skillwire_core::finding::Strictness;
use skillwire_source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange};

pub use self::{
    changes::{
        a_change_is_reported_once, a_settled_source_has_no_news, scans_at_once_lose_nothing,
    },
    skills::{entries_fit_their_files, files_read_back, sites_have_room_for_each_other},
};

/// What a source did that it must not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

/// Whether a rule is kept.
pub type Kept = Result<(), Violation>;

fn violated<T>(text: impl Into<String>) -> Result<T, Violation> {
    Err(Violation(text.into()))
}

/// Makes tests of the contract: `source_contract!(make)` or `source_contract!(make, change)`.
///
/// `make` is a function that makes a source with at least one skill that is served, always the same
/// one. `change` is a function that is given such a source and changes something in it.
#[macro_export]
macro_rules! source_contract {
    ($make:expr) => {
        $crate::source_contract!(@rules $make;
            the_first_scan_reports_every_site
            a_settled_source_has_no_news
            scans_at_once_lose_nothing
            files_read_back
            entries_fit_their_files
            sites_have_room_for_each_other
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

/// Sites by their key, as one scan reported them.
type Sites = BTreeMap<GroupKey, Vec<InspectedSkill>>;

/// What one scan said.
#[derive(Debug, Default)]
struct Scanned {
    sites: Sites,
    gone: Vec<GroupKey>,
}

/// Scans once, and insists on what holds for every scan.
fn scan(source: &dyn SkillSource, look: &ScanRequest) -> Result<Scanned, Violation> {
    let mut scanned = Scanned::default();
    let mut repeated = None;
    let mut report = |report: SourceChange| match report {
        SourceChange::Updated(key, inspected) => {
            if scanned.sites.insert(key.clone(), inspected).is_some() {
                repeated = Some(key);
            }
        }
        SourceChange::Removed(key) => scanned.gone.push(key),
    };
    let ended = catch_unwind(AssertUnwindSafe(|| source.scan(look, &mut report)));
    match ended {
        Err(_) => return violated("The scan panicked."),
        Ok(Err(unavailable)) => {
            return violated(format!("The source is unavailable: {unavailable}."));
        }
        Ok(Ok(_)) => {}
    }
    if let Some(GroupKey(key)) = repeated {
        return violated(format!("One scan reported the site `{key}` twice."));
    }
    for inspected in scanned.sites.values().flatten() {
        let silent = inspected.reasons(Strictness::Strict).next().is_none();
        if inspected.skill.is_none() && silent {
            let origin = &inspected.origin;
            return violated(format!("`{origin}` is not served, and no finding says why."));
        }
    }
    Ok(scanned)
}

/// The first scan of a source.
fn first_scan(source: &dyn SkillSource) -> Result<Sites, Violation> {
    let scanned = scan(source, &ScanRequest::everything())?;
    if let Some(GroupKey(key)) = scanned.gone.first() {
        return violated(format!(
            "The first scan says that `{key}` is gone, which never was there."
        ));
    }
    if !scanned.sites.values().flatten().any(|inspected| inspected.skill.is_some()) {
        return violated("No skill is served, so the contract cannot be shown; add one.");
    }
    Ok(scanned.sites)
}

/// What clients would be sent about each site.
fn entries(sites: &Sites) -> BTreeMap<&str, Vec<&str>> {
    sites
        .iter()
        .map(|(GroupKey(key), inspected)| {
            let skills = inspected.iter().filter_map(|one| one.skill.as_deref());
            (&**key, skills.map(|skill| &*skill.entry).collect())
        })
        .collect()
}

/// The first scan reports every site: a source that is made again reports the same ones, under the
/// same names and with the same entries.
pub fn the_first_scan_reports_every_site<S: SkillSource>(make: impl Fn() -> S) -> Kept {
    let (once, again) = (make(), make());
    let (once, again) = (first_scan(&once)?, first_scan(&again)?);
    if entries(&once) == entries(&again) {
        return Ok(());
    }
    violated(format!(
        "Two sources made alike differ: {:?} and {:?}.",
        entries(&once),
        entries(&again)
    ))
}
