//! Who may do what: namespaces, roles, tokens and trusted publishers.

use std::{collections::BTreeMap, time::Duration};

use skillwire_hub::{
    Action, Caller, ChannelName, ClaimPattern, PageRequest, ReviewPolicy, Role, Scope, Subject,
    TokenSecret, Transition, TrustedPublisher,
};
use skillwire_hub_store::{NamespaceChange, NewNamespace, NewToken, TransitionNote};

use crate::{
    contract,
    support::{Hub, caller, namespace, refused, skill, subject, upload},
};

contract! {
    a_namespace_is_unknown_to_callers_who_may_not_read_it,
    roles_are_granted_by_owners_and_the_last_owner_stays,
    only_administrators_make_namespaces_and_change_quotas,
    a_token_ends_when_it_expires_or_is_revoked,
    a_caller_makes_no_token_that_allows_more_than_its_own,
    the_first_token_is_made_once,
    a_workflow_is_trusted_for_one_namespace,
}

async fn a_namespace_is_unknown_to_callers_who_may_not_read_it(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "one").await;
    let (eve, page) = (caller("eve"), PageRequest::default());
    let (store, id, latest) = (&hub.store, skill("acme/refunds"), ChannelName::latest());
    let unknown = "unknown-namespace";
    assert_eq!(refused(store.namespace(&eve, &namespace("acme")).await), unknown);
    assert_eq!(refused(store.namespace(&eve, &namespace("nowhere")).await), unknown);
    assert_eq!(refused(store.skill(&eve, &id).await), unknown);
    assert_eq!(refused(store.versions(&eve, &id, &page).await), unknown);
    assert_eq!(refused(store.version(&eve, &version).await), unknown);
    assert_eq!(refused(store.skills(&eve, Some(&namespace("acme")), &page).await), unknown);
    assert_eq!(refused(store.publish(&eve, upload("acme/refunds", "two")).await), unknown);
    assert_eq!(refused(store.promote(&eve, &version, &latest).await), unknown);
    assert_eq!(refused(store.roll_back(&eve, &id, &latest).await), unknown);
    let note = TransitionNote::default();
    assert_eq!(refused(store.transition(&eve, &version, Transition::Yank, note).await), unknown);
    assert!(store.skills(&eve, None, &page).await.unwrap().items.is_empty());
    assert!(store.namespaces(&eve, &page).await.unwrap().items.is_empty());

    let everyone = Subject::everyone();
    store.grant(&hub.admin, &namespace("acme"), &everyone, Role::Reader).await.unwrap();
    assert_eq!(store.skills(&eve, None, &page).await.unwrap().items.len(), 1);
    assert_eq!(store.namespaces(&Caller::anonymous(), &page).await.unwrap().items.len(), 1);
}

async fn roles_are_granted_by_owners_and_the_last_owner_stays(hub: Hub) {
    let acme = hub.namespace("acme").await;
    let grant = async |who: &str, to: &str, role| {
        hub.store.grant(&caller(who), &acme, &subject(to), role).await
    };
    assert_eq!(refused(grant("ana", "eve", Role::Reader).await), "not-allowed");
    grant("olga", "eve", Role::Publisher).await.unwrap();
    hub.store.publish(&caller("eve"), upload("acme/refunds", "one")).await.unwrap();
    let withdraw = async |to: &str, role| {
        hub.store.withdraw_grant(&caller("olga"), &acme, &subject(to), role).await
    };
    withdraw("eve", Role::Publisher).await.unwrap();
    let denied = hub.store.publish(&caller("eve"), upload("acme/refunds", "two")).await;
    assert_eq!(refused(denied), "unknown-namespace");
    assert_eq!(refused(withdraw("olga", Role::Owner).await), "last-owner");
    assert_eq!(refused(grant("olga", "*", Role::Publisher).await), "everyone-only-reads");
    let heads = hub.heads().await;
    withdraw("eve", Role::Publisher).await.unwrap();
    assert_eq!(hub.heads().await, heads);
}

async fn only_administrators_make_namespaces_and_change_quotas(hub: Hub) {
    let acme = hub.namespace("acme").await;
    let new = NewNamespace::new(namespace("beta"), subject("eve"));
    let made = hub.store.create_namespace(&caller("olga"), new.clone()).await;
    assert_eq!(refused(made), "not-allowed");
    let again = NewNamespace::new(acme.clone(), subject("eve"));
    assert_eq!(refused(hub.store.create_namespace(&hub.admin, again).await), "namespace-taken");
    let review = NamespaceChange { review: Some(ReviewPolicy::Required), ..Default::default() };
    let changed = hub.store.change_namespace(&caller("olga"), &acme, review).await.unwrap();
    assert_eq!(changed.review, ReviewPolicy::Required);
    let protect = NamespaceChange { protected: Some(true), ..Default::default() };
    let denied = hub.store.change_namespace(&caller("olga"), &acme, protect.clone()).await;
    assert_eq!(refused(denied), "not-allowed");
    // Names that exist are guarded from then on.
    hub.namespace("beta").await;
    hub.published("acme/refunds", "one").await;
    hub.store.change_namespace(&hub.admin, &acme, protect).await.unwrap();
    assert!(hub.publish("beta/refund", "two").await.unwrap().name_conflict.is_some());
}

async fn a_token_ends_when_it_expires_or_is_revoked(hub: Hub) {
    let end = hub.store.now().plus(Duration::from_mins(1));
    let new = NewToken::new("ci", subject("ana"))
        .with_scopes([Scope::Read, Scope::Publish])
        .with_end(Some(end));
    let (token, secret) = hub.store.create_token(&hub.admin, new).await.unwrap();
    let found = hub.store.authenticate(&secret).await.unwrap().unwrap();
    assert_eq!((found.id, found.subject.as_str()), (token.id, "ana"));
    assert_eq!(found.caller().scopes, [Scope::Read, Scope::Publish].into());
    let other = TokenSecret::from_random([1; 32]);
    assert_eq!(hub.store.authenticate(&other).await.unwrap(), None);
    hub.wait(Duration::from_secs(61));
    assert_eq!(hub.store.authenticate(&secret).await.unwrap(), None);

    let (token, secret) =
        hub.store.create_token(&hub.admin, NewToken::new("b", subject("ana"))).await.unwrap();
    assert!(hub.store.authenticate(&secret).await.unwrap().is_some());
    let stranger = hub.store.revoke_token(&caller("eve"), token.id).await;
    assert_eq!(refused(stranger), "unknown-record");
    hub.store.revoke_token(&caller("ana"), token.id).await.unwrap();
    assert_eq!(hub.store.authenticate(&secret).await.unwrap(), None);
    let heads = hub.heads().await;
    hub.store.revoke_token(&hub.admin, token.id).await.unwrap();
    assert_eq!(hub.heads().await, heads);
    let past = NewToken::new("c", subject("ana")).with_end(Some(end));
    assert_eq!(refused(hub.store.create_token(&hub.admin, past).await), "in-the-past");
    let page = PageRequest::default();
    assert_eq!(hub.store.tokens(&hub.admin, &page).await.unwrap().items.len(), 2);
    assert!(hub.store.tokens(&caller("eve"), &page).await.unwrap().items.is_empty());
}

async fn a_caller_makes_no_token_that_allows_more_than_its_own(hub: Hub) {
    let create = async |who: &Caller, new| hub.store.create_token(who, new).await;
    let ana = caller("ana").with_scopes([Scope::Read]).limited_to([namespace("acme")]);
    let limited = Some([namespace("acme")].into());
    let mine = NewToken::new("mine", subject("ana")).with_namespaces(limited.clone());
    create(&ana, mine.clone()).await.unwrap();
    for greedy in [
        NewToken::new("other's", subject("rex")).with_namespaces(limited.clone()),
        mine.clone().with_scopes([Scope::Read, Scope::Publish]),
        mine.clone().with_namespaces(None),
        mine.clone().with_namespaces(Some([namespace("acme"), namespace("beta")].into())),
        mine.clone().with_scopes([Scope::Read]).with_administrator(),
    ] {
        assert_eq!(refused(create(&ana, greedy.clone()).await), "not-allowed", "{greedy:?}");
    }
    let anonymous = NewToken::new("anonymous", Subject::everyone());
    assert_eq!(refused(create(&Caller::anonymous(), anonymous).await), "everyone-only-reads");
    // An administrator's token that is limited to a scope or a namespace administers nothing.
    let limited = Caller::administrator(subject("root")).with_scopes([Scope::Read]);
    let admin = NewToken::new("admin", subject("root")).with_administrator();
    assert_eq!(refused(create(&limited, admin).await), "not-allowed");
    assert!(limited.require_administrator(Action::Operate).is_err());
}

async fn the_first_token_is_made_once(hub: Hub) {
    let (token, secret) = hub.store.create_first_token("first", subject("root")).await.unwrap();
    assert!(token.administrator);
    let caller = hub.store.authenticate(&secret).await.unwrap().unwrap().caller();
    assert!(caller.require_administrator(Action::Operate).is_ok());
    let again = hub.store.create_first_token("second", subject("eve")).await;
    assert_eq!(refused(again), "not-allowed");
}

async fn a_workflow_is_trusted_for_one_namespace(hub: Hub) {
    hub.namespace("acme").await;
    let publisher = TrustedPublisher {
        id: 0,
        namespace: namespace("acme"),
        issuer: "https://issuer.example".into(),
        claims: BTreeMap::from([("repository".into(), ClaimPattern("acme/skills".into()))]),
        subject: subject("ci@acme"),
    };
    let denied = hub.store.trust_publisher(&caller("ana"), publisher.clone()).await;
    assert_eq!(refused(denied), "not-allowed");
    let trusted = hub.store.trust_publisher(&caller("olga"), publisher).await.unwrap();
    let found = hub.store.trusted_publishers_of("https://issuer.example").await.unwrap();
    assert_eq!(found, std::slice::from_ref(&trusted));
    assert!(hub.store.trusted_publishers_of("https://other.example").await.unwrap().is_empty());
    let page = PageRequest::default();
    let listed = hub.store.trusted_publishers(&caller("olga"), &namespace("acme"), &page).await;
    assert_eq!(listed.unwrap().items, std::slice::from_ref(&trusted));
    hub.store.distrust_publisher(&caller("olga"), trusted.id).await.unwrap();
    let gone = hub.store.distrust_publisher(&caller("olga"), trusted.id).await;
    assert_eq!(refused(gone), "unknown-record");
}
