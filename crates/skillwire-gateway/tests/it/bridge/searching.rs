//! Searches, which never fetch a file.

use serde_json::json;
use skillwire_host::{Host, local};
use skillwire_testkit::{HostileServer, SkillFolder};
use skillwire_trust::{Grants, Handle, MemoryCache};

use super::support::{Bridged, Modern, PATIENCE, done, endpoint, label, refused, text, yes};

/// A skill whose text has a heading that nothing else about it mentions.
fn skill(name: &str, heading: &str) -> String {
    format!("---\nname: {name}\ndescription: Does things.\n---\n\n## {heading}\n\nDo it.\n")
}

async fn search(client: &mut Modern, query: &str) -> String {
    done(&client.call("list_skills", json!({ "query": query })).await).to_owned()
}

#[tokio::test]
async fn headings_are_searched_only_where_the_text_is_here_already() {
    let home = SkillFolder::new();
    home.file(".agents/skills/mine/SKILL.md", skill("mine", "Quarterly ledgers"));
    let server = HostileServer::new()
        .skill("loaded", [("SKILL.md", skill("loaded", "Quarterly ledgers"))])
        .skill("other", [("SKILL.md", skill("other", "Quarterly ledgers"))]);
    let host = Host::builder().cache(MemoryCache::default()).build();
    host.add_server(label("acme"), endpoint(&server));
    host.set_folders(local::discover(Some(home.path()), None));
    let bridged = Bridged::over(host);
    bridged.settled(&["local:mine", "acme:loaded", "acme:other"]).await;
    let mut client = bridged.modern(true);
    let found = search(&mut client, "ledger").await;
    assert!(found.starts_with("1 skill found.\n- local:mine: "), "{found}");
    assert_eq!(server.count("resources/read"), 0, "nothing is fetched to be indexed");
    let name = json!({ "name": "acme:loaded" });
    let (_, loaded) = client.call_and_answer("load_skill", name, yes()).await;
    done(&loaded);
    let found =
        async { while !search(&mut client, "ledger").await.starts_with("2 skills found.") {} };
    tokio::time::timeout(PATIENCE, found).await.expect("what was loaded is found in time");
    assert_eq!(server.count("resources/read"), 1, "only what was loaded was fetched");
}

#[tokio::test]
async fn headings_of_a_text_that_comes_in_after_a_search_are_found_by_the_next_one() {
    let server = HostileServer::new()
        .skill("ledger-one", [("SKILL.md", skill("ledger-one", "Quarterly figures"))])
        .skill("ledger-two", [("SKILL.md", skill("ledger-two", "Quarterly figures"))]);
    let host = Host::builder().cache(MemoryCache::default()).build();
    host.add_server(label("acme"), endpoint(&server));
    // Both are approved before the bridge starts, so that loading one does not change the view.
    for handle in ["acme:ledger-one", "acme:ledger-two"] {
        let listed = host.resolve(&Handle::parse(handle).unwrap()).await.unwrap();
        host.approve(&listed, Grants::default()).unwrap();
    }
    let bridged = Bridged::over(host);
    bridged.settled(&["acme:ledger-one", "acme:ledger-two"]).await;
    let mut client = bridged.modern(false);
    for (count, handle) in ["acme:ledger-one", "acme:ledger-two"].into_iter().enumerate() {
        let found = search(&mut client, "quarterly").await;
        assert!(found.starts_with(&format!("{count} skill")), "{found}");
        done(&client.call("load_skill", json!({ "name": handle })).await);
    }
    assert!(search(&mut client, "quarterly").await.starts_with("2 skills found."));
}

#[tokio::test]
async fn a_query_that_is_too_long_is_refused_and_one_of_signs_finds_nothing() {
    let bridged = Bridged::over(Host::builder().build());
    let mut client = bridged.modern(false);
    let result = client.call("list_skills", json!({ "query": "a ".repeat(600) })).await;
    assert_eq!(refused(&result), "tool_input_invalid");
    assert!(text(&result).contains("at most 1024 bytes"), "{result}");
    assert!(search(&mut client, "*:* AND \"").await.starts_with("0 skills found."));
}
