//! Sources that break the contract, each in one way, and the rule that detects it.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::ThreadId,
};

use bytes::Bytes;
use skillwire_core::{Finding, RelPath};
use skillwire_source::{
    FileStore, FileStoreError, GroupKey, InspectedSkill, ScanRequest, Skill, SkillContent,
    SkillSource, SourceChange, SourceUnavailable, inspect_files,
};
use skillwire_testkit::{
    contract::{self, ContractResult},
    skill_md,
};

/// The way in which a source breaks the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    ReportsEverythingEachTime,
    ReportsASiteTwice,
    RemembersPerThread,
    NamesSitesAnew,
    DropsASkillInSilence,
    TakesBackWhatItNeverHad,
    Panics,
    HasOtherBytes,
    HasAnOldEntry,
    ClaimsOneUriTwice,
    MissesChanges,
    ServesNothing,
}

#[derive(Debug)]
struct Flawed {
    flaw: Flaw,
    told: Mutex<HashSet<Option<ThreadId>>>,
    version: AtomicUsize,
}

/// Bytes that differ from the published ones.
#[derive(Debug)]
struct OtherBytes;

impl FileStore for OtherBytes {
    fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
        Ok(Bytes::from_static(b"other"))
    }
}

impl Flawed {
    fn new(flaw: Flaw) -> Self {
        Self { flaw, told: Mutex::default(), version: AtomicUsize::new(0) }
    }

    fn change(&self) {
        if self.flaw != Flaw::MissesChanges {
            self.told.lock().expect("nobody panicked").clear();
        }
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    fn inspected(&self) -> Vec<InspectedSkill> {
        let text = format!("{}{:?}", skill_md("a"), self.version);
        let mut found = inspect_files("flawed", "acme/a", [("SKILL.md", text.into())]);
        for one in &mut found {
            one.skill = one.skill.take().and_then(|skill| self.spoil(&skill));
        }
        found
    }

    fn spoil(&self, skill: &Skill) -> Option<Arc<Skill>> {
        let mut spoiled = skill.clone();
        match (self.flaw, &mut spoiled.content) {
            (Flaw::DropsASkillInSilence, _) => return None,
            (Flaw::HasOtherBytes, SkillContent::Files(tree)) => tree.store = Arc::new(OtherBytes),
            (Flaw::HasAnOldEntry, _) => {
                spoiled.entry = skill.entry.text().replace("Does a", "Did a").into();
            }
            _ => {}
        }
        Some(Arc::new(spoiled))
    }
}

impl SkillSource for Flawed {
    fn scan(
        &self,
        _: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let thread = (self.flaw == Flaw::RemembersPerThread).then(|| std::thread::current().id());
        let is_news = self.told.lock().expect("nobody panicked").insert(thread);
        if !is_news && self.flaw != Flaw::ReportsEverythingEachTime {
            return Ok(Vec::new());
        }
        let key = |name: &str| GroupKey(name.into());
        match self.flaw {
            Flaw::Panics => std::panic::resume_unwind(Box::new("on purpose")),
            Flaw::ServesNothing => return Ok(Vec::new()),
            Flaw::TakesBackWhatItNeverHad => report(SourceChange::Removed(key("b"))),
            Flaw::ReportsASiteTwice => report(SourceChange::Updated(key("a"), self.inspected())),
            Flaw::ClaimsOneUriTwice => report(SourceChange::Updated(key("b"), self.inspected())),
            _ => {}
        }
        let made = MADE.fetch_add(1, Ordering::SeqCst);
        let name =
            if self.flaw == Flaw::NamesSitesAnew { made.to_string() } else { "a".to_owned() };
        report(SourceChange::Updated(key(&name), self.inspected()));
        Ok(Vec::new())
    }
}

/// Applies every rule, by its name.
fn rules(flaw: Flaw) -> Vec<(&'static str, ContractResult)> {
    let make = || Flawed::new(flaw);
    vec![
        ("first scan", contract::the_first_scan_reports_every_group(make)),
        ("settled", contract::an_unchanged_source_reports_nothing(make)),
        ("at once", contract::concurrent_scans_lose_nothing(make)),
        ("files", contract::files_read_back(make)),
        ("entries", contract::entries_match_their_files(make)),
        ("room", contract::skills_can_be_served_together(make)),
        ("change", contract::a_change_is_reported_once(make, Flawed::change)),
    ]
}

#[test]
fn a_source_without_a_flaw_keeps_the_contract() {
    for (rule, kept) in rules(Flaw::Nothing) {
        assert_eq!(kept, Ok(()), "{rule}");
    }
}

#[test]
fn each_flaw_breaks_the_rule_that_is_about_it() {
    for (flaw, rule, said) in [
        (Flaw::ReportsEverythingEachTime, "settled", "but nothing changed"),
        (Flaw::ReportsASiteTwice, "first scan", "twice"),
        (Flaw::RemembersPerThread, "at once", "but nothing changed"),
        (Flaw::NamesSitesAnew, "first scan", "equal sources report differently"),
        (Flaw::DropsASkillInSilence, "first scan", "no finding says why"),
        (Flaw::TakesBackWhatItNeverHad, "first scan", "was never reported"),
        (Flaw::Panics, "first scan", "panicked"),
        (Flaw::HasOtherBytes, "files", "has other bytes"),
        (Flaw::HasAnOldEntry, "entries", "frontmatter is not that"),
        (Flaw::ClaimsOneUriTwice, "room", "can be served"),
        (Flaw::MissesChanges, "change", "A change is not reported"),
        (Flaw::ServesNothing, "first scan", "No skill is served"),
    ] {
        let broken = rules(flaw).into_iter().find(|(name, _)| *name == rule);
        let violation = broken.and_then(|(_, kept)| kept.err()).map(|v| v.to_string());
        assert!(violation.as_ref().is_some_and(|v| v.contains(said)), "{flaw:?}: {violation:?}");
    }
}
