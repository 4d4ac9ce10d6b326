//! Random operations on the store, compared with the pure rules after each.

use skillwire_hub::{
    Caller, ChannelName, PageRequest, Publication, PublishOutcome, Refusal, Skill, Transition,
    VersionRef,
};
use skillwire_hub_store::{StoreError, TransitionNote};

use crate::{
    contract,
    support::{Hub, caller, content, skill, upload},
};

contract! {
    random_operations_leave_what_the_rules_say,
}

/// A small generator of pseudo-random numbers, so that a failure is found again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn code<T>(result: &Result<T, Refusal>) -> Option<&'static str> {
    result.as_ref().err().map(Refusal::code)
}

fn store_code<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> Option<&'static str> {
    result.as_ref().err().map(|error| {
        error.refusal().map_or_else(|| panic!("not a refusal: {error:?}"), Refusal::code)
    })
}

async fn random_operations_leave_what_the_rules_say(hub: Hub) {
    hub.namespace("acme").await;
    let id = skill("acme/refunds");
    let mut model = Skill::new(id.clone());
    let mut dice = Dice(19);
    let channels = ["latest", "stable"].map(|name| name.parse::<ChannelName>().unwrap());
    for step in 0..150 {
        let who: Caller = caller("olga");
        let any_version: VersionRef = format!("acme/refunds@1.0.{}", dice.roll(8)).parse().unwrap();
        let channel = &channels[usize::try_from(dice.roll(2)).unwrap()];
        match dice.roll(4) {
            0 => {
                let text = format!("text {}", dice.roll(8));
                let planned = model.publish(&Publication::new(content(&text), who.subject.clone()));
                let done = hub.store.publish(&who, upload("acme/refunds", &text)).await;
                assert_eq!(code(&planned), store_code(&done), "step {step}");
                if let Ok(PublishOutcome::New { version, changes, .. }) = planned {
                    assert_eq!(done.unwrap().version.version, version, "step {step}");
                    model.apply_all(&changes);
                }
            }
            1 => {
                let transition = Transition::ALL[usize::try_from(dice.roll(7)).unwrap()];
                // Revocations are final; too many of them would leave nothing to do.
                if transition == Transition::Revoke && dice.roll(4) > 0 {
                    continue;
                }
                let planned = model.transition(&who, &any_version.version, transition, None);
                let note = TransitionNote::default();
                let done = hub.store.transition(&who, &any_version, transition, note).await;
                if !model.versions.is_empty() {
                    assert_eq!(code(&planned), store_code(&done), "step {step}");
                }
                model.apply_all(&planned.unwrap_or_default());
            }
            2 => {
                let planned = model.promote(&any_version.version, channel);
                let done = hub.store.promote(&who, &any_version, channel).await;
                if !model.versions.is_empty() {
                    assert_eq!(code(&planned), store_code(&done), "step {step}");
                }
                model.apply_all(&planned.unwrap_or_default());
            }
            _ => {
                let planned = model.roll_back(channel);
                let done = hub.store.roll_back(&who, &id, channel).await;
                if !model.versions.is_empty() {
                    assert_eq!(code(&planned), store_code(&done), "step {step}");
                }
                model.apply_all(&planned.unwrap_or_default());
            }
        }
        for channel in &channels {
            let served = hub.store.served(channel, &id).await.unwrap();
            let served = served.map(|version| (version.version, version.content));
            let expected = model.served(channel);
            let expected = expected.map(|(version, head)| (version.clone(), head.content));
            assert_eq!(served, expected, "step {step}, channel {channel}");
        }
    }
    let page = PageRequest::first(1_000);
    let versions = hub.store.versions(&hub.admin, &id, &page).await.unwrap();
    for record in &versions.items {
        let head = &model.versions[&record.version];
        assert_eq!((record.state, record.content), (head.state, head.content));
    }
    assert_eq!(versions.items.len(), model.versions.len());
    assert!(hub.heads().await.1 > 20);
}
