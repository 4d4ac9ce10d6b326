//! The rules about when a source reports.

use std::path::PathBuf;

use skillwire_source::{GroupKey, ScanRequest, SkillSource};

use super::{ContractResult, ContractViolation, Scanned, entries, first_scan, scan, violated};

/// A source that does not change reports nothing, whatever the scan covers.
///
/// Only a forced scan may report groups again, and then as they were.
pub fn an_unchanged_source_reports_nothing<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    let source = make();
    let groups = first_scan(&source)?;
    let elsewhere = ScanRequest::paths([PathBuf::from("/skillwire-contract/nothing/is/here")]);
    for request in [ScanRequest::everything(), elsewhere, ScanRequest::everything()] {
        expect_no_reports(&scan(&source, &request)?)?;
    }
    let forced = scan(&source, &ScanRequest::everything().force_read())?;
    if !forced.removed.is_empty() {
        return violated("A forced scan reports removed groups, but nothing changed.");
    }
    let before = entries(&groups);
    for (key, entries) in entries(&forced.updated) {
        if before.get(key) != Some(&entries) {
            return violated(format!(
                "A forced scan reports `{key}` differently, but nothing changed."
            ));
        }
    }
    expect_no_reports(&scan(&source, &ScanRequest::everything())?)
}

/// Scans that run at the same time report every group between them, and nothing afterwards.
pub fn concurrent_scans_lose_nothing<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    let wanted = first_scan(&make())?;
    let source = make();
    let request = ScanRequest::everything();
    let scanned: Vec<Result<Scanned, ContractViolation>> = std::thread::scope(|scope| {
        let scans: Vec<_> = (0..4).map(|_| scope.spawn(|| scan(&source, &request))).collect();
        scans.into_iter().map(|scan| scan.join().expect("a scan's panic is caught")).collect()
    });
    let mut missing = wanted;
    for scanned in scanned {
        for key in scanned?.updated.keys() {
            missing.remove(key);
        }
    }
    if let Some(GroupKey(key)) = missing.keys().next() {
        return violated(format!("Scans at the same time did not report `{key}`."));
    }
    expect_no_reports(&scan(&source, &request)?)
}

/// A change is reported by the next scan, and only by that one.
pub fn a_change_is_reported_once<S: SkillSource>(
    make: impl Fn() -> S,
    change: impl Fn(&S),
) -> ContractResult {
    let source = make();
    let before = first_scan(&source)?;
    change(&source);
    let scanned = scan(&source, &ScanRequest::everything())?;
    if scanned.updated.is_empty() && scanned.removed.is_empty() {
        return violated("A change is not reported.");
    }
    if let Some(GroupKey(key)) = scanned.removed.iter().find(|key| !before.contains_key(key)) {
        return violated(format!(
            "`{key}` is reported as removed, but it was never reported before."
        ));
    }
    let known = entries(&before);
    for (key, now) in entries(&scanned.updated) {
        let served = !now.is_empty();
        if served && known.get(key) == Some(&now) {
            return violated(format!("`{key}` is reported, but it did not change."));
        }
    }
    expect_no_reports(&scan(&source, &ScanRequest::everything())?)
}

fn expect_no_reports(scanned: &Scanned) -> ContractResult {
    let reported = scanned.updated.keys().chain(&scanned.removed).next();
    match reported {
        None => Ok(()),
        Some(GroupKey(key)) => violated(format!("`{key}` is reported, but nothing changed.")),
    }
}
