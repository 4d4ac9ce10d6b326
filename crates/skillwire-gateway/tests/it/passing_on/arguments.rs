//! Skills whose server writes the instructions for arguments (D5), and the files of skills whose server
//! lists none, passed on.

use serde_json::{Value, json};
use skillwire_server::{Config, dialect::Dialects};
use skillwire_testkit::{
    Fault, HostileServer, OlderDialect, ReceivedRequest, RpcReply, ScriptedReply, TestOptions,
};

use super::support::{Gateway, Plan};

/// A server that writes the instructions of `taxes` for a country, of `poems` for a theme if it gets
/// one, and of `plain` alike for everybody.
pub(crate) fn tax_server() -> HostileServer {
    HostileServer::new()
        .fault(Fault::LegacyOnly)
        .fault(Fault::Capabilities(json!({ "resources": {}, "skills": {} })))
        .on("skills/list", |_, _| {
            ScriptedReply::Result(json!({ "skills": [
                { "name": "taxes", "description": "Pay taxes.", "arguments": [
                    { "name": "country", "description": "Where to pay.", "required": true },
                ] },
                { "name": "poems", "description": "Write poems.", "arguments": [
                    { "name": "theme", "description": "About what.", "required": false },
                ] },
                { "name": "plain", "description": "Pay none." },
            ] }))
        })
        .on("skills/get", |request, _| written(request))
}

fn written(request: &ReceivedRequest) -> ScriptedReply {
    let given = |name: &str| request.params["arguments"][name].as_str().map(str::to_owned);
    let instructions = match request.params["name"].as_str() {
        Some("taxes") => given("country").map(|country| format!("Taxes in {country}.\n")),
        // Braces in what the server wrote are not for the gateway to fill in.
        Some("poems") => Some(format!(
            "On {} and {{{{theme}}}}.\n",
            given("theme").as_deref().unwrap_or("anything")
        )),
        Some("plain") => Some("No taxes.\n".to_owned()),
        _ => None,
    };
    instructions.map_or(ScriptedReply::error(-32602), |text| {
        ScriptedReply::Result(json!({ "instructions": text, "files": [] }))
    })
}

/// A gateway with the tools of `serve`, and with skilljack's prompts for clients of older versions.
async fn gateway(server: &HostileServer) -> Gateway {
    let dialects = Dialects::default().with(&"skilljack=on".parse().unwrap());
    let config = Config::default().skill_tools(true).dialects(dialects);
    let server_options = TestOptions { config, ..TestOptions::default() };
    Plan { server: server_options, legacy: true, ..Plan::default() }
        .start(&[("acme", server)])
        .await
}

/// Loads a skill by the tool, and returns its text and whether it is an error.
async fn load(gateway: &Gateway, name: &str, arguments: Value) -> (String, bool) {
    let params = json!({ "name": name, "arguments": arguments });
    let call = json!({ "name": "load_skill", "arguments": params });
    let result = gateway.server.call("tools/call", call).await;
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
}

/// Asks as a client of an older version.
struct OldClient<'a> {
    gateway: &'a Gateway,
    session: String,
}

impl<'a> OldClient<'a> {
    async fn of(gateway: &'a Gateway) -> Self {
        let session = gateway.server.initialize("2025-11-25").await.0;
        Self { gateway, session }
    }

    async fn ask(&self, method: &str, name: &str, arguments: Value) -> RpcReply {
        let params = json!({ "name": name, "arguments": arguments });
        self.gateway.server.legacy(&self.session, method, params).await.message()
    }
}

/// The values that the server got for the arguments of `taxes`, in order.
fn asked(server: &HostileServer) -> Vec<Value> {
    let log = server.log().into_iter().filter(|logged| logged.method == "skills/get");
    let taxes = log.filter(|logged| logged.params["name"] == "taxes");
    taxes.map(|logged| logged.params["arguments"].clone()).collect()
}

#[tokio::test]
async fn the_server_writes_the_text_for_the_values_that_a_client_gives_p_02() {
    let server = tax_server();
    let gateway = gateway(&server).await;
    let old = OldClient::of(&gateway).await;

    let (text, is_error) = load(&gateway, "acme/taxes", json!({ "country": "DE" })).await;
    assert!(!is_error && text.contains("Taxes in DE."), "{text}");
    let got = old.ask("skills/get", "taxes", json!({ "country": "FR" })).await;
    assert_eq!(got.result()["instructions"], "Taxes in FR.\n");
    let prompt = old.ask("prompts/get", "taxes", json!({ "country": "IT" })).await;
    assert!(prompt.result().to_string().contains("Taxes in IT."), "{prompt:?}");
    assert_eq!(
        asked(&server),
        [json!({ "country": "DE" }), json!({ "country": "FR" }), json!({ "country": "IT" })]
    );

    // An optional argument may be left out, and nothing is filled into what the server wrote.
    let (text, _) = load(&gateway, "acme/poems", json!({ "theme": "rain" })).await;
    assert!(text.contains("On rain and {{theme}}."), "{text}");
    let (text, _) = load(&gateway, "acme/poems", json!({})).await;
    assert!(text.contains("On anything and {{theme}}."), "{text}");
    let (text, _) = load(&gateway, "acme/plain", json!({})).await;
    assert!(text.contains("No taxes."), "{text}");
}

#[tokio::test]
async fn the_arguments_of_a_skill_that_is_passed_on_are_declared_to_clients_p_02() {
    let gateway = gateway(&tax_server()).await;
    let old = OldClient::of(&gateway).await;
    let declared = json!([{ "name": "country", "description": "Where to pay.", "required": true }]);
    for (method, list) in [("skills/list", "skills"), ("prompts/list", "prompts")] {
        let listed = old.ask(method, "", json!({})).await;
        let items = listed.result()[list].as_array().unwrap().clone();
        let of = |name: &str| {
            let item = items.iter().find(|item| item["name"] == name);
            item.unwrap_or_else(|| panic!("no {name} in {method}"))["arguments"].clone()
        };
        assert_eq!((of("taxes"), of("plain")), (declared.clone(), Value::Null), "{method}");
    }
    // A model reads them in the text that stands for the skill until they are given.
    let text = gateway.text("skill://acme/taxes/SKILL.md").await;
    assert!(text.contains("- `country` (required): Where to pay."), "{text}");
}

#[tokio::test]
async fn missing_and_invalid_arguments_are_named_and_the_server_is_not_asked_p_02() {
    let server = tax_server();
    let gateway = gateway(&server).await;
    let old = OldClient::of(&gateway).await;
    for (arguments, named) in [
        (json!({}), "needs the argument `country`"),
        (json!({ "country": "DE", "town": "Bonn" }), "has no argument `town`"),
        (json!({ "country": 5 }), "must be an object of strings"),
        (json!(["DE"]), "must be an object"),
    ] {
        let (text, is_error) = load(&gateway, "acme/taxes", arguments.clone()).await;
        assert!(is_error && text.contains(named), "{arguments}: {text}");
        for method in ["skills/get", "prompts/get"] {
            let refused = old.ask(method, "taxes", arguments.clone()).await;
            assert_eq!(refused.code(), -32602, "{method} {arguments}");
        }
    }
    let (text, is_error) = load(&gateway, "acme/plain", json!({ "country": "DE" })).await;
    assert!(is_error && text.contains("has no argument `country`"), "{text}");
    assert_eq!(asked(&server), [] as [Value; 0]);
}

#[tokio::test]
async fn a_loaded_skill_names_the_files_that_its_server_names_p_03() {
    // There may be others, so it is not said that there are none.
    let names_none = "Its server names no other files.";
    for (older, said) in [
        (OlderDialect::Sep2076, "Files: examples/email.md, scripts/calc.py."),
        (OlderDialect::SkillsPage, "Files: examples/email.md, scripts/calc.py."),
        (OlderDialect::FastMcp, "Files: examples/email.md, scripts/calc.py."),
        (OlderDialect::Skilljack, "Files: examples/email.md, scripts/calc.py."),
        (OlderDialect::SkillsOverMcp, "Files: examples/email.md, scripts/calc.py."),
        (OlderDialect::ScopedList, names_none),
        (OlderDialect::EarlyIndex, names_none),
    ] {
        let gateway = gateway(&HostileServer::with_dialect(older)).await;
        let (text, _) = load(&gateway, "refunds", json!({})).await;
        assert!(text.contains(said), "{older:?}: {text}");
        assert!(!text.contains("named in the text"), "{older:?}: {text}");
    }
    let gateway = gateway(&tax_server()).await;
    let (text, _) = load(&gateway, "acme/plain", json!({})).await;
    assert!(text.contains(names_none), "{text}");
}
