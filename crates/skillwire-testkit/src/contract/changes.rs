//! The rules about what is reported when.

use std::path::PathBuf;

use skillwire_source::{GroupKey, ScanRequest, SkillSource};

use super::{Kept, Scanned, Violation, entries, first_scan, scan, violated};

/// A source that does not change has nothing to report, wherever one looks.
///
/// Only a close look may report sites again, and then as they were.
pub fn a_settled_source_has_no_news<S: SkillSource>(make: impl Fn() -> S) -> Kept {
    let source = make();
    let sites = first_scan(&source)?;
    let elsewhere = ScanRequest::paths([PathBuf::from("/skillwire-contract/nothing/is/here")]);
    for look in [ScanRequest::everything(), elsewhere, ScanRequest::everything()] {
        expect_no_news(&scan(&source, &look)?)?;
    }
    let close = scan(&source, &ScanRequest::everything().force_read())?;
    if !close.gone.is_empty() {
        return violated("A close look says that sites are gone, though nothing changed.");
    }
    let before = entries(&sites);
    for (key, entries) in entries(&close.sites) {
        if before.get(key) != Some(&entries) {
            return violated(format!("A close look reports `{key}` differently."));
        }
    }
    expect_no_news(&scan(&source, &ScanRequest::everything())?)
}

/// Scans that run at the same time report every site between them, and settle.
pub fn scans_at_once_lose_nothing<S: SkillSource>(make: impl Fn() -> S) -> Kept {
    let wanted = first_scan(&make())?;
    let source = make();
    let look = ScanRequest::everything();
    let scanned: Vec<Result<Scanned, Violation>> = std::thread::scope(|scope| {
        let scans: Vec<_> = (0..4).map(|_| scope.spawn(|| scan(&source, &look))).collect();
        scans.into_iter().map(|scan| scan.join().expect("a scan's panic is caught")).collect()
    });
    let mut missing = wanted;
    for scanned in scanned {
        for key in scanned?.sites.keys() {
            missing.remove(key);
        }
    }
    if let Some(GroupKey(key)) = missing.keys().next() {
        return violated(format!("Scans at the same time did not report `{key}`."));
    }
    expect_no_news(&scan(&source, &look)?)
}

/// A change is reported by the next scan, and only by that one.
pub fn a_change_is_reported_once<S: SkillSource>(
    make: impl Fn() -> S,
    change: impl Fn(&S),
) -> Kept {
    let source = make();
    let before = first_scan(&source)?;
    change(&source);
    let scanned = scan(&source, &ScanRequest::everything())?;
    if scanned.sites.is_empty() && scanned.gone.is_empty() {
        return violated("A change is not reported.");
    }
    if let Some(GroupKey(key)) = scanned.gone.iter().find(|key| !before.contains_key(key)) {
        return violated(format!("`{key}` is said to be gone, though it was never reported."));
    }
    let known = entries(&before);
    for (key, now) in entries(&scanned.sites) {
        let served = !now.is_empty();
        if served && known.get(key) == Some(&now) {
            return violated(format!("`{key}` is reported, though it did not change."));
        }
    }
    expect_no_news(&scan(&source, &ScanRequest::everything())?)
}

fn expect_no_news(scanned: &Scanned) -> Kept {
    let news = scanned.sites.keys().chain(&scanned.gone).next();
    match news {
        None => Ok(()),
        Some(GroupKey(key)) => violated(format!("`{key}` is reported, though nothing changed.")),
    }
}
