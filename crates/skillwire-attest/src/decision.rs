//! Signed decisions: that some content may be loaded under some URIs, until a moment.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value, json};
use skillwire_core::{ContentId, SkillUri};

use crate::{
    json::Members,
    not_verified::{NotVerified, at_most},
    signature::Vouched,
    statement::{Statement, Subject},
};

/// The predicate type of a decision about the content of a skill.
pub const DECISION_PREDICATE: &str = "https://skillwire.dev/attestation/decision/v1";

/// The member of an entry's `_meta` that carries the envelope of a decision.
pub const DECISION_META: &str = "dev.skillwire/decision";

/// The most URIs of one decision: one skill has a few, one for each place where it is served.
const MAX_SKILLS: usize = 16;

/// The longest text in a decision.
const MAX_TEXT_CHARS: usize = 500;

/// How far the clocks of the signer and of this machine may be apart.
const LEEWAY: Duration = Duration::from_mins(5);

/// A decision that content may be loaded, as its signer wrote it.
///
/// It is about exactly one content, under exactly these URIs, until it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentDecision {
    /// The content that was decided about.
    pub content: ContentId,
    /// The URIs of `SKILL.md` under which this content may be loaded.
    pub skills: Vec<SkillUri>,
    /// The rule that decided, in words.
    pub policy: String,
    /// When the content was admitted.
    pub decided_at: SystemTime,
    /// When the decision ends.
    pub expires: SystemTime,
    /// Where the content comes from, by words such as `origin`, `version` and `publisher`.
    pub provenance: BTreeMap<String, String>,
}

/// Why a signed statement does not allow a skill to be loaded; the text continues "the decision".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotDecided {
    /// The signature, or what is signed, cannot be used.
    #[error(transparent)]
    Unverified(#[from] NotVerified),
    /// The statement is none about the content of a skill.
    #[error("is another kind of statement: `{}`", .0.escape_debug())]
    OtherStatement(Box<str>),
    /// The signer refused the content.
    #[error("does not admit the skill: it says `{}`", .0.escape_debug())]
    NotAdmitted(Box<str>),
    /// The decision is about other bytes.
    #[error("is for other content: {actual}")]
    OtherContent {
        /// The content that it is about.
        actual: ContentId,
    },
    /// The decision is about another skill.
    #[error("is for another skill")]
    OtherSkill,
    /// The decision has ended.
    #[error("ended at {}", humantime::format_rfc3339_seconds(*.0))]
    Ended(SystemTime),
    /// The decision has not begun: the clock of the signer or of this machine is wrong.
    #[error("begins only at {}", humantime::format_rfc3339_seconds(*.0))]
    NotYet(SystemTime),
}

impl ContentDecision {
    /// Makes the statement to sign. The same decision always becomes the same statement.
    pub fn statement(&self) -> Statement {
        let subject = |uri: &SkillUri| Subject {
            name: uri.as_str().to_owned(),
            digest: Some(*self.content.digest()),
            size: None,
        };
        let time = |time| humantime::format_rfc3339_seconds(time).to_string();
        let predicate = json!({
            "contentId": self.content,
            "decision": "approve",
            "policy": self.policy,
            "decidedAt": time(self.decided_at),
            "expires": time(self.expires),
            "provenance": self.provenance,
        });
        let Value::Object(predicate) = predicate else { unreachable!("it was written as one") };
        let subjects = self.skills.iter().map(subject).collect();
        Statement::new(subjects, DECISION_PREDICATE, predicate)
    }

    /// Checks that the decision lets this skill be loaded with exactly this content now.
    fn check(
        &self,
        skill: &SkillUri,
        content: ContentId,
        now: SystemTime,
    ) -> Result<(), NotDecided> {
        if self.content != content {
            return Err(NotDecided::OtherContent { actual: self.content });
        }
        if !self.skills.contains(skill) {
            return Err(NotDecided::OtherSkill);
        }
        if self.expires <= now {
            return Err(NotDecided::Ended(self.expires));
        }
        if self.decided_at > now + LEEWAY {
            return Err(NotDecided::NotYet(self.decided_at));
        }
        Ok(())
    }

    fn read(statement: &Statement) -> Result<Self, NotDecided> {
        if statement.predicate_type() != DECISION_PREDICATE {
            return Err(NotDecided::OtherStatement(statement.predicate_type().into()));
        }
        let members = Members::new(statement.predicate(), "the decision");
        let verdict = members.text("decision")?;
        if verdict != "approve" {
            return Err(NotDecided::NotAdmitted(short(verdict).into()));
        }
        let malformed = |problem: &str| NotVerified::malformed("the decision", problem);
        let content: ContentId = members
            .text("contentId")?
            .parse()
            .map_err(|_| malformed("needs a digest as `contentId`"))?;
        let time = |key: &'static str| {
            let text = members.text(key)?;
            humantime::parse_rfc3339(text)
                .map_err(|_| malformed(&format!("needs a time as `{key}`")))
        };
        at_most("skills in a decision", statement.subjects().len(), MAX_SKILLS)?;
        let mut skills = Vec::new();
        for subject in statement.subjects() {
            // The subjects say the same as the predicate, for tools that read no predicate.
            if subject.digest.as_ref() != Some(content.digest()) {
                return Err(malformed("names two contents").into());
            }
            let uri = SkillUri::parse(&subject.name);
            skills.push(uri.map_err(|_| malformed("is about something that is no skill"))?);
        }
        let provenance = match members.get("provenance") {
            None => BTreeMap::new(),
            Some(_) => texts(members.object("provenance")?),
        };
        Ok(Self {
            content,
            skills,
            policy: short(members.text("policy")?),
            decided_at: time("decidedAt")?,
            expires: time("expires")?,
            provenance,
        })
    }
}

impl Vouched {
    /// Returns the decision if the statement is one that lets this skill be loaded with exactly this
    /// content now.
    pub fn decision(
        &self,
        skill: &SkillUri,
        content: ContentId,
        now: SystemTime,
    ) -> Result<ContentDecision, NotDecided> {
        let decision = ContentDecision::read(self.statement())?;
        decision.check(skill, content, now)?;
        Ok(decision)
    }
}

fn texts(map: &Map<String, Value>) -> BTreeMap<String, String> {
    let texts = map.iter().filter_map(|(key, value)| Some((short(key), short(value.as_str()?))));
    texts.take(MAX_SKILLS).collect()
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use skillwire_core::{Digest, RelPath};

    use super::*;
    use crate::{Envelope, Signature, SigningKey, TrustedSigner};

    fn time(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn uri(path: &str) -> SkillUri {
        SkillUri::parse(&format!("skill://{path}/SKILL.md")).unwrap()
    }

    fn content(text: &str) -> ContentId {
        ContentId::of([(RelPath::skill_file(), Digest::of(text.as_bytes()), 3)]).unwrap()
    }

    fn decision() -> ContentDecision {
        ContentDecision {
            content: content("one"),
            skills: vec![uri("acme/refunds"), uri("acme/_v/1.0.0/refunds")],
            policy: "review".into(),
            decided_at: time(1_000_000),
            expires: time(2_000_000),
            provenance: [("version".to_owned(), "1.0.0".to_owned())].into(),
        }
    }

    /// What the holder of a key that the user trusts signed.
    fn vouched(statement: &Statement) -> Vouched {
        let key = SigningKey::from_seed(&[7; 32]);
        let envelope = Envelope::sign(statement, &[&key]).to_json();
        let signature = Signature::parse(envelope.as_bytes()).unwrap();
        signature.verify(&[TrustedSigner::key(key.public().clone())], time(0)).unwrap()
    }

    #[test]
    fn a_decision_holds_for_its_content_under_its_uris_until_its_end() {
        let signed = vouched(&decision().statement());
        let check = |skill: &str, text: &str, now: u64| {
            signed
                .decision(&uri(skill), content(text), time(now))
                .map_err(|error| error.to_string())
        };
        assert_eq!(check("acme/refunds", "one", 1_500_000), Ok(decision()));
        assert_eq!(check("acme/_v/1.0.0/refunds", "one", 1_500_000), Ok(decision()));
        let other = check("acme/refunds", "two", 1_500_000).unwrap_err();
        assert!(other.starts_with("is for other content: sha256:"), "{other}");
        assert_eq!(check("acme/other", "one", 1_500_000).unwrap_err(), "is for another skill");
        let ended = "ended at 1970-01-24T03:33:20Z";
        assert_eq!(check("acme/refunds", "one", 2_000_000).unwrap_err(), ended);
        let early = check("acme/refunds", "one", 900_000).unwrap_err();
        assert_eq!(early, "begins only at 1970-01-12T13:46:40Z");
        // A clock that is a little slow does no harm.
        assert!(check("acme/refunds", "one", 999_900).is_ok());
    }

    #[test]
    fn a_rejection_another_statement_and_one_about_two_contents_allow_nothing() {
        let with = |change: &dyn Fn(&mut Map<String, Value>)| {
            let statement = decision().statement();
            let mut predicate = statement.predicate().clone();
            change(&mut predicate);
            Statement::new(statement.subjects().to_vec(), DECISION_PREDICATE, predicate)
        };
        let problem = |statement: &Statement| {
            let checked =
                vouched(statement).decision(&uri("acme/refunds"), content("one"), time(1_500_000));
            checked.unwrap_err().to_string()
        };
        let rejected = with(&|it| drop(it.insert("decision".into(), json!("reject"))));
        assert_eq!(problem(&rejected), "does not admit the skill: it says `reject`");
        let two = with(&|it| drop(it.insert("contentId".into(), json!(content("two")))));
        assert_eq!(problem(&two), "cannot be read: the decision names two contents");
        let endless = with(&|it| drop(it.remove("expires")));
        assert_eq!(problem(&endless), "cannot be read: the decision needs a text as `expires`");
        let predicate = decision().statement().predicate().clone();
        let other = Statement::new(Vec::new(), crate::SKILL_PREDICATE, predicate);
        assert!(problem(&other).starts_with("is another kind of statement: "));
    }
}
