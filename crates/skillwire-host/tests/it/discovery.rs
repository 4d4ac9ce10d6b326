//! Which skills a host knows, and what it asks servers to find out.

use std::time::Duration;

use serde_json::{Value, json};
use skillwire_client::Endpoint;
use skillwire_host::Host;
use skillwire_protocol::SKILLS_EXTENSION;
use skillwire_testkit::{Fault, HostileServer, ReceivedRequest, ScriptedReply};
use skillwire_trust::{Budgets, Policy, Reason, Remedy};

use crate::support::{SetClock, Shortcuts, endpoint, host, host_from, label, skill_uri};

const NONE: [(&str, &str); 0] = [];

fn skills_calls(server: &HostileServer) -> usize {
    server.methods().iter().filter(|method| method.starts_with("skills/")).count()
}

async fn handles(host: &Host) -> Vec<String> {
    let found = host.discover().await;
    found.registry.items().iter().map(|item| item.handle.clone()).collect()
}

#[tokio::test]
async fn an_undeclared_server_is_never_asked_for_skills_hst_01_hst_04_h_01() {
    let server = HostileServer::new().skill("x", NONE).resource("docs://x", "plain");
    let server = server.fault(Fault::Undeclared);
    let host = host(&server);
    let refusal = host.list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
    let refusal = host.get(&label("acme"), &skill_uri("skill://x/SKILL.md")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
    assert!(host.discover().await.registry.items().is_empty());
    assert_eq!(skills_calls(&server), 0, "{:?}", server.methods());
    let read = host.read_resource(&label("acme"), "docs://x").await.unwrap();
    assert_eq!(&read.bytes()[..], b"plain", "its resources are read all the same");
    let refusal = host.read_resource(&label("acme"), "skill://x/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered, "what looks like a skill is not");
    assert!(!matches!(refusal.remedy.as_deref(), Some(Remedy::ApproveSkill(_))), "{refusal:?}");
    assert_eq!(skills_calls(&server), 0, "{:?}", server.methods());
}

#[tokio::test]
async fn only_an_object_is_a_declaration_hst_03_h_02() {
    for (declared, accepted) in [
        (json!({}), true),
        (json!([]), true),
        (json!(true), false),
        (json!("yes"), false),
        (json!(null), false),
        (json!([1]), false),
    ] {
        let server = HostileServer::new().skill("x", NONE).fault(Fault::Declared(declared.clone()));
        assert_eq!(host(&server).list(&label("acme")).await.is_ok(), accepted, "{declared}");
    }
    let experimental = json!({ "resources": {}, "experimental": { SKILLS_EXTENSION: {} } });
    let server = HostileServer::new().skill("x", NONE).fault(Fault::Capabilities(experimental));
    assert!(host(&server).list(&label("acme")).await.is_err());
    assert_eq!(skills_calls(&server), 0);
}

#[tokio::test]
async fn servers_with_equal_names_and_uris_stay_apart_hst_07_hst_11() {
    let named = |text: &str| {
        HostileServer::new()
            .skill("refunds", [("x.md", text)])
            .fault(Fault::ServerName("local".to_owned()))
    };
    let (one, two) = (named("one"), named("two"));
    let host = host(&one);
    host.add_server(label("beta"), endpoint(&two));
    assert_eq!(handles(&host).await, ["acme:refunds", "beta:refunds"]);
    let first = host.window("acme:refunds").await.unwrap();
    let second = host.window("beta:refunds").await.unwrap();
    assert_eq!(&first.read("x.md").await.unwrap().bytes()[..], b"one");
    assert_eq!(&second.read("x.md").await.unwrap().bytes()[..], b"two");
    assert_eq!(host.named("refunds").await.unwrap_err().reason, Reason::NameAmbiguous);
}

#[tokio::test]
async fn a_resource_that_looks_like_a_skill_is_none_hst_08_hst_09() {
    let server =
        HostileServer::new().resource("skill://a/SKILL.md", "---\nname: a\ndescription: A.\n---\n");
    let host = host(&server);
    assert!(handles(&host).await.is_empty());
    let refusal = host.named("acme:skill://a/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillNotFound);
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn every_scheme_works_alike_and_is_only_ever_sent_to_its_server_hst_10_hst_15() {
    let server = HostileServer::new()
        .skill("github://evil.test/repo/x", [("a.md", "a")])
        .skill("skill://evil.test/y", [("a.md", "a")]);
    let host = host(&server);
    for handle in ["acme:x", "acme:y"] {
        let window = host.window(handle).await.unwrap();
        assert_eq!(&window.read("a.md").await.unwrap().bytes()[..], b"a");
    }
    assert_eq!(server.count("resources/read"), 4, "all of them through the connection");
}

#[tokio::test]
async fn an_unlisted_skill_loads_by_its_uri_hst_30_hst_31_hst_104_h_09() {
    let server =
        HostileServer::new().skill("acme/refunds", [("x.md", "x")]).fault(Fault::ListsNothing);
    let server = server.fault(Fault::member("skills/get", "ttlMs", 60_000));
    let host = host(&server);
    assert!(handles(&host).await.is_empty());
    let listed = host.named("acme:skill://acme/refunds/SKILL.md").await.unwrap();
    let refusal = host.approved(&listed).unwrap_err();
    assert_eq!(refusal.reason, Reason::NotApproved, "it is gated like any other");
    let window = host.window("acme:skill://acme/refunds/SKILL.md").await.unwrap();
    assert_eq!(&window.read("x.md").await.unwrap().bytes()[..], b"x");
    assert_eq!(server.count("skills/get"), 1, "confirmed once");
}

#[tokio::test]
async fn cursors_are_opaque_and_only_strings_are_followed_hst_32_h_07() {
    let skills =
        || HostileServer::new().skill("a", NONE).skill("b", NONE).fault(Fault::PageSize(1));
    let empty = skills().fault(Fault::FirstCursor(json!("")));
    let listing = host(&empty).list(&label("acme")).await.unwrap();
    let asked = empty.log().into_iter().filter(|logged| logged.method == "skills/list");
    let cursors: Vec<_> = asked.map(|logged| logged.params["cursor"].clone()).collect();
    assert_eq!(cursors[..2], [json!(null), json!("")], "the empty string is a cursor");
    assert!(listing.truncated.is_none());
    let ended = skills().fault(Fault::FirstCursor(Value::Null));
    assert_eq!(host(&ended).list(&label("acme")).await.unwrap().skills.len(), 1);
    assert_eq!(ended.count("skills/list"), 1, "null is the end");
    for bad in [json!(5), json!({}), json!("x".repeat(1 << 20))] {
        let server = skills().fault(Fault::FirstCursor(bad));
        let refusal = host(&server).list(&label("acme")).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::ProtocolError);
        assert_eq!(server.count("skills/list"), 1);
    }
}

#[tokio::test]
async fn a_listed_entry_is_enough_to_load_hst_33() {
    let server = HostileServer::new().skill("refunds", NONE);
    host(&server).window("acme:refunds").await.unwrap();
    assert_eq!(server.count("skills/get"), 0);
    assert_eq!(server.count("skills/list"), 1);
    assert_eq!(server.count("resources/read"), 1);
}

#[tokio::test]
async fn a_listing_is_used_for_its_lifetime_and_no_longer_hst_34() {
    let server =
        HostileServer::new().skill("a", NONE).fault(Fault::member("skills/list", "ttlMs", 60_000));
    let clock = SetClock::default();
    let host = host_from(Host::builder().clock(clock.clone()), &server);
    for _ in 0..3 {
        host.list(&label("acme")).await.unwrap();
    }
    assert_eq!(server.count("skills/list"), 1);
    clock.advance(Duration::from_millis(59_999));
    host.list(&label("acme")).await.unwrap();
    assert_eq!(server.count("skills/list"), 1);
    clock.advance(Duration::from_millis(1));
    host.list(&label("acme")).await.unwrap();
    assert_eq!(server.count("skills/list"), 2);
}

#[tokio::test]
async fn caching_hints_that_make_no_sense_mean_not_fresh_h_12() {
    for ttl in [json!(-1), json!(1e308), json!("60000"), json!(null), json!(1.5)] {
        let server = HostileServer::new().skill("a", NONE).fault(Fault::member(
            "skills/list",
            "ttlMs",
            ttl.clone(),
        ));
        let host = host(&server);
        let listing = host.list(&label("acme")).await.unwrap();
        assert!(listing.warnings.iter().any(|w| w.contains("ttlMs")), "{ttl}: {listing:?}");
        host.list(&label("acme")).await.unwrap();
        assert_eq!(server.count("skills/list"), 2, "{ttl}");
    }
    let huge = HostileServer::new().skill("a", NONE).fault(Fault::member(
        "skills/list",
        "ttlMs",
        u64::MAX,
    ));
    let clock = SetClock::default();
    let host = host_from(Host::builder().clock(clock.clone()), &huge);
    host.list(&label("acme")).await.unwrap();
    clock.advance(Duration::from_hours(25));
    host.list(&label("acme")).await.unwrap();
    assert_eq!(huge.count("skills/list"), 2, "never for ever");
    let absent = HostileServer::new()
        .skill("a", NONE)
        .fault(Fault::WithoutMember { method: "skills/list".to_owned(), name: "ttlMs".to_owned() });
    let listing = crate::support::host(&absent).list(&label("acme")).await.unwrap();
    assert!(listing.warnings.iter().any(|warning| warning.contains("ttlMs")), "{listing:?}");
    let odd = HostileServer::new().skill("a", NONE).fault(Fault::member(
        "skills/list",
        "cacheScope",
        "shared",
    ));
    let listing = crate::support::host(&odd).list(&label("acme")).await.unwrap();
    assert!(listing.warnings.iter().any(|warning| warning.contains("cacheScope")));
}

#[tokio::test]
async fn what_one_token_sees_is_never_shown_under_another_label_h_13() {
    let server =
        HostileServer::new().skill("open", NONE).skill("secret", NONE).fault(Fault::OnlyFor {
            uri: "skill://secret/SKILL.md".to_owned(),
            token: "boss".to_owned(),
        });
    let listening = server.http().await;
    let host = Host::builder().build();
    for (name, token) in [("boss", "boss"), ("guest", "guest")] {
        let secret = skillwire_client::Secret::new(format!("Bearer {token}"));
        let headers = vec![("Authorization".to_owned(), secret)];
        host.add_server(label(name), Endpoint::Http { url: listening.url(), headers });
    }
    assert_eq!(handles(&host).await, ["boss:open", "boss:secret", "guest:open"]);
    let refusal = host.named("guest:skill://secret/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillNotFound);
}

#[tokio::test]
async fn an_entry_for_another_skill_is_no_answer_hst_36_h_28() {
    let server = HostileServer::new().skill("a", NONE).skill("b", NONE);
    let other = server.entry("skill://b/SKILL.md");
    let server = server.fault(Fault::Gets { uri: "skill://a/SKILL.md".to_owned(), entry: other });
    let refusal = host(&server).named("acme:skill://a/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::EntrySubstituted);
    assert_eq!(refusal.expected.as_deref(), Some("skill://a/SKILL.md"));
    assert_eq!(refusal.actual.as_deref(), Some("skill://b/SKILL.md"));
}

#[tokio::test]
async fn any_error_of_skills_get_means_that_it_is_not_a_skill_hst_37() {
    for (code, reason) in [
        (-32602, Reason::SkillNotFound),
        (-32002, Reason::SkillNotFound),
        (-32603, Reason::ServerError),
        (-32601, Reason::ServerError),
    ] {
        let server = HostileServer::new()
            .skill("a", NONE)
            .on("skills/get", move |_, _| ScriptedReply::error(code));
        let refusal = host(&server).named("acme:skill://a/SKILL.md").await.unwrap_err();
        assert_eq!(refusal.reason, reason, "{code}");
    }
}

#[tokio::test]
async fn an_entry_without_its_wrapper_is_not_guessed_at_h_29() {
    let server = HostileServer::new().skill("a", NONE).fault(Fault::GetsInline);
    let refusal = host(&server).named("acme:skill://a/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::ProtocolError);
}

#[tokio::test]
async fn annotations_of_others_change_nothing_hst_77_h_30() {
    let plain = HostileServer::new().skill("a", NONE);
    let noted = HostileServer::new().skill("a", NONE).fault(Fault::entry(
        "skill://a/SKILL.md",
        json!({ "_meta": { "com.evil/verified": true, "io.modelcontextprotocol.skills/x": 1 } }),
    ));
    let (one, two) = (host(&plain), host(&noted));
    let (one, two) = (one.named("acme:a").await.unwrap(), two.named("acme:a").await.unwrap());
    assert_eq!(one, two);
}

#[tokio::test]
async fn a_flipped_declaration_governs_new_calls_and_open_windows_stay_h_04() {
    let server = HostileServer::new().skill("a", [("x.md", "x")]);
    let host = host(&server);
    let window = host.window("acme:a").await.unwrap();
    server.set_fault(Fault::Undeclared);
    host.rediscover(&label("acme")).await.unwrap();
    assert_eq!(host.list(&label("acme")).await.unwrap_err().reason, Reason::SkillsNotOffered);
    assert_eq!(&window.read("x.md").await.unwrap().bytes()[..], b"x");
}

#[tokio::test]
async fn a_repeated_cursor_ends_the_listing_and_keeps_what_came_hst_111_h_05() {
    let server = HostileServer::new().skill("a", NONE).fault(Fault::SameCursorForever);
    let listing = host(&server).list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 1);
    assert_eq!(listing.truncated.as_ref().unwrap().reason, Reason::ProtocolError);
    assert!(server.count("skills/list") <= 3, "{}", server.count("skills/list"));
}

#[tokio::test]
async fn endless_pages_end_at_the_budget_hst_111_h_06() {
    for budgets in [
        Budgets::default().with_pages(50),
        Budgets::default().with_entries(50),
        Budgets::default().with_listing_bytes(15_000),
    ] {
        let server = HostileServer::new().fault(Fault::EndlessPages);
        let policy = Policy::default().with_budgets(budgets);
        let host = host_from(Host::builder().policy(policy), &server);
        let listing = host.list(&label("acme")).await.unwrap();
        assert_eq!(listing.truncated.as_ref().unwrap().reason, Reason::BudgetExhausted);
        assert!((10..=51).contains(&listing.skills.len()), "{}", listing.skills.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_costs_its_time_and_nobody_elses_hst_111_h_15() {
    let silent =
        HostileServer::new().skill("a", NONE).on("skills/list", |_, _| ScriptedReply::Never);
    let honest = HostileServer::new().skill("b", NONE);
    let host = host(&silent);
    host.add_server(label("beta"), endpoint(&honest));
    let found = host.discover().await;
    assert_eq!(found.registry.items()[0].handle, "beta:b");
    assert_eq!(found.incomplete[0].reason, Reason::ServerTimeout);
    assert_eq!(found.incomplete[0].subject.as_ref().unwrap().to_string(), "acme");
}

#[tokio::test]
async fn a_skill_listed_with_two_contents_must_be_confirmed_h_08() {
    let server = HostileServer::new().skill("a", [("x.md", "x")]).skill("b", NONE);
    let mut other = server.entry("skill://a/SKILL.md");
    other["resources"][0]["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
    let server = server.fault(Fault::AlsoListed(other));
    let host = host(&server);
    let listing = host.list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 2);
    assert!(listing.warnings[0].contains("two contents"), "{:?}", listing.warnings);
    let doubtful = &listing.skills[0];
    let refusal = doubtful.certain().unwrap_err();
    assert_eq!(refusal.reason, Reason::EntryInconsistent);
    assert_eq!(server.count("skills/get"), 0);
    assert!(host.window("acme:a").await.is_ok());
    assert_eq!(server.count("skills/get"), 1, "confirmed before it was used");
}

#[tokio::test]
async fn one_bad_entry_is_refused_and_its_neighbours_are_not_hst_16_hst_17_h_10() {
    let mut server = HostileServer::new().fault(Fault::PageSize(100));
    for n in 0..500 {
        server = server.skill(&format!("s{n}"), NONE);
    }
    for (n, patch) in [
        (7, json!({ "resources": null })),
        (77, json!({ "frontmatter": "name: s77" })),
        (177, json!({ "uri": 5 })),
        (277, json!({ "resources": "static" })),
    ] {
        server = server.fault(Fault::entry(&format!("skill://s{n}/SKILL.md"), patch));
    }
    let listing = host(&server).list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 496);
    let mut reasons: Vec<_> = listing.refused.iter().map(|refusal| refusal.reason).collect();
    reasons.sort();
    let mut expected = [
        Reason::ResourcesInvalid,
        Reason::ResourcesInvalid,
        Reason::FrontmatterInvalid,
        Reason::UriInvalid,
    ];
    expected.sort();
    assert_eq!(reasons, expected);
    assert!(listing.refused.iter().all(|refusal| refusal.subject.is_some()));
}

#[tokio::test]
async fn results_of_another_type_are_no_listing_hst_06_h_11() {
    for (kind, reason) in
        [("input_required", Reason::InputRequired), ("surprise", Reason::ProtocolError)]
    {
        let server =
            HostileServer::new().skill("a", NONE).fault(Fault::result_type("skills/list", kind));
        let refusal = host(&server).list(&label("acme")).await.unwrap_err();
        assert_eq!(refusal.reason, reason);
        assert_eq!(server.count("skills/list"), 1, "no retry");
    }
}

#[tokio::test]
async fn a_context_is_rebuilt_without_asking_hst_98_hst_115_h_16() {
    let server =
        HostileServer::new().skill("a", NONE).fault(Fault::member("skills/list", "ttlMs", 0));
    let host = host(&server);
    host.discover().await;
    for _ in 0..20 {
        assert_eq!(host.known().registry.items().len(), 1);
    }
    assert_eq!(server.count("skills/list"), 1);
    let shared =
        HostileServer::new().skill("a", NONE).fault(Fault::member("skills/list", "ttlMs", 60_000));
    let host = crate::support::host(&shared);
    let acme = label("acme");
    let (one, two, three) = tokio::join!(host.list(&acme), host.list(&acme), host.list(&acme));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(shared.count("skills/list"), 1, "calls at the same time share one listing");
}

#[tokio::test]
async fn there_is_no_ceiling_on_how_many_skills_a_server_lists_hst_23() {
    let page = |asked: &ReceivedRequest, _: usize| {
        let first: usize = asked.params["cursor"].as_str().map_or(0, |at| at.parse().unwrap());
        let entry = |n| {
            json!({
                "uri": format!("skill://s{n}/SKILL.md"),
                "frontmatter": { "name": format!("s{n}"), "description": "Does it." },
                "resources": "dynamic",
            })
        };
        let next = (first < 9_500).then(|| (first + 500).to_string());
        let skills: Vec<_> = (first..first + 500).map(entry).collect();
        ScriptedReply::Result(
            json!({ "resultType": "complete", "skills": skills, "nextCursor": next }),
        )
    };
    let server = HostileServer::new().on("skills/list", page);
    let listing = host(&server).list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 10_000);
    assert!(listing.truncated.is_none());
}

#[tokio::test]
async fn listing_and_approving_fetch_nothing_hst_53() {
    let server = HostileServer::new().skill("a", [("x.md", "x"), ("y.md", "y")]);
    let host = host(&server);
    host.discover().await;
    let approved = host.approved_now("acme:a").await.unwrap();
    assert_eq!(server.count("resources/read"), 0);
    let window = host.load(approved).await.unwrap().window;
    assert_eq!(server.count("resources/read"), 1, "only SKILL.md");
    window.list("").unwrap();
    assert_eq!(server.count("resources/read"), 1);
    assert_eq!(server.count("resources/directory/read"), 0);
}
