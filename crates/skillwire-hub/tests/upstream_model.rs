//! Random operations on a skill of an upstream, compared with a model that anyone can check by eye.

use proptest::{prelude::*, test_runner::TestCaseError};
use skillwire_core::{ContentId, Digest, RelPath, SkillUri};
use skillwire_hub::{
    Decision, OfferState, Refusal, Subject, Timestamp, UpstreamMode, UpstreamSkill,
    UpstreamSkillId, Verdict,
};

/// What happens to the skill.
#[derive(Debug, Clone)]
enum Operation {
    Offer { content: u8 },
    Withdraw,
    Decide { content: u8, approve: bool, lasts: Option<i64> },
    Wait { millis: i64 },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0_u8..4).prop_map(|content| Operation::Offer { content }),
        1 => Just(Operation::Withdraw),
        4 => (0_u8..4, any::<bool>(), prop::option::of(1_i64..50)).prop_map(
            |(content, approve, lasts)| Operation::Decide { content, approve, lasts }
        ),
        1 => (1_i64..30).prop_map(|millis| Operation::Wait { millis }),
    ]
}

/// Everything that ever happened, in order. What is served is read off the history.
#[derive(Debug, Default)]
struct History {
    now: i64,
    offered: Option<u8>,
    /// Each decision: when, about what, whether it approves, and when it ends.
    decisions: Vec<(i64, u8, bool, Option<i64>)>,
}

impl History {
    fn last(&self, content: u8) -> Option<&(i64, u8, bool, Option<i64>)> {
        self.decisions.iter().rev().find(|(_, about, ..)| *about == content)
    }

    fn state(&self, content: u8) -> OfferState {
        match self.last(content) {
            Some((_, _, false, _)) => OfferState::Rejected,
            Some((_, _, true, until)) if until.is_none_or(|end| self.now < end) => {
                OfferState::Approved
            }
            _ => OfferState::Waiting,
        }
    }

    fn served(&self, mode: UpstreamMode) -> Option<u8> {
        let approved = |content: u8| self.state(content) == OfferState::Approved;
        match mode {
            UpstreamMode::Passthrough | UpstreamMode::Observe => None,
            UpstreamMode::Admit => self.offered.filter(|content| approved(*content)),
            UpstreamMode::Pin => {
                let last = self.decisions.iter().rev();
                let mut seen = Vec::new();
                for (_, content, ..) in last {
                    if !seen.contains(content) && approved(*content) {
                        return Some(*content);
                    }
                    seen.push(*content);
                }
                None
            }
        }
    }
}

fn content(number: u8) -> ContentId {
    ContentId::of([(RelPath::skill_file(), Digest::of(&[number]), 1)]).expect("an identity")
}

fn skill() -> UpstreamSkill {
    let uri = SkillUri::parse("skill://acme/pdf/SKILL.md").expect("a URI");
    UpstreamSkill::new(UpstreamSkillId::new("docs".parse().expect("a label"), uri))
}

fn run(
    skill: &mut UpstreamSkill,
    history: &mut History,
    operation: &Operation,
) -> Result<(), TestCaseError> {
    history.now += 1;
    match *operation {
        Operation::Offer { content: number } => {
            skill.apply_all(&skill.offer(content(number)));
            history.offered = Some(number);
        }
        Operation::Withdraw => {
            skill.apply_all(&skill.withdraw());
            history.offered = None;
        }
        Operation::Wait { millis } => history.now += millis,
        Operation::Decide { content: number, approve, lasts } => {
            let until = lasts.map(|millis| history.now + millis);
            let decision = Decision {
                content: content(number),
                place: skill.id.place(),
                verdict: if approve { Verdict::Approve } else { Verdict::Reject },
                by: Subject::parse("rex").expect("a subject"),
                at: Timestamp::from_millis(history.now),
                reason: format!("at {}", history.now),
                until: until.map(Timestamp::from_millis),
                open_findings: Vec::new(),
            };
            let is_offered = history.offered == Some(number);
            let approved_once = history.last(number).is_some_and(|(_, _, approves, _)| *approves);
            let decided = skill.decide(decision);
            let expected = is_offered || (!approve && approved_once);
            prop_assert_eq!(decided.is_ok(), expected, "{:?} {:?}", operation, history);
            match decided {
                Ok(changes) => {
                    skill.apply_all(&changes);
                    history.decisions.push((history.now, number, approve, until));
                }
                Err(Refusal::ContentMoved { decided, actual }) => {
                    prop_assert_eq!(decided, content(number));
                    prop_assert_eq!(Some(actual), history.offered.map(content));
                }
                Err(Refusal::UnknownRecord { .. }) => prop_assert!(history.offered.is_none()),
                Err(other) => return Err(TestCaseError::fail(format!("{other}"))),
            }
        }
    }
    Ok(())
}

fn compare(skill: &UpstreamSkill, history: &History) -> Result<(), TestCaseError> {
    let now = Timestamp::from_millis(history.now);
    for mode in UpstreamMode::ALL {
        let expected = history.served(mode).map(content);
        prop_assert_eq!(skill.served(mode, now), expected, "{} {:?}", mode, history);
        if let Some(served) = skill.served(mode, now) {
            // Only bytes that the hub keeps, and that an approval covers, are ever served.
            prop_assert!(skill.kept.contains(&served));
            prop_assert_eq!(skill.state(&served, now), OfferState::Approved);
        }
    }
    // The store holds what is offered and what was approved, and nothing else.
    for kept in &skill.kept {
        let approved = skill.decisions.get(kept).is_some_and(|it| it.verdict == Verdict::Approve);
        prop_assert!(skill.offered == Some(*kept) || approved);
    }
    for number in 0..4 {
        prop_assert_eq!(skill.state(&content(number), now), history.state(number));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn random_operations_agree_with_what_the_history_says(
        operations in prop::collection::vec(operation(), 1..60)
    ) {
        let (mut skill, mut history) = (skill(), History::default());
        for operation in &operations {
            run(&mut skill, &mut history, operation)?;
            compare(&skill, &history)?;
        }
    }
}

#[test]
fn a_pinned_skill_keeps_its_approved_content_while_the_upstream_drifts_and_goes() {
    let (mut skill, mut history) = (skill(), History::default());
    let mut step = |operation| run(&mut skill, &mut history, &operation).map_err(|e| e.to_string());
    step(Operation::Offer { content: 0 }).unwrap();
    step(Operation::Decide { content: 0, approve: true, lasts: None }).unwrap();
    step(Operation::Offer { content: 1 }).unwrap();
    let now = Timestamp::from_millis(1_000);
    assert_eq!(skill.served(UpstreamMode::Pin, now), Some(content(0)));
    assert_eq!(skill.served(UpstreamMode::Admit, now), None);
    skill.apply_all(&skill.withdraw());
    assert_eq!(skill.served(UpstreamMode::Pin, now), Some(content(0)));
    assert!(!skill.kept.contains(&content(1)), "it was never approved");
}
