//! Skills in a server written with the official SDK, which also has resources of its own.

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, ErrorData, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ContentBlock,
        CustomRequest, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, Prompt, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
        Role, ServerCapabilities, ServerConfig, ServerNotification, SubscribeRequestParams,
        SubscriptionFilter, Tool,
    },
    service::{RequestContext, RoleClient, RoleServer, RunningService},
};
use serde_json::{Value, json};
use skillwire_rmcp::WithSkills;
use skillwire_server::Skills;
use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest};
use skillwire_testkit::{SkillFolder, skill_md};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use crate::support::{Listening, soon};

const A: &str = "skill://a/SKILL.md";
const B: &str = "skill://b/SKILL.md";

/// A server with a tool, a prompt, a template and two pages of resources.
#[derive(Clone)]
struct Own;

fn resource(uri: &str) -> Resource {
    Resource::new(uri, "own")
}

impl ServerHandler for Own {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("own", "7"))
            .with_instructions("Ask for the echo.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({ "type": "object" }).as_object().cloned().unwrap_or_default();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Echoes.", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(request.name.to_string())]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("hello", None::<String>, None)]))
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let message = PromptMessage::new_text(Role::User, "hello");
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match request.and_then(|request| request.cursor).as_deref() {
            None => {
                let mut first =
                    ListResourcesResult::with_all_items(vec![resource("own://1"), resource(A)]);
                first.next_cursor = Some("second".to_owned());
                Ok(first)
            }
            Some("second") => Ok(ListResourcesResult::with_all_items(vec![resource("own://2")])),
            Some(_) => Err(ErrorData::invalid_params("own cursor", None)),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![ResourceTemplate::new(
            "own://{n}",
            "own",
        )]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri.starts_with("own://") || request.uri == A {
            let contents = ResourceContents::text("own", request.uri);
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        Err(ErrorData::resource_not_found("own error", None))
    }
}

type Running = RunningService<RoleClient, Listening>;

/// Creates two skills in a folder that is followed; a change may be seen in several steps.
fn skills() -> (SkillFolder, Skills) {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("a/notes.md", "notes");
    let source = DirectorySource::new(folder.path(), DirectoryOptions::default());
    let source = source.expect("the folder is there");
    let skills = Skills::builder().source(source).build().expect("nothing can go wrong");
    (folder, skills)
}

/// Connects a client of either era to a server.
async fn connect(
    server: impl ServerHandler,
    modern: bool,
) -> (Running, mpsc::UnboundedReceiver<String>) {
    let (client, server_end) = tokio::io::duplex(256 * 1024);
    tokio::spawn(async move {
        if let Ok(running) = server.serve(server_end).await {
            let _ = running.waiting().await;
        }
    });
    let (teller, heard) = mpsc::unbounded_channel();
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let running = if modern {
        Listening(teller).serve_with_lifecycle(client, mode).await
    } else {
        Listening(teller).serve(client).await
    };
    (running.expect("the client connects"), heard)
}

async fn custom(client: &Running, method: &str, params: Value) -> Value {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    let result = client.send_request(request).await.expect("an answer");
    serde_json::to_value(result).expect("JSON")
}

async fn text(client: &Running, uri: &str) -> String {
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("a file");
    let contents = serde_json::to_value(&read.contents).expect("JSON");
    contents[0]["text"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn one_server_offers_skills_and_everything_it_had() {
    let (_folder, skills) = skills();
    for modern in [true, false] {
        let (client, _) = connect(WithSkills::new(Own, &skills), modern).await;
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools[0].name, "echo");
        let called = client.call_tool(CallToolRequestParams::new("echo")).await.unwrap();
        assert_eq!(serde_json::to_value(&called).unwrap()["content"][0]["text"], "echo");
        assert_eq!(client.list_all_prompts().await.unwrap()[0].name, "hello");
        client.get_prompt(GetPromptRequestParams::new("hello")).await.unwrap();
        let listed = custom(&client, "skills/list", json!({})).await;
        assert_eq!(listed["skills"][0]["uri"], A);
        assert_eq!(listed["skills"].as_array().unwrap().len(), 2);
        let listed = client.list_all_resources().await.unwrap();
        let uris: Vec<_> = listed.iter().map(|resource| resource.uri.as_str()).collect();
        // Older dialects list more, after the skills.
        let older = ["skill://index.json", "skill://a/_manifest", "skill://b/_manifest"];
        let older = if modern { &[][..] } else { &older };
        let expected = [&[A, B][..], older, &["own://1", "own://2"]].concat();
        assert_eq!(uris, expected, "each once, and the skill's own first");
        let page = client.list_resources(None).await.unwrap();
        let named = serde_json::to_value(&page.meta).unwrap();
        let named = &named["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(named.as_str(), modern.then_some("own"), "the handler's name, not ours");
        let templates = client.list_all_resource_templates().await.unwrap();
        assert_eq!(templates.len(), if modern { 3 } else { 5 });
        assert_eq!(text(&client, "own://1").await, "own");
        assert_eq!(text(&client, A).await, skill_md("a"), "a skill's file is the skill's");
        assert_eq!(text(&client, "skill://a/notes.md").await, "notes");
        let directory = custom(&client, "resources/directory/read", json!({ "uri": "skill://a" }));
        assert_eq!(directory.await["resources"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_server_with_skills_declares_them_besides_its_own_srv_01() {
    let (_folder, skills) = skills();
    let (client, _) = connect(WithSkills::new(Own, &skills), false).await;
    let info = serde_json::to_value(&*client.peer_info().unwrap()).unwrap();
    let capabilities = &info["capabilities"];
    let extension = &capabilities["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(*extension, json!({ "directoryRead": true }));
    assert_eq!(capabilities["resources"], json!({ "listChanged": true, "subscribe": true }));
    assert!(capabilities["tools"].is_object() && capabilities["prompts"].is_object());
    assert_eq!(info["serverInfo"]["name"], "own");
    let instructions = info["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Ask for the echo.\n\nThis server offers 2 Agent Skills"));
}

#[tokio::test]
async fn refusals_come_from_whom_the_uri_belongs_to() {
    let (_folder, skills) = skills();
    let (client, _) = connect(WithSkills::new(Own, &skills), true).await;
    let refusal = async |uri: &str| {
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await;
        read.unwrap_err().to_string()
    };
    assert!(refusal("skill://a").await.contains("is a directory"));
    assert!(refusal("skill://a/none").await.contains("No resource is served"));
    assert!(refusal("other://1").await.contains("own error"));
    let cursor = PaginatedRequestParams::default().with_cursor(Some("own:forged".to_owned()));
    let refused = client.list_resources(Some(cursor)).await.unwrap_err().to_string();
    assert!(refused.contains("own cursor"), "{refused}");
    let cursor = PaginatedRequestParams::default().with_cursor(Some("forged".to_owned()));
    let refused = client.list_resources(Some(cursor)).await.unwrap_err().to_string();
    assert!(refused.contains("not a cursor of this listing"), "{refused}");
}

#[tokio::test]
async fn a_subscriber_is_told_of_changes_of_skills_srv_106() {
    let (folder, skills) = skills();
    let (client, _) = connect(WithSkills::new(Own, &skills), true).await;
    let filter = SubscriptionFilter::builder()
        .resources_list_changed()
        .resource_subscriptions([A, "skill://a/none"])
        .build();
    let mut subscription = soon(client.listen(filter)).await.unwrap();
    assert_eq!(subscription.acknowledged().resource_subscriptions, Some(vec![A.to_owned()]));
    folder.file("a/notes.md", "other");
    skills.refresh(&ScanRequest::everything());
    let first = soon(subscription.next()).await.unwrap();
    assert!(matches!(first, Some(ServerNotification::ResourceListChangedNotification(_))));
    match soon(subscription.next()).await.unwrap() {
        Some(ServerNotification::ResourceUpdatedNotification(updated)) => {
            assert_eq!(updated.params.uri, A);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_of_the_old_era_is_told_of_what_it_subscribed_to_srv_106() {
    let (folder, skills) = skills();
    let (client, mut heard) = connect(WithSkills::new(Own, &skills), false).await;
    #[expect(deprecated, reason = "this is how the old era subscribes")]
    client.subscribe(SubscribeRequestParams::new(A)).await.unwrap();
    folder.file("a/notes.md", "other");
    skills.refresh(&ScanRequest::everything());
    assert_eq!(soon(heard.recv()).await.unwrap(), "list changed");
    assert_eq!(soon(heard.recv()).await.unwrap(), A);
    #[expect(deprecated, reason = "this is how the old era unsubscribes")]
    client.unsubscribe(rmcp::model::UnsubscribeRequestParams::new(A)).await.unwrap();
    while heard.try_recv().is_ok() {}
    #[expect(deprecated, reason = "this is how the old era subscribes")]
    client.subscribe(SubscribeRequestParams::new(B)).await.unwrap();
    folder.file("a/notes.md", "third");
    skills.refresh(&ScanRequest::everything());
    // Notifications about the second file arrive after all those about the first.
    folder.file("b/notes.md", "new");
    skills.refresh(&ScanRequest::everything());
    loop {
        match soon(heard.recv()).await.unwrap().as_str() {
            "list changed" => {}
            uri => break assert_eq!(uri, B),
        }
    }
}

#[tokio::test]
async fn malformed_parameters_of_a_known_method_are_invalid_params() {
    let (_folder, skills) = skills();
    let (client, server_end) = tokio::io::duplex(64 * 1024);
    let server = WithSkills::new(Own, &skills);
    tokio::spawn(async move {
        if let Ok(running) = server.serve(server_end).await {
            let _ = running.waiting().await;
        }
    });
    let (output, mut input) = tokio::io::split(client);
    let mut lines = BufReader::new(output).lines();
    for (method, params, said) in [
        ("resources/read", json!({ "uri": 5 }), "`params.uri` must be a string."),
        ("resources/read", json!({}), "`params.uri` is required."),
        ("skills/get", json!({ "uri": [] }), "`params.uri` must be a string."),
        ("tools/call", json!({ "name": 5 }), "The parameters of `tools/call` are malformed."),
    ] {
        let request = skillwire_testkit::modern_request(1, method, params);
        input.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let line = soon(lines.next_line()).await.unwrap().expect("an answer");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["message"], said);
    }
}

#[tokio::test]
async fn a_server_with_tools_declares_skills_and_skills_may_depend_on_its_tools_p_09() {
    let folder = SkillFolder::new();
    let needs = "dependencies: { tools: [echo, other] }\n";
    let text = format!("---\nname: a\ndescription: Echoes. Use when asked.\n{needs}---\n\nEcho.\n");
    folder.file("a/SKILL.md", text);
    let skills = Skills::builder().folder(folder.path()).host_tools(["echo"]).build().unwrap();
    let declared = WithSkills::new(Own, &skills).get_info().capabilities;
    assert_eq!(json!(declared.experimental), json!({ "skills": { "listChanged": true } }));
    assert!(declared.tools.is_some());
    // The engine tells clients of the handler's tool, and warns of the one that is not there.
    let missing = skills.engine().missing_dependencies();
    assert_eq!(missing.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["other"]);
    let request = skillwire_testkit::legacy_request(1, "skills/get", json!({ "name": "a" }));
    let mut pipe = skillwire_testkit::StdioClient::in_process(skills.engine().clone());
    let opened = skillwire_testkit::initialize_params("2025-11-25");
    pipe.request(&skillwire_testkit::legacy_request(0, "initialize", opened)).await;
    let got = pipe.request(&request).await;
    assert_eq!(got.result()["dependencies"], json!({ "tools": ["echo"] }));
}
