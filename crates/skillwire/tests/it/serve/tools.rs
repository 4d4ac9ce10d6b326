//! The read-only tools that `serve` gives to every client.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, initialize_params, legacy_request};

use crate::support::{HttpServer, StdioServer, TEST_TIMEOUT, command, run, skill_with};

const TOOLS: [&str; 4] = ["list_skills", "load_skill", "read_skill_file", "search_skills"];

fn skills() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    folder.file("refunds/references/policy.md", "# Policy\n\nWithin 30 days.\n");
    folder.file("refunds/logo.png", [0x89, b'P', b'N', b'G', 0xff]);
    folder.file("billing/invoices/SKILL.md", skill_with("invoices", "tags: [refund, tax]\n"));
    folder.file("weather/SKILL.md", skill_with("weather", ""));
    folder
}

/// Calls a tool and returns its one text, and whether it is an error.
async fn call(server: &mut StdioServer, tool: &str, arguments: Value) -> (String, bool) {
    let params = json!({ "name": tool, "arguments": arguments });
    let reply = server.modern("tools/call", params).await;
    let result = reply.result();
    let [block] = result["content"].as_array().unwrap().as_slice() else {
        panic!("not one block: {result}");
    };
    assert_eq!(block["type"], "text", "{result}");
    (block["text"].as_str().unwrap().to_owned(), result["isError"] == true)
}

/// Calls a tool that succeeds.
async fn text(server: &mut StdioServer, tool: &str, arguments: Value) -> String {
    let (text, is_error) = call(server, tool, arguments).await;
    assert!(!is_error, "{text}");
    text
}

async fn tool_names(server: &mut StdioServer) -> Vec<String> {
    let tools = server.modern("tools/list", Value::Null).await;
    let tools = tools.result()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_client_gets_read_only_tools_that_show_the_skills_fu_01() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &["."]);
    let tools = server.modern("tools/list", Value::Null).await;
    let tools = tools.result()["tools"].as_array().unwrap().clone();
    assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), TOOLS);
    for tool in &tools {
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["openWorldHint"]),
            (&json!(true), &json!(false))
        );
        // Clients check arguments themselves, so no list of names may stand here.
        assert!(!tool["inputSchema"].to_string().contains("enum"), "{tool}");
    }
    // A client of an earlier protocol sees the same.
    server.request(&legacy_request(1, "initialize", initialize_params("2025-06-18"))).await;
    let legacy = server.request(&legacy_request(2, "tools/list", json!({}))).await;
    assert_eq!(legacy.result()["tools"], json!(tools));

    let listed = text(&mut server, "list_skills", json!({})).await;
    let expected = "3 skills of the server `skillwire`:\n\
                    - billing/invoices: Does invoices. Use when testing.\n\
                    - refunds: Does refunds. Use when testing.\n\
                    - weather: Does weather. Use when testing.\n";
    assert_eq!(listed, expected);
    let rest = text(&mut server, "list_skills", json!({ "after": "refunds" })).await;
    assert!(!rest.contains("- refunds:") && rest.contains("- weather:"), "{rest}");
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_loaded_skill_says_where_it_comes_from_and_claims_no_approval_fu_01() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &[".", "--name", "acme-skills"]);
    // By its path, its name, the URI of its root and that of its file.
    let by_path = text(&mut server, "load_skill", json!({ "name": "billing/invoices" })).await;
    for name in ["invoices", "skill://billing/invoices", "skill://billing/invoices/SKILL.md"] {
        assert_eq!(text(&mut server, "load_skill", json!({ "name": name })).await, by_path);
    }
    let loaded = text(&mut server, "load_skill", json!({ "name": "refunds" })).await;
    let origin = "Skill `refunds` of the MCP server `acme-skills` (skill://refunds/SKILL.md).\n";
    assert!(loaded.starts_with(origin), "{loaded}");
    assert!(loaded.contains("does not mean that the user approved it"), "{loaded}");
    assert!(loaded.contains("\nFiles: logo.png, references/policy.md. "), "{loaded}");
    // The marks around the text cannot be known to its author.
    let (mark, rest) = loaded.split_once(" begins]\n").expect("the text begins");
    let mark = mark.rsplit_once('[').expect("a mark").1;
    let (content, _) = rest.split_once(&format!("[{mark} ends]\n")).expect("the text ends");
    assert_eq!(content, skill_with("refunds", ""));
    assert!(!by_path.contains(mark), "other text has another mark");
    let (unknown, is_error) = call(&mut server, "load_skill", json!({ "name": "nope" })).await;
    assert!(is_error && unknown.contains("`list_skills`"), "{unknown}");
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn files_of_a_skill_are_read_by_part_fu_01() {
    let folder = skills();
    folder.file("refunds/long.txt", "0123456789ä".repeat(7_000));
    let mut server = StdioServer::serve(&folder, &["."]);
    let read = |path: &str| json!({ "name": "refunds", "path": path });
    let policy = text(&mut server, "read_skill_file", read("references/policy.md")).await;
    assert!(policy.contains("\n# Policy\n\nWithin 30 days.\n["), "{policy}");
    assert!(policy.contains("(skill://refunds/references/policy.md)"), "{policy}");
    let long = text(&mut server, "read_skill_file", read("long.txt")).await;
    assert!(long.contains("Characters 0 to 65536 of 77000 are shown."), "{}", &long[..300]);
    assert!(long.contains("`offset` 65536"));
    let mut part = read("long.txt");
    part["offset"] = json!(10);
    part["limit"] = json!("3");
    let part = text(&mut server, "read_skill_file", part).await;
    assert!(part.contains(" begins]\nä01\n["), "{part}");
    let image = text(&mut server, "read_skill_file", read("logo.png")).await;
    assert!(image.contains("is not text: 5 bytes of image/png"), "{image}");
    let outside = call(&mut server, "read_skill_file", read("../weather/SKILL.md")).await;
    assert!(outside.1 && outside.0.contains("has no file"), "{outside:?}");
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn bad_arguments_are_results_that_a_model_can_read_fu_01() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &["."]);
    for (tool, arguments) in [
        ("load_skill", json!({})),
        ("load_skill", json!({ "name": 7 })),
        ("load_skill", json!({ "name": "refunds", "file": "a.md" })),
        ("read_skill_file", json!({ "name": "refunds" })),
        ("read_skill_file", json!({ "name": "refunds", "path": "a", "offset": -1 })),
        ("list_skills", json!({ "query": "a" })),
        ("search_skills", json!({})),
        ("search_skills", json!({ "query": 1 })),
        ("search_skills", json!({ "query": "a", "more": 1 })),
    ] {
        let (text, is_error) = call(&mut server, tool, arguments.clone()).await;
        assert!(is_error && text.contains(tool), "{tool} {arguments}: {text}");
    }
    // An empty text counts as absent.
    let all = text(&mut server, "list_skills", json!({ "after": "" })).await;
    assert!(all.starts_with("3 skills"), "{all}");
    server.close().await.assert_exit(0);
}

/// The paths that a search returns, in order.
async fn found(server: &mut StdioServer, query: &str) -> Vec<String> {
    let text = text(server, "search_skills", json!({ "query": query })).await;
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(|line| line.split(": ").next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn skills_are_found_as_text_with_the_name_first_cl_09() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &[".", "--unlisted=weather"]);
    let expected = ["refunds", "billing/invoices"];
    assert_eq!(found(&mut server, "refund").await, expected);
    assert_eq!(found(&mut server, "invoices").await, expected[1..]);
    assert_eq!(found(&mut server, "nothing-of-the-kind").await, [""; 0]);
    // A search does not find a skill that is not listed.
    assert_eq!(found(&mut server, "weather").await, [""; 0]);
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn headings_of_a_folder_are_found_and_follow_changes() {
    let folder = skills();
    let text = |heading: &str| format!("{}\n# {heading}\n", skill_with("weather", ""));
    folder.file("weather/SKILL.md", text("Barometers"));
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(found(&mut server, "barometer").await, ["weather"]);
    folder.file("weather/SKILL.md", text("Thermometers"));
    let changed = async { while found(&mut server, "thermometer").await != ["weather"] {} };
    tokio::time::timeout(TEST_TIMEOUT, changed).await.expect("the change is noticed in time");
    assert_eq!(found(&mut server, "barometer").await, [""; 0]);
}

#[tokio::test]
async fn tools_can_be_switched_off_and_are_off_before_another_server_fu_01() {
    let folder = skills();
    folder.file("off.toml", "dirs = [\".\"]\nno-tools = true\n");
    for (arguments, expected) in [
        (&["."][..], &TOOLS[..]),
        (&[".", "--no-tools"], &[]),
        (&["--config", "off.toml"], &[]),
        (&["--config", "off.toml", "--tools"], &TOOLS),
        (&["--config", "off.toml", "--find-tool"], &TOOLS),
    ] {
        let mut server = StdioServer::serve(&folder, arguments);
        assert_eq!(tool_names(&mut server).await, expected, "{arguments:?}");
        server.close().await.assert_exit(0);
    }
    run(&folder, &["serve", ".", "--tools", "--no-tools"]).await.assert_exit(2);
    // A server that passes on the skills of another one has them only if it is asked to.
    let behind = HttpServer::serve(&folder, &["."]).await;
    let url = format!("http://{}/mcp", behind.address);
    run(&folder, &["server", "add", "behind", &url]).await.assert_exit(0);
    for (arguments, expected) in
        [(&["--upstream", "behind"][..], &[][..]), (&["--upstream", "behind", "--tools"], &TOOLS)]
    {
        let mut server = StdioServer::serve(&folder, arguments);
        assert_eq!(tool_names(&mut server).await, expected, "{arguments:?}");
        server.close().await.assert_exit(0);
    }
}

#[tokio::test]
async fn tools_show_a_caller_only_its_own_skills_fu_01() {
    let folder = skills();
    folder.file("tokens", "all 0123456789abcdef0123\nsome fedcba9876543210fedc billing/**\n");
    let arguments = ["serve", ".", "--http", "127.0.0.1:0", "--token-file", "tokens"];
    let server = HttpServer::start(command(&folder, &arguments)).await;
    let some = ("Authorization", "Bearer fedcba9876543210fedc");
    let call = async |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = server.request(&[some, ("Mcp-Name", tool)], "tools/call", params).await;
        reply.message().result().clone()
    };
    let listed = call("list_skills", json!({})).await.to_string();
    assert!(listed.contains("billing/invoices") && !listed.contains("weather"), "{listed}");
    let found = call("search_skills", json!({ "query": "testing" })).await.to_string();
    assert!(found.contains("billing/invoices") && !found.contains("weather"), "{found}");
    let hidden = call("load_skill", json!({ "name": "refunds" })).await;
    let absent = call("load_skill", json!({ "name": "absents" })).await;
    assert_eq!(hidden["isError"], true);
    // A skill that the caller may not see looks like one that is not there.
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&hidden).replace("refunds", "absents"), text(&absent));
    let file = json!({ "name": "refunds", "path": "references/policy.md" });
    assert_eq!(call("read_skill_file", file).await["isError"], true);
}
