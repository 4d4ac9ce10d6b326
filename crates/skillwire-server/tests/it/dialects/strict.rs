//! Members and methods that modern clients must never see, whatever the operator switches on.

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config as Runs, TestRunner},
};
use serde_json::{Value, json};
use skillwire_testkit::{StdioClient, TestServer, modern_request, reference_skills};

use super::options;

/// Everything that an operator may switch on.
const EVERY: [&str; 9] = [
    "archives=on",
    "index-nested=on",
    "index-templates=on",
    "sep-2076=on",
    "skills-page=on",
    "strict:skills-page=on",
    "fastmcp=on",
    "skilljack=on",
    "skills-over-mcp=on",
];

const METHODS: [&str; 14] = [
    "skills/list",
    "skills/get",
    "skills/read",
    "skills/read_reference",
    "skills/execute",
    "resources/list",
    "resources/read",
    "resources/directory/read",
    "resources/templates/list",
    "resources/subscribe",
    "completion/complete",
    "tools/list",
    "tools/call",
    "prompts/get",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "",
            "refunds",
            "git-workflow",
            "nope",
            "calc",
            "email.md",
            "skill",
            "skill://",
            "skill://index.json",
            "skill://index",
            "skill://refunds",
            "skill://refunds/",
            "skill://refunds/_manifest",
            "skill://refunds/documents",
            "skill://lookup/refunds",
            "skill://acme/billing/refunds",
            "skill://acme/billing/refunds/SKILL.md",
            "skill://acme/billing/refunds/_manifest",
            "skill://acme/billing/refunds.zip",
            "skill://nope.tar.gz",
            "skill://%2e%2e",
            "skill://{skillName}",
            "skill://acme/billing/refunds/{path*}",
            "../..",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        "skill://[a-z%/.]{0,12}",
        ".{0,8}",
    ]
}

fn request() -> impl Strategy<Value = (String, Value)> {
    let member = prop::sample::select(vec![
        "uri",
        "name",
        "reference",
        "script",
        "cursor",
        "arguments",
        "ref",
        "argument",
    ]);
    let value = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => Just(json!({})),
        1 => text().prop_map(|text| json!({ "type": "ref/resource", "uri": text })),
        1 => text().prop_map(|text| json!({ "name": "skillName", "value": text })),
        1 => Just(json!(5)),
    ];
    let params = prop::collection::btree_map(member, value, 0..4);
    (prop::sample::select(METHODS.to_vec()), params)
        .prop_map(|(method, params)| (method.to_owned(), json!(params)))
}

#[tokio::test]
async fn strict_never_carries_a_legacy_code_or_a_notification_of_skills_c_27_c_28_c_30() {
    let folder = reference_skills::folder();
    let mut server = TestServer::with(folder.path(), options(&EVERY)).await;
    let mut client = StdioClient::in_process(server.engine());
    let listen = json!({ "notifications": {
        "resourcesListChanged": true, "toolsListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["skill://index.json", "skill://refunds"],
    }});
    client.request(&modern_request("stream", "subscriptions/listen", listen)).await;
    let mut runner = TestRunner::new(Runs::default());
    let mut errors = 0;
    for round in 0..1_500 {
        if round % 500 == 250 {
            folder.file(
                "git-workflow/SKILL.md",
                format!("{}{round}\n", reference_skills::FILES[3].1),
            );
            server.refresh();
        }
        let (method, params) = request().new_tree(&mut runner).expect("a request").current();
        client.send(&modern_request(round, &method, params.clone())).await;
        loop {
            let message = client.next().await.expect("an answer");
            if let Some(method) = message["method"].as_str() {
                assert!(!method.starts_with("notifications/skills/"), "{message}");
                continue;
            }
            if let Some(code) = message["error"]["code"].as_i64() {
                errors += 1;
                assert!(!(-32019..=-32000).contains(&code), "{method} {params}: {message}");
                assert_ne!(code, -32603, "{method} {params}: {message}");
            }
            assert_eq!(message["id"], round);
            break;
        }
    }
    assert!(errors > 100, "the requests are not all good: {errors}");
}
