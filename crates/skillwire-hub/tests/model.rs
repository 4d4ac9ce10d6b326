//! Random operations on a skill, compared with a model that is too simple to be wrong.
//!
//! The model has no changes, no aggregates and no shared code with the rules: it is a list of versions
//! with their words, a list of moves for each channel, and the sentences of the design as `if`s.

use std::collections::BTreeMap;

use proptest::prelude::*;
use semver::Version;
use skillwire_core::{ContentId, Digest, RelPath};
use skillwire_hub::{
    Caller, ChannelName, Publication, PublishOutcome, Refusal, Skill, SkillChange, Subject,
    Transition, VersionState,
};

#[derive(Debug, Clone)]
enum Operation {
    Publish { content: u8, version: Option<(u8, u8)>, review: bool, who: u8 },
    Transition { version: usize, transition: usize, who: u8, administrator: bool },
    Promote { version: usize, channel: usize },
    RollBack { channel: usize },
}

const CHANNELS: [&str; 2] = ["latest", "stable"];

fn operation() -> impl Strategy<Value = Operation> {
    let version = prop_oneof![3 => Just(None), 2 => (0..4u8, 0..4u8).prop_map(Some)];
    prop_oneof![
        4 => (0..12u8, version, any::<bool>(), 0..3u8).prop_map(|(content, version, review, who)| {
            Operation::Publish { content, version, review, who }
        }),
        6 => (0..8usize, 0..7usize, 0..3u8, any::<bool>()).prop_map(
            |(version, transition, who, administrator)| {
                Operation::Transition { version, transition, who, administrator }
            }
        ),
        3 => (0..8usize, 0..2usize)
            .prop_map(|(version, channel)| Operation::Promote { version, channel }),
        2 => (0..2usize).prop_map(|channel| Operation::RollBack { channel }),
    ]
}

struct ModelVersion {
    number: (u64, u64, u64),
    content: u8,
    state: &'static str,
    publisher: u8,
}

#[derive(Default)]
struct Model {
    versions: Vec<ModelVersion>,
    channels: BTreeMap<usize, Vec<(u64, u64, u64)>>,
}

impl Model {
    fn find(&self, number: (u64, u64, u64)) -> Option<&ModelVersion> {
        self.versions.iter().find(|version| version.number == number)
    }

    fn is_served(&self, number: (u64, u64, u64)) -> bool {
        self.find(number).is_some_and(|version| matches!(version.state, "approved" | "deprecated"))
    }

    fn follow(&mut self, number: (u64, u64, u64)) {
        let latest = self.channels.entry(0).or_default();
        if latest.last().is_none_or(|current| *current < number) {
            latest.push(number);
        }
    }

    /// The word for what happens: `new`, `same`, or a refusal's code.
    fn publish(
        &mut self,
        content: u8,
        version: Option<(u8, u8)>,
        review: bool,
        who: u8,
    ) -> &'static str {
        let wanted = version.map(|(major, minor)| (u64::from(major), u64::from(minor), 0));
        if let Some(same) = self.versions.iter().find(|version| version.content == content) {
            return match wanted {
                Some(wanted) if wanted != same.number => "content-taken",
                _ if same.state == "revoked" => "content-revoked",
                _ => "same",
            };
        }
        let number = wanted.unwrap_or_else(|| {
            let highest = self.versions.iter().map(|version| version.number).max();
            highest.map_or((1, 0, 0), |(major, minor, patch)| (major, minor, patch + 1))
        });
        if self.find(number).is_some() {
            return "version-taken";
        }
        let state = if review { "quarantined" } else { "approved" };
        self.versions.push(ModelVersion { number, content, state, publisher: who });
        if !review {
            self.follow(number);
        }
        "new"
    }

    fn step(&mut self, index: usize, step: &str, who: u8, administrator: bool) -> &'static str {
        let version = &self.versions[index];
        let (state, number, publisher) = (version.state, version.number, version.publisher);
        let to = match (state, step) {
            ("quarantined", "approve") | ("deprecated" | "yanked", "restore") => "approved",
            ("quarantined", "reject") => "rejected",
            ("rejected", "reopen") => "quarantined",
            ("approved" | "yanked", "deprecate") => "deprecated",
            ("approved" | "deprecated", "yank") => "yanked",
            (from, "revoke") if from != "revoked" => "revoked",
            ("approved", "approve" | "restore")
            | ("rejected", "reject")
            | ("quarantined", "reopen")
            | ("deprecated", "deprecate")
            | ("yanked", "yank")
            | ("revoked", "revoke") => return "nothing",
            _ => return "illegal-transition",
        };
        if step == "approve" && publisher == who && !administrator {
            return "own-publication";
        }
        self.versions[index].state = to;
        if step == "approve" {
            self.follow(number);
        }
        "changed"
    }

    fn promote(&mut self, index: usize, channel: usize) -> &'static str {
        let number = self.versions[index].number;
        if !self.is_served(number) {
            return "not-promotable";
        }
        let moves = self.channels.entry(channel).or_default();
        if moves.last() == Some(&number) {
            return "nothing";
        }
        moves.push(number);
        "changed"
    }

    fn roll_back(&mut self, channel: usize) -> &'static str {
        let Some(moves) = self.channels.get(&channel).filter(|moves| !moves.is_empty()) else {
            return "unknown-channel";
        };
        let current = moves[moves.len() - 1];
        for index in (0..moves.len() - 1).rev() {
            if moves[index] != current && self.is_served(moves[index]) {
                self.channels.get_mut(&channel).expect("it is there").truncate(index + 1);
                return "changed";
            }
        }
        "nothing-to-roll-back-to"
    }
}

fn content(number: u8) -> ContentId {
    ContentId::of([(RelPath::skill_file(), Digest::of(&[number]), 1)]).expect("an identity")
}

fn subject(number: u8) -> Subject {
    format!("user-{number}").parse().expect("a subject")
}

fn version((major, minor, patch): (u64, u64, u64)) -> Version {
    Version::new(major, minor, patch)
}

fn word(result: &Result<Vec<SkillChange>, Refusal>) -> &'static str {
    match result {
        Ok(changes) if changes.is_empty() => "nothing",
        Ok(_) => "changed",
        Err(refusal) => refusal.code(),
    }
}

/// Runs one operation on both and compares what they say.
fn run(skill: &mut Skill, model: &mut Model, operation: &Operation) -> Result<(), TestCaseError> {
    match *operation {
        Operation::Publish { content: bytes, version: wanted, review, who } => {
            let requested =
                wanted.map(|(major, minor)| Version::new(major.into(), minor.into(), 0));
            let publication = Publication::new(content(bytes), subject(who))
                .with_requested(requested)
                .with_review(review);
            let outcome = skill.publish(&publication);
            let said = match &outcome {
                Ok(PublishOutcome::New { .. }) => "new",
                Ok(PublishOutcome::Existing { .. }) => "same",
                Err(refusal) => refusal.code(),
            };
            prop_assert_eq!(said, model.publish(bytes, wanted, review, who));
            if let Ok(PublishOutcome::New { changes, .. }) = outcome {
                skill.apply_all(&changes);
            }
        }
        Operation::Transition { version: index, transition, who, administrator } => {
            let Some(number) = model.versions.get(index).map(|version| version.number) else {
                return Ok(());
            };
            let mut caller = Caller::new(subject(who));
            caller.administrator = administrator;
            let transition = Transition::ALL[transition];
            let result = skill.transition(&caller, &version(number), transition, None);
            let expected = model.step(index, transition.as_str(), who, administrator);
            prop_assert_eq!(word(&result), expected);
            skill.apply_all(&result.unwrap_or_default());
        }
        Operation::Promote { version: index, channel } => {
            let Some(number) = model.versions.get(index).map(|version| version.number) else {
                return Ok(());
            };
            let name: ChannelName = CHANNELS[channel].parse().expect("a channel");
            let result = skill.promote(&version(number), &name);
            prop_assert_eq!(word(&result), model.promote(index, channel));
            skill.apply_all(&result.unwrap_or_default());
        }
        Operation::RollBack { channel } => {
            let name: ChannelName = CHANNELS[channel].parse().expect("a channel");
            let result = skill.roll_back(&name);
            prop_assert_eq!(word(&result), model.roll_back(channel));
            skill.apply_all(&result.unwrap_or_default());
        }
    }
    Ok(())
}

/// What must hold after every operation.
fn compare(skill: &Skill, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(skill.versions.len(), model.versions.len());
    for expected in &model.versions {
        let head = &skill.versions[&version(expected.number)];
        prop_assert_eq!(head.state.as_str(), expected.state);
        prop_assert_eq!(head.content, content(expected.content));
        prop_assert_eq!(&head.publisher, &subject(expected.publisher));
    }
    for (index, name) in CHANNELS.iter().enumerate() {
        let name: ChannelName = name.parse().expect("a channel");
        let current = model.channels.get(&index).and_then(|moves| moves.last().copied());
        let pointer = skill.channel(&name).and_then(|channel| channel.version().cloned());
        prop_assert_eq!(pointer, current.map(version));
        let served = skill.served(&name).map(|(version, head)| (version.clone(), head.state));
        let expected = current.filter(|number| model.is_served(*number));
        prop_assert_eq!(served.as_ref().map(|(version, _)| version.clone()), expected.map(version));
        let ok = [VersionState::Approved, VersionState::Deprecated];
        prop_assert!(served.is_none_or(|(_, state)| ok.contains(&state)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn random_operations_agree_with_a_simple_model(
        operations in prop::collection::vec(operation(), 1..60)
    ) {
        let mut skill = Skill::new("acme/refunds".parse().expect("a skill"));
        let mut model = Model::default();
        let mut contents = BTreeMap::new();
        for operation in &operations {
            run(&mut skill, &mut model, operation)?;
            compare(&skill, &model)?;
            // A version never gets other content.
            for (number, head) in &skill.versions {
                let first = *contents.entry(number.clone()).or_insert(head.content);
                prop_assert_eq!(first, head.content);
            }
        }
    }
}
