//! Whole skills: attacks that must be found, and honest skills that look like them.

use std::{fs, path::Path};

use skillwire_scan::{RuleSet, ScanReport, Severity, SkillFiles, Usage, scan};

fn read(folder: &Path, prefix: &str, skill: &mut SkillFiles) {
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let entry = entry.expect("it can be listed");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), skill);
        } else {
            skill.add(name, fs::read(entry.path()).expect("it can be read"));
        }
    }
}

/// Every skill of a part of the corpus, with its report.
fn scanned(part: &str) -> Vec<(String, ScanReport)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(part);
    let mut all = Vec::new();
    for entry in fs::read_dir(root).expect("the corpus is there") {
        let entry = entry.expect("it can be listed");
        let mut skill = SkillFiles::new();
        read(&entry.path(), "", &mut skill);
        let name = entry.file_name().to_string_lossy().into_owned();
        all.push((name, scan(&skill, RuleSet::built_in())));
    }
    all
}

#[test]
fn every_attack_of_the_corpus_is_found_at_high_rs_15() {
    let all = scanned("malicious");
    assert!(all.len() >= 10);
    let missed: Vec<_> = all
        .iter()
        .filter(|(_, report)| report.worst() < Some(Severity::High))
        .map(|(name, report)| (name, &report.findings))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn no_honest_skill_of_the_corpus_is_above_low_or_medium_where_it_quotes_an_attack() {
    let all = scanned("benign");
    assert!(all.len() >= 10);
    let alarmed: Vec<_> = all
        .iter()
        .filter(|(_, report)| {
            report.findings.iter().any(|finding| {
                let quoted = finding.usage == Usage::Mentioned;
                finding.severity > if quoted { Severity::Medium } else { Severity::Low }
            })
        })
        .map(|(name, report)| (name, &report.findings))
        .collect();
    assert!(alarmed.is_empty(), "{alarmed:#?}");
}

#[test]
fn data_is_followed_over_the_files_of_a_skill() {
    let all = scanned("malicious");
    let (_, report) = all.iter().find(|(name, _)| name == "env-doctor").expect("it is there");
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.rule == "exfiltration/secrets-flow")
        .expect("the login is followed");
    let first = finding.evidence.first().expect("it has a source");
    let last = finding.evidence.last().expect("it has a sink");
    assert_eq!(
        (first.file.as_str(), last.file.as_str()),
        ("scripts/reader.py", "scripts/sender.py")
    );
    assert_eq!(last.step.as_deref(), Some("sends it over the network"));
}
