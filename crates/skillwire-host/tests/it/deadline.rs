//! Servers that hang or never end, beside one that answers.

use std::time::Duration;

use serde_json::json;
use skillwire_host::Host;
use skillwire_testkit::{Fault, HostileServer, ReplyGate, ScriptedReply};
use skillwire_trust::{Budgets, Policy, Reason, Remedy};
use tokio::time::{Instant, timeout};

use crate::support::{endpoint, label};

/// The time that all servers together have. It passes only while every task waits, where a test
/// pauses the clock.
const SHARED: Duration = Duration::from_secs(3);

const PATIENCE: Duration = Duration::from_mins(1);

fn policy() -> Policy {
    let budgets = Budgets::default().with_discovery_time(SHARED);
    Policy::default().with_budgets(budgets)
}

#[tokio::test(start_paused = true)]
async fn a_hanging_neighbour_costs_one_shared_deadline_sec_10() {
    let quick = HostileServer::new().skill("refunds", [("x", "x")]);
    let hangs = HostileServer::new().on("skills/list", |_, _| ScriptedReply::Never);
    let host = Host::builder().policy(policy()).build();
    for (name, server) in [("quick", &quick), ("hangs", &hangs), ("hangs-too", &hangs)] {
        host.add_server(label(name), endpoint(server));
    }
    let started = Instant::now();
    let found = host.discover().await;
    assert!(started.elapsed() < 2 * SHARED, "they wait at the same time: {:?}", started.elapsed());
    assert!(found.registry.items().iter().any(|item| item.handle == "quick:refunds"));
    let late: Vec<_> = found.incomplete.iter().map(|refusal| refusal.reason).collect();
    assert_eq!(late, [Reason::ServerTimeout, Reason::ServerTimeout]);
    let hangs = label("hangs");
    let advice = found.incomplete.iter().filter_map(|refusal| refusal.remedy.as_deref());
    assert!(advice.into_iter().any(|remedy| *remedy == Remedy::AskServerAlone(hangs.clone())));
}

// An endless server answers at once, again and again, so a paused clock would stand still for ever.
#[tokio::test]
async fn an_endless_neighbour_costs_one_shared_deadline_sec_10() {
    let quick = HostileServer::new().skill("refunds", [("x", "x")]);
    let endless = HostileServer::new().fault(Fault::EndlessPages);
    let host = Host::builder().policy(policy()).build();
    host.add_server(label("quick"), endpoint(&quick));
    host.add_server(label("endless"), endpoint(&endless));
    let found = timeout(PATIENCE, host.discover()).await.expect("the deadline is kept");
    assert!(found.registry.items().iter().any(|item| item.handle == "quick:refunds"));
    // The pages that came until then are there, and the rest is reported.
    let listed = found.registry.items().iter().filter(|item| item.handle.starts_with("endless:"));
    assert!(listed.count() > 0, "{:?} {:?}", found.incomplete, found.refused);
    let late: Vec<_> = found.incomplete.iter().map(|refusal| refusal.reason).collect();
    assert_eq!(late, [Reason::ServerTimeout]);
}

#[tokio::test(start_paused = true)]
async fn what_answers_in_time_is_known_before_the_rest_is_waited_for_fu_15() {
    let quick = HostileServer::new().skill("refunds", [("x", "x")]);
    let hangs = HostileServer::new().on("skills/list", |_, _| ScriptedReply::Never);
    let host = Host::builder().policy(policy()).build();
    host.add_server(label("quick"), endpoint(&quick));
    host.add_server(label("hangs"), endpoint(&hangs));
    let mut parts = Vec::new();
    let discovering = host.discover_in_parts(SHARED / 2, |found, waiting| {
        let handles = found.registry.items().iter().map(|item| item.handle.clone());
        parts.push((handles.collect::<Vec<_>>(), waiting.to_vec()));
    });
    discovering.await;
    assert_eq!(parts, [(vec!["quick:refunds".to_owned()], vec![label("hangs")])]);
}

#[tokio::test(start_paused = true)]
async fn each_slow_server_is_a_part_while_another_hangs_fu_15() {
    let gates = [ReplyGate::new(), ReplyGate::new()];
    let hangs = HostileServer::new().on("skills/list", |_, _| ScriptedReply::Never);
    let host = Host::builder().policy(policy()).build();
    host.add_server(label("hangs"), endpoint(&hangs));
    for (number, gate) in gates.iter().enumerate() {
        let slow = HostileServer::new().skill(&format!("s{number}"), [("x", "x")]);
        let entry = slow.entry(&format!("skill://s{number}/SKILL.md"));
        let listing = json!({ "resultType": "complete", "skills": [entry], "ttlMs": 60_000, "cacheScope": "private" });
        let gate = gate.clone();
        let slow = slow.on("skills/list", move |_, _| {
            ScriptedReply::Held(gate.clone(), Box::new(ScriptedReply::Result(listing.clone())))
        });
        host.add_server(label(&format!("slow{number}")), endpoint(&slow));
    }
    let mut parts = Vec::new();
    let discovering = host.discover_in_parts(SHARED / 4, |found, waiting| {
        parts.push((found.registry.items().len(), waiting.len()));
        // Each part lets the next server answer.
        if let Some(gate) = gates.get(parts.len() - 1) {
            gate.open();
        }
    });
    let found = discovering.await;
    assert_eq!(parts, [(0, 3), (1, 2), (2, 1)]);
    assert_eq!((found.registry.items().len(), found.incomplete.len()), (2, 1));
}
