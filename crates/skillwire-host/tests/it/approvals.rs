//! The user's decisions, what they are bound to, and what revokes them.

use std::{collections::BTreeSet, time::Duration};

use serde_json::json;
use skillwire_host::{Host, ToolCall, local};
use skillwire_testkit::{Fault, HostileServer, SkillFolder};
use skillwire_trust::{
    Action, Answer, ApprovedBy, Decision, DynamicPolicy, Grants, ListedSkill, LockFile, Policy,
    Question, Reason, Remedy, RunGrants, RunRequest, Standing,
};

use crate::support::{
    KeptAudit, SetClock, Shortcuts, User, endpoint, host, host_from, label, skill_uri,
};

const NONE: [(&str, &str); 0] = [];
const SKILL_MD: &str = "skill://refunds/SKILL.md";

fn refunds() -> HostileServer {
    HostileServer::new().skill("refunds", [("x.md", "details")])
}

async fn standing(host: &Host, handle: &str) -> &'static str {
    host.standing(&host.named(handle).await.unwrap()).unwrap().word()
}

#[tokio::test]
async fn nothing_loads_without_an_approval_hst_40() {
    let host = host(&refunds());
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!(host.standing(&listed).unwrap(), Standing::New);
    let refusal = host.approved(&listed).unwrap_err();
    assert_eq!(refusal.reason, Reason::NotApproved);
    assert!(matches!(refusal.remedy.as_deref(), Some(Remedy::ApproveSkill(_))), "{refusal:?}");
    let refusal = host.approved_or_ask(&listed).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::NotApproved, "nobody is there to be asked");
    host.approve(&listed, Grants::load_only()).unwrap();
    assert!(host.load(host.approved(&listed).unwrap()).await.is_ok());
}

#[tokio::test]
async fn events_come_in_the_order_of_the_loader_hst_40() {
    let audit = KeptAudit::default();
    let host = host_from(Host::builder().audit(audit.clone()).prompter(User::yes()), &refunds());
    let listed = host.named("acme:refunds").await.unwrap();
    let approved = host.approved_or_ask(&listed).await.unwrap();
    let window = host.load(approved).await.unwrap().window;
    window.read("x.md").await.unwrap();
    window.read("../x").await.unwrap_err();
    window.release();
    let events: Vec<_> =
        audit.events().iter().map(|event| (event.action, event.decision, event.reason)).collect();
    assert_eq!(
        events,
        [
            (Action::Approve, Decision::Allowed, None),
            (Action::Load, Decision::Allowed, None),
            (Action::Read, Decision::Allowed, None),
            (Action::Read, Decision::Refused, Some(Reason::PathOutsideSkill)),
            (Action::Release, Decision::Allowed, None),
        ]
    );
    let content = listed.content().unwrap().fingerprint();
    assert!(audit.events().iter().all(|event| event.content == Some(content)));
}

#[tokio::test]
async fn an_approval_is_of_one_label_only_hst_12_h_49_h_50() {
    let (one, two) = (refunds(), refunds());
    let host = host(&one);
    host.add_server(label("beta"), endpoint(&two));
    host.approved_now("acme:refunds").await.unwrap();
    assert_eq!(standing(&host, "acme:refunds").await, "approved");
    assert_eq!(standing(&host, "beta:refunds").await, "new", "equal URI, equal bytes");
    two.set_fault(Fault::ServerName("acme".to_owned()));
    host.add_server(label("gamma"), endpoint(&two));
    assert_eq!(standing(&host, "gamma:refunds").await, "new", "whatever it calls itself");
    let removed = host.remove_server(&label("acme")).unwrap();
    assert_eq!(removed.records, 1);
    host.add_server(label("acme"), endpoint(&one));
    assert_eq!(standing(&host, "acme:refunds").await, "new", "a label used again inherits nothing");
}

#[tokio::test]
async fn any_other_content_undoes_an_approval_and_order_does_not_hst_88_hst_89_h_47_h_48() {
    let entry = refunds().entry(SKILL_MD);
    let resources = entry["resources"].as_array().unwrap().clone();
    let mut changed = resources.clone();
    changed[1]["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
    let mut added = resources.clone();
    added.push(
        json!({ "uri": "skill://refunds/y.md", "digest": resources[0]["digest"], "size": 1 }),
    );
    let mut resized = resources.clone();
    resized[1]["size"] = json!(8);
    let reordered: Vec<_> = resources.iter().rev().cloned().collect();
    let removed = vec![resources[0].clone()];
    for (patch, expected) in [
        (json!({ "resources": changed }), "changed"),
        (json!({ "resources": added }), "changed"),
        (json!({ "resources": removed }), "changed"),
        (json!({ "resources": resized }), "changed"),
        (json!({ "frontmatter": { "license": "MIT" } }), "changed"),
        (json!({ "resources": reordered }), "approved"),
    ] {
        let server = refunds();
        let host = host(&server);
        host.approved_now("acme:refunds").await.unwrap();
        server.set_fault(Fault::entry(SKILL_MD, patch.clone()));
        assert_eq!(standing(&host, "acme:refunds").await, expected, "{patch}");
        let listed = host.named("acme:refunds").await.unwrap();
        assert_eq!(host.approved(&listed).is_ok(), expected == "approved", "{patch}");
    }
}

#[tokio::test]
async fn a_changed_skill_says_how_it_changed_hst_89() {
    let server = refunds();
    let host = host(&server);
    host.approved_now("acme:refunds").await.unwrap();
    server.set_skill("refunds", [("x.md", "other"), ("new.sh", "rm")]);
    let listed = host.named("acme:refunds").await.unwrap();
    let Standing::Changed(diff) = host.standing(&listed).unwrap() else { panic!("not changed") };
    assert_eq!(diff.added[0].uri.as_str(), "skill://refunds/new.sh");
    assert_eq!(diff.changed[0].0.uri.as_str(), "skill://refunds/x.md");
    assert!(diff.removed.is_empty() && diff.frontmatter.is_empty());
    let refusal = host.approved(&listed).unwrap_err();
    assert_eq!(
        refusal.actual.as_deref(),
        Some("1 added, 0 removed, 1 changed, 0 fields of the frontmatter")
    );
}

#[tokio::test]
async fn an_approval_never_covers_dynamic_content_and_never_comes_back_hst_91_h_46() {
    let server = refunds();
    let policy = Policy::default().with_dynamic(DynamicPolicy::Ask);
    let user = User::yes();
    let host = host_from(Host::builder().policy(policy).prompter(user.clone()), &server);
    host.approved_now("acme:refunds").await.unwrap();
    server.set_fault(Fault::entry(SKILL_MD, json!({ "resources": "dynamic" })));
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::NotApproved);
    let Standing::Changed(diff) = host.standing(&listed).unwrap() else { panic!("not changed") };
    assert_eq!(diff.removed.len(), 2, "no file has a digest any more");
    for asked in 1..=2 {
        let approved = host.approved_or_ask(&listed).await.unwrap();
        host.load(approved).await.unwrap();
        assert_eq!(user.questions().len(), asked, "each load is asked about");
    }
    server.clear_faults();
    assert_eq!(standing(&host, "acme:refunds").await, "changed", "the old set does not restore it");
}

#[tokio::test]
async fn tools_are_granted_one_by_one_and_only_if_asked_for_hst_79() {
    let text = "---\nname: refunds\ndescription: Does it.\nallowed-tools: Read Bash(git:*)\n---\n";
    let server = HostileServer::new().skill("refunds", [("SKILL.md", text)]);
    let host = host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    assert!(window.granted_tools().is_empty(), "asking is not having");
    window.release();
    let listed = host.named("acme:refunds").await.unwrap();
    let tools = BTreeSet::from(["Read".to_owned(), "Write".to_owned()]);
    let approved = host.approve(&listed, Grants { tools, ..Grants::load_only() }).unwrap();
    let window = host.load(approved).await.unwrap().window;
    assert_eq!(window.granted_tools().iter().collect::<Vec<_>>(), ["Read"]);
}

#[tokio::test]
async fn running_code_is_granted_apart_and_else_asked_for_each_call_hst_55_hst_71_hst_73() {
    let user = User::no();
    let host = host_from(Host::builder().prompter(user.clone()), &refunds());
    let window = host.window("acme:refunds").await.unwrap();
    let call = ToolCall { tool: "shell".to_owned(), input: "rm -rf /".to_owned() };
    assert_eq!(window.may_run(&call).await.unwrap_err().reason, Reason::UserDeclined);
    user.says_now(Answer::Yes(Grants::load_only()));
    assert!(window.may_run(&call).await.is_ok());
    assert!(window.may_run(&call).await.is_ok());
    assert_eq!(user.questions().len(), 3, "a verified skill is asked about like any other");
    let Question::Execute { call: shown, skill } = &user.questions()[0] else {
        panic!("not asked")
    };
    assert_eq!(shown, "shell rm -rf /");
    assert_eq!(skill.origin.label(), "acme");
    user.says_now(Answer::Unavailable);
    assert_eq!(window.may_run(&call).await.unwrap_err().reason, Reason::NotGranted);
    window.release();
    let listed = host.named("acme:refunds").await.unwrap();
    let granted = Grants { execute: true, ..Grants::default() };
    let window = host.load(host.approve(&listed, granted).unwrap()).await.unwrap().window;
    assert!(window.may_run(&call).await.is_ok());
    assert_eq!(user.questions().len(), 4, "granted, so nobody is asked");
}

#[tokio::test]
async fn scripts_of_a_skill_run_by_a_grant_for_its_content_alone_hst_71_hst_73() {
    let user = User::yes();
    let audit = KeptAudit::default();
    let builder = Host::builder().prompter(user.clone()).audit(audit.clone());
    let host = host_from(builder, &refunds());
    let window = host.window("acme:refunds").await.unwrap();
    assert_eq!(window.may_run_scripts().unwrap_err().reason, Reason::NotGranted);
    assert!(user.questions().is_empty(), "nobody is asked: it is granted beforehand or not at all");
    window.log_run(Err(Reason::NotGranted), "scripts/a.py");
    let event = audit.events().pop().unwrap();
    assert_eq!((event.action, event.decision), (Action::Run, Decision::Refused));
    assert_eq!(event.detail.as_deref(), Some("scripts/a.py"));
    window.release();
    let listed = host.named("acme:refunds").await.unwrap();
    let granted = Grants { execute: true, ..Grants::default() };
    let window = host.load(host.approve(&listed, granted).unwrap()).await.unwrap().window;
    assert!(window.may_run_scripts().is_ok());
    window.release();
    assert_eq!(window.may_run_scripts().unwrap_err().reason, Reason::WindowClosed);
}

#[tokio::test]
async fn a_run_gets_what_was_granted_for_this_content_or_less_and_never_more() {
    let host = host(&refunds());
    let listed = host.named("acme:refunds").await.unwrap();
    let run: RunGrants = serde_json::from_value(json!({"network": ["*.example.com:443"]})).unwrap();
    let granted = Grants::load_only().with_scripts(run.clone());
    let window = host.load(host.approve(&listed, granted).unwrap()).await.unwrap().window;
    let asked = |host: &str| RunRequest::default().network([host.parse().unwrap()]);
    assert_eq!(window.grants_for_run(&RunRequest::default()), Ok(run));
    let narrow = window.grants_for_run(&asked("api.example.com:443")).unwrap();
    assert_eq!(narrow.lines()[0], "network: api.example.com:443");
    let refused = window.grants_for_run(&asked("example.org:443")).unwrap_err();
    assert_eq!(refused.reason, Reason::NotGranted);
    let Some(Remedy::GrantRun(_, needed)) = refused.remedy.as_deref() else {
        panic!("{refused:?}")
    };
    assert_eq!(needed.lines()[0], "network: example.org:443, *.example.com:443");
    // An approval without scripts has nothing to narrow.
    window.release();
    let window = host.load(host.approve(&listed, Grants::load_only()).unwrap()).await;
    let refused = window.unwrap().window.grants_for_run(&RunRequest::default()).unwrap_err();
    assert!(matches!(refused.remedy.as_deref(), Some(Remedy::GrantExecution(_))), "{refused:?}");
}

#[tokio::test]
async fn an_open_window_can_tell_that_its_approval_was_withdrawn_hst_87() {
    let host = host(&refunds());
    let window = host.window("acme:refunds").await.unwrap();
    assert!(window.still_approved().is_ok());
    host.revoke(window.skill()).unwrap();
    assert_eq!(window.still_approved().unwrap_err().reason, Reason::NotApproved);
}

#[tokio::test]
async fn many_skills_stand_together_as_each_does_alone_hst_87() {
    let server = refunds().skill("other", NONE);
    let host = host(&server);
    host.approved_now("acme:refunds").await.unwrap();
    let listing = host.list(&label("acme")).await.unwrap();
    let known: Vec<_> = listing.skills.iter().collect();
    let alone: Vec<_> =
        known.iter().map(|skill| host.standing(skill.certain().unwrap()).unwrap()).collect();
    let words: BTreeSet<_> = alone.iter().map(Standing::word).collect();
    assert_eq!(words, BTreeSet::from(["approved", "new"]));
    assert_eq!(host.standings(&known), alone);
    for (skill, standing) in known.into_iter().zip(&alone) {
        let approved = host.approved(skill.certain().unwrap()).is_ok();
        assert_eq!(host.is_approved(skill, standing), approved);
    }
}

#[tokio::test]
async fn a_nested_skill_needs_its_own_approval_hst_80_hst_81_hst_82_h_54() {
    let inner = "---\nname: inner\ndescription: Is inner.\nallowed-tools: Bash(*)\n---\n";
    let server = HostileServer::new()
        .skill("outer", [("inner/SKILL.md", inner)])
        .skill("outer/inner", [("SKILL.md", inner)]);
    let host = host(&server);
    let window = host.window("acme:outer").await.unwrap();
    let read = window.read("inner/SKILL.md").await.unwrap();
    assert_eq!(&read.bytes()[..], inner.as_bytes(), "plain text, hst_81");
    assert!(window.granted_tools().is_empty());
    assert_eq!(standing(&host, "acme:inner").await, "new");
    let listed = host.named("acme:inner").await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::NotApproved);
    assert_eq!(host.open_windows().len(), 1, "reading opened nothing");
}

#[tokio::test]
async fn a_disabled_skill_is_neither_shown_nor_loaded_hst_84() {
    let host = host(&refunds());
    let approved = host.approved_now("acme:refunds").await.unwrap();
    let id = approved.id().clone();
    host.set_enabled(&id, false).unwrap();
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Disabled);
    assert_eq!(host.load(approved).await.err().unwrap().reason, Reason::Disabled);
    assert!(host.catalogue_items(&host.discover().await).unwrap().is_empty(), "hst_105: hidden");
    host.set_enabled(&id, true).unwrap();
    assert!(host.load(host.approved(&listed).unwrap()).await.is_ok());
    assert_eq!(host.catalogue_items(&host.discover().await).unwrap().len(), 1);
}

#[tokio::test]
async fn an_approval_can_be_withdrawn_hst_87() {
    let host = host(&refunds());
    let id = host.approved_now("acme:refunds").await.unwrap().id().clone();
    assert!(host.revoke(&id).unwrap());
    assert_eq!(standing(&host, "acme:refunds").await, "new");
    assert!(!host.revoke(&id).unwrap());
}

#[tokio::test]
async fn a_user_is_not_worn_down_by_questions_h_59() {
    let server = refunds();
    let user = User::no();
    let clock = SetClock::default();
    let builder = Host::builder().prompter(user.clone()).clock(clock.clone());
    let host = host_from(builder, &server);
    for round in 0..10 {
        server.set_skill("refunds", [("x.md", format!("round {round}"))]);
        let listed = host.named("acme:refunds").await.unwrap();
        let refusal = host.approved_or_ask(&listed).await.unwrap_err();
        let expected = if round < 3 { Reason::UserDeclined } else { Reason::AskedTooOften };
        assert_eq!(refusal.reason, expected, "{round}");
    }
    assert_eq!(user.questions().len(), 3);
    let Question::Approve(card) = &user.questions()[2] else { panic!("not asked") };
    assert_eq!(card.asked_before, 2, "the counter is shown");
    let listed = host.named("acme:refunds").await.unwrap();
    assert!(host.approve(&listed, Grants::load_only()).is_ok(), "the user's own wish is no flood");
    clock.advance(Duration::from_hours(2));
    server.set_skill("refunds", [("x.md", "later")]);
    let listed = host.named("acme:refunds").await.unwrap();
    host.approved_or_ask(&listed).await.unwrap_err();
    assert_eq!(user.questions().len(), 4);
}

#[tokio::test]
async fn the_same_content_is_not_asked_about_twice_after_a_no_h_59() {
    let user = User::no();
    let host = host_from(Host::builder().prompter(user.clone()), &refunds());
    for _ in 0..3 {
        let listed = host.named("acme:refunds").await.unwrap();
        let refusal = host.approved_or_ask(&listed).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::UserDeclined);
    }
    assert_eq!(user.questions().len(), 1);
    assert_eq!(standing(&host, "acme:refunds").await, "declined");
}

#[tokio::test]
async fn many_skills_of_one_server_are_one_flood_h_59() {
    let mut server = HostileServer::new();
    for n in 0..30 {
        server = server.skill(&format!("s{n}"), NONE);
    }
    let user = User::no();
    let host = host_from(Host::builder().prompter(user.clone()), &server);
    for n in 0..30 {
        let listed = host.named(&format!("acme:s{n}")).await.unwrap();
        host.approved_or_ask(&listed).await.unwrap_err();
    }
    assert_eq!(user.questions().len(), 20);
}

#[tokio::test]
async fn an_idle_host_asks_nothing_hst_90() {
    let server = refunds();
    let host = host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    server.clear_log();
    tokio::task::yield_now().await;
    assert!(window.is_open());
    assert!(server.log().is_empty());
}

#[tokio::test]
async fn a_new_file_is_reached_by_refresh_approval_and_load_hst_60() {
    let server = refunds();
    let host = host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    server.set_skill("refunds", [("x.md", "details"), ("new.md", "new")]);
    assert_eq!(window.read("new.md").await.unwrap_err().reason, Reason::FileNotListed);
    let listed = host.get(&label("acme"), &skill_uri(SKILL_MD)).await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
    let approved = host.approve(&listed, Grants::load_only()).unwrap();
    let renewed = host.load(approved).await.unwrap().window;
    assert_eq!(&renewed.read("new.md").await.unwrap().bytes()[..], b"new");
}

#[tokio::test]
async fn a_lock_file_alone_decides_about_skills_of_servers_hst_88() {
    let server = refunds().skill("other", [("x.md", "other")]);
    let plain = host(&server);
    let listed = plain.named("acme:refunds").await.unwrap();
    let mut lock = LockFile::default();
    lock.insert(listed.id(), &listed.content().unwrap(), Grants::load_only());
    let locked = host_from(Host::builder().lock(Some(lock)), &server);
    assert_eq!(locked.approved(&listed).unwrap().by(), ApprovedBy::Lock);
    // The user's approval does not count while a lock file is in force.
    let other = locked.named("acme:other").await.unwrap();
    locked.approve(&other, Grants::load_only()).unwrap();
    assert_eq!(locked.approved(&other).unwrap_err().reason, Reason::NotLocked);
    let is_approved = |listed: &ListedSkill| {
        let standing = locked.standing(listed).unwrap();
        locked.is_approved(&listed.clone().into(), &standing)
    };
    assert_eq!((is_approved(&listed), is_approved(&other)), (true, false));
    // A skill that the user switched off stays off, even if the lock file lists it.
    locked.set_enabled(listed.id(), false).unwrap();
    assert_eq!(locked.approved(&listed).unwrap_err().reason, Reason::Disabled);
    assert!(!is_approved(&listed));
    // The lock file does not apply to the folders of this machine.
    let home = SkillFolder::new();
    home.skill(".agents/skills/mine");
    locked.set_folders(local::discover(Some(home.path()), None));
    let mine = locked.named("mine").await.unwrap();
    assert!(is_approved(&mine) && locked.approved(&mine).is_ok());
}

#[tokio::test]
async fn a_question_counts_for_its_period_and_a_refused_one_not_at_all_h_59() {
    let server = refunds();
    let user = User::no();
    let clock = SetClock::default();
    let policy = Policy::default().with_questions_per_skill(1);
    let builder = Host::builder().policy(policy).prompter(user.clone()).clock(clock.clone());
    let host = host_from(builder, &server);
    for (round, reason) in
        [Reason::UserDeclined, Reason::AskedTooOften, Reason::UserDeclined].into_iter().enumerate()
    {
        server.set_skill("refunds", [("x.md", format!("round {round}"))]);
        let listed = host.named("acme:refunds").await.unwrap();
        let refusal = host.approved_or_ask(&listed).await.unwrap_err();
        assert_eq!(refusal.reason, reason, "{round}");
        clock.advance(Duration::from_mins(30));
    }
    assert_eq!(user.questions().len(), 2);
}

#[tokio::test]
async fn nobody_is_asked_about_a_skill_that_is_switched_off_or_not_in_the_lock_file_hst_84() {
    let server = refunds();
    let user = User::yes();
    let host = host_from(Host::builder().prompter(user.clone()), &server);
    let listed = host.named("acme:refunds").await.unwrap();
    host.set_enabled(listed.id(), false).unwrap();
    assert_eq!(host.approved_or_ask(&listed).await.unwrap_err().reason, Reason::Disabled);
    let builder = Host::builder().prompter(user.clone()).lock(Some(LockFile::default()));
    let locked = host_from(builder, &server);
    assert_eq!(locked.approved_or_ask(&listed).await.unwrap_err().reason, Reason::NotLocked);
    assert!(user.questions().is_empty());
}

#[tokio::test]
async fn a_clock_that_jumps_neither_frees_nor_blocks_questions_and_keeps_approvals_sec_18() {
    let server = refunds();
    let user = User::no();
    let clock = SetClock::default();
    let policy = Policy::default().with_questions_per_skill(1);
    let builder = Host::builder().policy(policy).prompter(user.clone()).clock(clock.clone());
    let host = host_from(builder, &server);
    let ask = async |round: usize| {
        server.set_skill("refunds", [("x.md", format!("round {round}"))]);
        let listed = host.named("acme:refunds").await.unwrap();
        host.approved_or_ask(&listed).await.map_err(|refusal| refusal.reason).map(|_| ())
    };
    assert_eq!(ask(0).await, Err(Reason::UserDeclined));
    clock.set_back(Duration::from_mins(30));
    assert_eq!(ask(1).await, Err(Reason::AskedTooOften), "half an hour back");
    clock.set_back(Duration::from_hours(90_000));
    assert_eq!(ask(2).await, Err(Reason::UserDeclined), "ten years back");
    let listed = host.named("acme:refunds").await.unwrap();
    host.approve(&listed, Grants::load_only()).unwrap();
    for _ in 0..3 {
        clock.advance(Duration::from_hours(200_000));
        assert_eq!(standing(&host, "acme:refunds").await, "approved");
        clock.set_back(Duration::from_hours(200_000));
        assert_eq!(standing(&host, "acme:refunds").await, "approved");
    }
}
