//! Skills that are fetched when a client asks for them, and templates for users to fill in.

#[expect(dead_code, reason = "only its source is of interest here, not that it runs")]
#[path = "../../examples/git_host.rs"]
mod git_host;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use skillwire_core::SkillPath;
use skillwire_server::{Config, FetchSkill, OnDemandSource, UriTemplate};
use skillwire_source::{BoxFuture, FetchedFiles, SkillSource, SourceUnavailable};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer};

use self::git_host::GitHost;
use crate::support::{INVALID_PARAMS, content, listed};

/// A server in front of the git host, which keeps this many skills.
async fn server(most_kept: usize) -> TestServer {
    let source: Box<dyn SkillSource> =
        Box::new(OnDemandSource::new("git", 3, GitHost).most_kept(most_kept));
    let mut server = TestServer::with_sources(vec![source], TestOptions::default()).await;
    server.follow().await;
    server
}

#[tokio::test]
async fn a_skill_that_no_listing_has_is_fetched_by_its_uri_p_18() {
    let server = server(10).await;
    assert_eq!(listed(&server).await, [""; 0]);
    let uri = "skill://git/owner-777777/skills/deploy/SKILL.md";
    let got = server.call("skills/get", json!({ "uri": uri })).await;
    assert_eq!(got["skill"]["uri"], uri);
    assert_eq!(got["skill"]["resources"].as_array().unwrap().len(), 2);
    let read = server.call("resources/read", json!({ "uri": uri })).await;
    assert!(String::from_utf8(content(&read)).unwrap().contains("Works as owner-777777 does."));
    // A file may be read before anything else of its skill.
    let guide = "skill://git/owner-5/skills/plan/guide.md";
    let read = server.call("resources/read", json!({ "uri": guide })).await;
    assert_eq!(content(&read), b"# Guide of owner-5\n");
    for absent in [
        "skill://git/nobody/skills/deploy/SKILL.md",
        "skill://git/owner-1000000/skills/deploy/SKILL.md",
        "skill://git/owner-1/skills/SKILL.md",
        "skill://git/owner-1/skills/a/b/SKILL.md",
        "skill://other/owner-1/skills/a/SKILL.md",
        "skill://git/owner-5/skills/plan/none.md",
    ] {
        for method in ["skills/get", "resources/read"] {
            let reply = server.modern(method, json!({ "uri": absent })).await;
            assert_eq!(reply.code(), INVALID_PARAMS, "{method} {absent}");
        }
    }
    assert_eq!(listed(&server).await, [""; 0], "what was asked for is not listed either");
}

#[tokio::test]
async fn only_so_many_fetched_skills_are_kept_p_18() {
    let server = server(3).await;
    for owner in 0..10 {
        let uri = format!("skill://git/owner-{owner}/skills/deploy/SKILL.md");
        server.call("skills/get", json!({ "uri": uri })).await;
    }
    let kept = server.engine().catalog().now(skillwire_server::ViewId::EVERYTHING).unwrap();
    assert!(kept.skill_count() <= 4, "{}", kept.skill_count());
    // A skill that made room is fetched again.
    let first = "skill://git/owner-0/skills/deploy/SKILL.md";
    let got = server.call("skills/get", json!({ "uri": first })).await;
    assert_eq!(got["skill"]["uri"], first);
}

/// A place that cannot be asked now.
#[derive(Debug)]
struct Away;

impl FetchSkill for Away {
    fn fetch(&self, _: &SkillPath) -> BoxFuture<Result<Option<FetchedFiles>, SourceUnavailable>> {
        Box::pin(async { Err(SourceUnavailable::new("away", "it does not answer")) })
    }
}

#[tokio::test]
async fn a_skill_that_could_not_be_looked_for_is_not_said_to_be_missing_p_18() {
    let source: Box<dyn SkillSource> = Box::new(OnDemandSource::new("away", 2, Away));
    let server = TestServer::with_sources(vec![source], TestOptions::default()).await;
    let uri = "skill://away/team/deploy/SKILL.md";
    for method in ["skills/get", "resources/read"] {
        let reply = server.modern(method, json!({ "uri": uri })).await;
        assert_eq!(reply.code(), -32603, "{method}");
    }
}

/// The values that a template's variable can have.
async fn values(server: &TestServer, template: &str, name: &str, typed: &str) -> Value {
    let params = json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": name, "value": typed },
    });
    server.call("completion/complete", params).await["completion"]["values"].clone()
}

/// A place with no skills, which knows what its users may fill in.
#[derive(Debug)]
struct Colours;

impl FetchSkill for Colours {
    fn fetch(&self, _: &SkillPath) -> BoxFuture<Result<Option<FetchedFiles>, SourceUnavailable>> {
        Box::pin(async { Ok(None) })
    }

    fn templates(&self) -> Vec<UriTemplate> {
        UriTemplate::parse(COLOURS).map(|it| it.name("colour")).into_iter().collect()
    }

    fn complete(
        &self,
        variable: &str,
        typed: &str,
        known: &BTreeMap<String, String>,
    ) -> BoxFuture<Vec<String>> {
        assert_eq!((variable, known["shade"].as_str()), ("colour", "dark"));
        let known = ["blue", "brown", "red"].into_iter().filter(|it| it.starts_with(typed));
        let values: Vec<_> = known.map(str::to_owned).collect();
        Box::pin(async { values })
    }
}

const COLOURS: &str = "skill://colours/{shade}/{colour}/SKILL.md";

#[tokio::test]
async fn a_source_lists_its_templates_and_completes_them_p_18() {
    let source: Box<dyn SkillSource> = Box::new(OnDemandSource::new("colours", 2, Colours));
    let server = TestServer::with_sources(vec![source], TestOptions::default()).await;
    let templates = server.call("resources/templates/list", json!({})).await;
    let first = &templates["resourceTemplates"][0];
    assert_eq!((&first["uriTemplate"], &first["name"]), (&json!(COLOURS), &json!("colour")));
    let asked = |name: &str| {
        json!({
            "ref": { "type": "ref/resource", "uri": COLOURS },
            "argument": { "name": name, "value": "b" },
            "context": { "arguments": { "shade": "dark" } },
        })
    };
    let completed = server.call("completion/complete", asked("colour")).await;
    assert_eq!(completed["completion"]["values"], json!(["blue", "brown"]));
    let unknown = server.modern("completion/complete", asked("size")).await;
    assert_eq!(unknown.code(), INVALID_PARAMS);
}

#[tokio::test]
async fn an_operator_names_templates_of_listed_skills_p_18() {
    let folder = SkillFolder::with_skills(&["docs/api/setup", "docs/app/setup", "other/setup"]);
    let template = "skill://docs/{product}/setup/SKILL.md";
    let config = Config::default().templates([UriTemplate::parse(template).unwrap()]);
    let options = TestOptions { config, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    let templates = server.call("resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], template);
    assert_eq!(values(&server, template, "product", "").await, json!(["api", "app"]));
    assert_eq!(values(&server, template, "product", "ap").await, json!(["api", "app"]));
    assert_eq!(values(&server, template, "product", "app").await, json!(["app"]));
    assert_eq!(values(&server, template, "product", "x").await, json!([]));
}
