//! Notices for the operator about the skills of a server, each reported once.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use skillwire_catalog::Refreshed;
use skillwire_core::{Code, Finding, Level, Strictness};
use skillwire_source::{GroupId, InspectedSkill, PartialCoverage, SourceUnavailable};

/// Reports that a condition of the skills began to hold or no longer holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The condition.
    pub subject: Subject,
    /// Whether the condition no longer holds.
    pub over: bool,
}

/// The condition that a notice is about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Subject {
    /// A skill is not served, for example because it exceeds a limit.
    Skipped {
        /// Where the skill is, in terms the operator knows.
        origin: String,
        /// The reason why it is not served.
        finding: Finding,
    },
    /// A skill is served, but its author should know this.
    Remark(Finding),
    /// A finding that belongs to no skill, such as a folder without skills.
    Source(Finding),
    /// A source cannot be read; what it held before is still served.
    Unavailable(SourceUnavailable),
    /// Not every directory of a folder is watched; some of its skills are scanned in turns.
    InTurns {
        /// The folder.
        root: PathBuf,
        /// How many directories are watched, and how many are not.
        turns: PartialCoverage,
    },
    /// A folder is scanned from time to time, because the system does not report its changes.
    Unwatched {
        /// The folder.
        root: PathBuf,
        /// Why it is not watched.
        reason: String,
    },
}

impl Notice {
    /// Tells whether the operator needs to know this.
    ///
    /// A remark concerns the operator only if the skill breaks the format, shares its name, or
    /// contains something that looks like a skill and is none. Other remarks are for authors, who
    /// run `skillwire check`.
    pub fn concerns_operator(&self) -> bool {
        match &self.subject {
            Subject::Remark(finding) => {
                finding.level == Level::Error
                    || matches!(finding.code, Code::DuplicateName | Code::NestedSkillInvalid)
            }
            _ => true,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = if self.over { "resolved: " } else { "" };
        write!(f, "{over}{}", self.subject)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { origin, finding } => {
                write!(f, "skipped {origin}: {}", line(finding))
            }
            Self::Remark(finding) | Self::Source(finding) => f.write_str(&line(finding)),
            Self::Unavailable(source) => {
                write!(f, "{source} What it held before is still served.")
            }
            Self::InTurns {
                root,
                turns: PartialCoverage { watched, polled, poll_interval, reason },
            } => write!(
                f,
                "{} has {watched} directories that are watched; {polled} skills have others, and \
                 are looked at in turns within {} seconds: {reason}",
                root.display(),
                poll_interval.as_secs()
            ),
            Self::Unwatched { root, reason } => write!(
                f,
                "{} is looked through from time to time instead of being watched: {reason}",
                root.display()
            ),
        }
    }
}

fn line(finding: &Finding) -> String {
    let place = match finding.position {
        Some(position) => format!("{}:{}", finding.file, position.line),
        None => finding.file.clone(),
    };
    format!("{} ({place}) [{}]", finding.message, finding.code)
}

/// Subjects by their text.
type Subjects = BTreeMap<String, Subject>;

/// The conditions that hold now, so that each is reported once when it begins and once when it
/// ends.
#[derive(Debug, Default)]
pub(super) struct NoticeLog {
    sites: BTreeMap<GroupId, Subjects>,
    disputes: BTreeMap<Arc<str>, Subjects>,
    sources: Subjects,
    unwatched: Subjects,
}

impl NoticeLog {
    /// Returns the notices about a refresh that were not reported before.
    pub(super) fn news(&mut self, refreshed: &Refreshed, strictness: Strictness) -> Vec<Notice> {
        let mut news = Vec::new();
        for (site, inspected) in &refreshed.sites {
            let now = subjects(inspected.iter().flat_map(|one| about(one, strictness)));
            replace(&mut self.sites, site, now, &mut news);
        }
        for site in &refreshed.gone {
            replace(&mut self.sites, site, Subjects::new(), &mut news);
        }
        for (uri, disputes) in &refreshed.disputes {
            let skipped = |(origin, finding): &(String, Finding)| Subject::Skipped {
                origin: origin.clone(),
                finding: finding.clone(),
            };
            replace(&mut self.disputes, uri, subjects(disputes.iter().map(skipped)), &mut news);
        }
        // Every scan, even of a part, reports the state of each source as a whole. A large folder
        // may only ever be scanned in parts, so this may be the only time to learn of it.
        let gone = refreshed.unavailable.iter().cloned().map(Subject::Unavailable);
        let findings = refreshed.findings.iter().cloned().map(Subject::Source);
        let now = subjects(gone.chain(findings));
        differ(&std::mem::replace(&mut self.sources, now.clone()), &now, &mut news);
        news
    }

    /// Returns the notices about folders that are not watched and were not reported before.
    pub(super) fn watches(&mut self, less: impl Iterator<Item = Subject>) -> Vec<Notice> {
        // The number of directories may change all the time and is no reason for another notice.
        let key = |subject: &Subject| match subject {
            Subject::InTurns { root, .. } => format!("{} in turns", root.display()),
            other => other.to_string(),
        };
        let now: Subjects = less.map(|subject| (key(&subject), subject)).collect();
        let mut news = Vec::new();
        differ(&std::mem::replace(&mut self.unwatched, now.clone()), &now, &mut news);
        news
    }
}

/// Lists the subjects of one inspected place.
fn about(inspected: &InspectedSkill, strictness: Strictness) -> Vec<Subject> {
    if inspected.skill.is_some() {
        return inspected.findings.iter().cloned().map(Subject::Remark).collect();
    }
    // A collision with another skill is reported with the URI that is disputed, so it is left out
    // here.
    let is_own =
        |finding: &&Finding| !matches!(finding.code, Code::PathCollision | Code::DuplicateName);
    let reasons = inspected.reasons(strictness).filter(is_own);
    let origin = &inspected.origin;
    reasons
        .map(|finding| Subject::Skipped { origin: origin.clone(), finding: finding.clone() })
        .collect()
}

fn subjects(found: impl Iterator<Item = Subject>) -> Subjects {
    found.map(|subject| (subject.to_string(), subject)).collect()
}

fn replace<K: Ord + Clone>(
    told: &mut BTreeMap<K, Subjects>,
    key: &K,
    now: Subjects,
    news: &mut Vec<Notice>,
) {
    differ(&told.remove(key).unwrap_or_default(), &now, news);
    if !now.is_empty() {
        told.insert(key.clone(), now);
    }
}

fn differ(before: &Subjects, now: &Subjects, news: &mut Vec<Notice>) {
    let missing = |from: &Subjects, text: &str| !from.contains_key(text);
    let came = now.iter().filter(|(text, _)| missing(before, text));
    let went = before.iter().filter(|(text, _)| missing(now, text));
    news.extend(came.map(|(_, subject)| Notice { subject: subject.clone(), over: false }));
    news.extend(went.map(|(_, subject)| Notice { subject: subject.clone(), over: true }));
}

#[cfg(test)]
mod tests {
    use skillwire_source::GroupKey;

    use super::*;

    fn refreshed(findings: Vec<Finding>) -> Refreshed {
        let place = InspectedSkill { origin: "skills/a".to_owned(), findings, skill: None };
        let site = (0, GroupKey("a".into()));
        Refreshed { sites: vec![(site, vec![place])], ..Refreshed::default() }
    }

    fn texts(notices: Vec<Notice>) -> Vec<String> {
        notices.into_iter().map(|notice| notice.to_string()).collect()
    }

    #[test]
    fn what_is_watched_and_what_has_its_turns_is_said_once_v_62() {
        let mut told = NoticeLog::default();
        let turns = |watched| PartialCoverage {
            watched,
            polled: 7,
            poll_interval: std::time::Duration::from_mins(1),
            reason: "The limit is reached.".to_owned(),
        };
        let mut says = |watched: Option<usize>| {
            let root = PathBuf::from("skills");
            let less = watched.map(|watched| Subject::InTurns { root, turns: turns(watched) });
            texts(told.watches(less.into_iter()))
        };
        let said = "skills has 5 directories that are watched; 7 skills have others, and are looked \
                    at in turns within 60 seconds: The limit is reached.";
        assert_eq!(says(Some(5)), [said]);
        assert_eq!(says(Some(6)), [""; 0]);
        assert_eq!(says(None).len(), 1);
    }

    #[test]
    fn what_holds_is_said_once_and_its_end_as_well() {
        let mut told = NoticeLog::default();
        let many = Finding::new(Code::TooManyFiles, "skills/a", "There are 513 files.");
        let mut news = |findings| texts(told.news(&refreshed(findings), Strictness::Normal));
        let said = "skipped skills/a: There are 513 files. (skills/a) [too-many-files]";
        assert_eq!(news(vec![many.clone()]), [said]);
        assert_eq!(news(vec![many]), [""; 0]);
        assert_eq!(news(Vec::new()), [format!("resolved: {said}")]);
        assert_eq!(news(Vec::new()), [""; 0]);
    }
}
