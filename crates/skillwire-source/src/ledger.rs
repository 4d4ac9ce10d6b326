//! Remembering what was reported, so that only what differs is reported.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use skillwire_core::digest::Digest;

use crate::source::{Inspected, Report, SiteKey};

/// What a source reported last, as one fingerprint for each site.
///
/// With a ledger a source only has to say what there is now; what is news follows.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<SiteKey, Digest>>);

impl Ledger {
    /// Reports each site whose fingerprint is new or different, and each that is gone.
    ///
    /// `now` holds every site there is, and `inspect` looks at one of them. The fingerprint is of
    /// whatever decides what `inspect` returns, such as the bytes of all files or a version number.
    pub fn report(
        &self,
        now: &BTreeMap<SiteKey, Digest>,
        mut inspect: impl FnMut(&SiteKey) -> Vec<Inspected>,
        report: &mut (dyn FnMut(Report) + Send),
    ) {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<SiteKey> =
            before.keys().filter(|key| !now.contains_key(key)).cloned().collect();
        for key in gone {
            before.remove(&key);
            report(Report::Gone(key));
        }
        for (key, fingerprint) in now {
            if before.get(key) != Some(fingerprint) {
                report(Report::Site(key.clone(), inspect(key)));
                before.insert(key.clone(), *fingerprint);
            }
        }
    }
}
