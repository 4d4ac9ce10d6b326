//! Malformed cursors, messages and methods: V-07 to V-10, V-15 to V-17 and V-19.

use serde_json::{Value, json};
use skillwire_server::Config;
use skillwire_testkit::{
    HttpReply, StdioClient, TestOptions, TestServer, modern_headers, modern_request,
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{server, with};
use crate::peers::{LiveSkill, Mood, pipe, request_bytes, tasks, tasks_at_most};

/// Posts a body with the headers of a modern `skills/list`.
async fn post(server: &TestServer, body: impl AsRef<[u8]>) -> HttpReply {
    server.post(&modern_headers("skills/list"), body.as_ref()).await
}

#[tokio::test]
async fn cursors_that_were_not_made_for_the_listing_are_refused_v_07() {
    let (folder, mut server) = with(Config::default().page_size(1)).await;
    let first = |method: &'static str, params: Value| {
        let server = &server;
        async move { server.call(method, params).await["nextCursor"].as_str().unwrap().to_owned() }
    };
    let skills = first("skills/list", json!({})).await;
    let resources = first("resources/list", json!({})).await;
    let children = first("resources/directory/read", json!({ "uri": "skill://s" })).await;
    let mut forged = vec![
        String::new(),
        "0".into(),
        "-1".into(),
        "18446744073709551616".into(),
        "null".into(),
        "../..".into(),
        "====".into(),
        "\u{1f600}".into(),
        "A".repeat(22),
        "A".repeat(1 << 20),
        format!("{skills}="),
        format!("{skills}\n"),
        format!(" {skills}"),
        skills[1..].to_owned(),
        skills[..skills.len() - 1].to_owned(),
        skills.to_ascii_lowercase(),
    ];
    for position in 0..skills.len() {
        let mut bytes = skills.clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
        forged.push(String::from_utf8(bytes).unwrap());
    }
    let methods = [
        ("skills/list", json!({}), [&resources, &children]),
        ("resources/list", json!({}), [&skills, &children]),
        ("resources/directory/read", json!({ "uri": "skill://s" }), [&skills, &resources]),
        ("resources/directory/read", json!({ "uri": "skill://s/a" }), [&skills, &children]),
    ];
    let mut client = StdioClient::in_process(server.engine());
    for (method, params, others) in &methods {
        for cursor in forged.iter().chain(others.iter().copied()) {
            let mut params = params.clone();
            params["cursor"] = cursor.as_str().into();
            let reply = client.modern(1, method, params).await;
            assert_eq!(reply.code(), -32602, "{method} {}", &cursor[..cursor.len().min(99)]);
            assert!(reply.0.to_string().len() < 1_024);
        }
        for cursor in [json!(0), json!(null), json!({}), json!([])] {
            let mut params = params.clone();
            params["cursor"] = cursor;
            assert_eq!(client.modern(1, method, params).await.code(), -32602, "{method}");
        }
    }
    // A cursor from before a change continues where it was.
    folder.skill("z");
    server.refresh();
    let rest = server.call("skills/list", json!({ "cursor": skills })).await;
    assert_eq!(rest["skills"][0]["uri"], "skill://s/SKILL.md");
}

#[tokio::test]
async fn walks_through_pages_leave_nothing_behind_v_08() {
    let (_folder, server) = with(Config::default().page_size(1)).await;
    let before = tasks();
    let mut clients: Vec<_> = (0..20).map(|_| StdioClient::in_process(server.engine())).collect();
    for client in &mut clients {
        client.modern(0, "skills/list", json!({})).await.result();
    }
    let running = tasks();
    // Half of the walks reach the end, the others stop in the middle.
    for walk in 0..1_000 {
        let client = &mut clients[walk % 20];
        let first = client.modern(1, "skills/list", json!({})).await;
        let cursor = first.result()["nextCursor"].clone();
        if walk % 2 == 0 {
            let last = client.modern(2, "skills/list", json!({ "cursor": cursor })).await;
            assert!(last.result().get("nextCursor").is_none());
        }
    }
    assert_eq!(tasks(), running);
    drop(clients);
    tasks_at_most(before).await;
}

#[tokio::test]
async fn parallel_walks_see_the_same_pages_v_08() {
    let (_folder, server) = with(Config::default().page_size(1)).await;
    let walks = (0..50).map(|_| server.skills());
    let found = futures_util::future::join_all(walks).await;
    assert_eq!(found[0].len(), 2);
    assert!(found.iter().all(|walk| *walk == found[0]));
}

#[tokio::test]
async fn a_batch_is_refused_as_one_message_v_09() {
    let (_folder, server) = server().await;
    let one = modern_request(1, "skills/list", json!({})).to_string();
    let large = format!("[{}]", vec![one.as_str(); 10_000].join(","));
    // The members of one message, without their names.
    let meta = skillwire_testkit::modern_meta();
    let bare = format!(r#"["2.0",1,"skills/list",{{"_meta":{meta}}}]"#);
    for batch in ["[]".to_owned(), format!("[{one}]"), format!(" \t\r\n[{one},{one}]"), bare, large]
    {
        let reply = post(&server, &batch).await;
        let message = reply.message();
        assert_eq!((reply.status, message.code()), (400, -32600));
        assert!(message.0.is_object() && message.0.get("id").is_none());
        let written = pipe(server.engine(), batch.replace(['\r', '\n'], " ") + "\n").await;
        assert_eq!(String::from_utf8(written).unwrap().trim_end(), reply.text());
    }
}

#[tokio::test]
async fn what_is_no_message_has_a_code_and_the_connection_survives_v_10() {
    let (_folder, server) = server().await;
    let deep = |open: &str, close: &str| {
        let nested = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{{"x":{nested}}}}}"#)
    };
    let cases: Vec<(Vec<u8>, i64)> = vec![
        (b"".to_vec(), -32700),
        (b"{".to_vec(), -32700),
        (b"{}}".to_vec(), -32700),
        (b"nul".to_vec(), -32700),
        (b"{\"jsonrpc\":\"2.0\",}".to_vec(), -32700),
        (b"\xef\xbb\xbf{}".to_vec(), -32700),
        (b"{\"method\":\"\xff\"}".to_vec(), -32700),
        (b"{\"method\":\"a\x01\"}".to_vec(), -32700),
        (b"{}{}".to_vec(), -32700),
        (b"{}".to_vec(), -32600),
        (b"null".to_vec(), -32600),
        (b"true".to_vec(), -32600),
        (b"1".to_vec(), -32600),
        (b"\"skills/list\"".to_vec(), -32600),
        (br#"{"id":1,"method":"skills/list"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"skills/list"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":2.0,"id":1,"method":"skills/list"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":null}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"skills/list"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#.to_vec(), -32600),
        (deep("[", "]").into_bytes(), -32600),
        (deep(r#"{"a":"#, "}").into_bytes(), -32600),
        ("[".repeat(100_000).into_bytes(), -32600),
        (r#"{"a":"#.repeat(100_000).into_bytes(), -32600),
    ];
    let mut connection = server.connect().await;
    for (body, code) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        connection.send("POST", "/mcp", &modern_headers("skills/list"), &body).await;
        let reply = connection.reply().await;
        let message = reply.message();
        assert_eq!((reply.status, message.code()), (400, code), "{shown}");
        assert!(!reply.text().contains(r#""id":null"#), "{shown}");
    }
    // The same connection stays usable.
    let good = modern_request(1, "skills/list", json!({})).to_string();
    connection.send("POST", "/mcp", &modern_headers("skills/list"), good.as_bytes()).await;
    connection.reply().await.message().result();
}

#[tokio::test]
async fn members_that_occur_twice_in_parameters_are_refused_v_10() {
    let (_folder, server) = server().await;
    let meta = skillwire_testkit::modern_meta();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{{"uri":"skill://s/SKILL.md","uri":"skill://acme/t/SKILL.md","_meta":{meta}}}}}"#
    );
    let reply = server.post(&modern_headers("skills/get"), body.as_bytes()).await;
    assert_eq!((reply.status, reply.message().code()), (400, -32602));
    assert_eq!(reply.message().0["id"], 1);
}

#[tokio::test]
async fn an_array_is_not_taken_for_an_object_v_10() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    let template = "skill://{+skillPath}/SKILL.md";
    let reference = json!({ "type": "ref/resource", "uri": template });
    let argument = json!({ "name": "skillPath", "value": "" });
    for (reference, argument, context) in [
        (json!(["ref/resource", template]), argument.clone(), json!({})),
        (reference.clone(), json!(["skillPath", ""]), json!({})),
        (reference, argument, json!([{}])),
    ] {
        let params = json!({ "ref": reference, "argument": argument, "context": context });
        let reply = client.modern(1, "completion/complete", params.clone()).await;
        assert_eq!(reply.code(), -32602, "{params}");
    }
}

#[tokio::test]
async fn odd_characters_are_only_characters_v_10() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    for text in [
        "\u{0}",
        "\u{202e}dm.LLIKS",
        "\u{feff}skill://s/x",
        "\u{1f468}\u{200d}\u{1f469}",
        "\u{10ffff}",
        "\u{fffe}",
        "e\u{301}\u{301}\u{301}",
        "\u{1b}[31mred\u{7}",
        "a\r\nSet-Cookie: x",
        "${jndi:ldap://x}",
        "%s%n%x{}{0}",
    ] {
        let reply = client.modern(1, "skills/get", json!({ "uri": text })).await;
        assert_eq!(reply.code(), -32602, "{text:?}");
        let control = reply.message().chars().find(|c| c.is_control());
        assert_eq!(control, None, "{text:?} is repeated as it is");
        assert_eq!(client.modern(1, text, json!({})).await.code(), -32601, "{text:?}");
    }
}

#[tokio::test]
async fn methods_that_do_not_exist_are_not_found_v_15() {
    let (_folder, server) = server().await;
    let long = "x".repeat(100_000);
    let methods = [
        "skills/delete",
        "skills/../list",
        "Skills/List",
        "skills/list/",
        " skills/list",
        "skills/list\0",
        "skills//list",
        "skills/read",
        "skills/create",
        "rpc.discover",
        "resources/write",
        "__proto__",
        "",
        long.as_str(),
    ];
    let mut client = StdioClient::in_process(server.engine());
    for method in methods {
        let reply = client.modern(1, method, json!({})).await;
        assert_eq!(reply.code(), -32601, "{method}");
        assert!(reply.message().len() < 600);
    }
    for method in &methods[..3] {
        assert_eq!(server.modern_with(&[], method, json!({})).await.status, 404, "{method}");
    }
}

#[tokio::test]
async fn answers_and_server_side_requests_have_no_effect_v_16() {
    let (_folder, server) = server().await;
    let before = server.call("skills/list", json!({})).await;
    let answers = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "x" } }),
        json!({ "jsonrpc": "2.0", "result": null }),
    ];
    for answer in &answers {
        let reply = post(&server, answer.to_string()).await;
        assert_eq!(reply.status, 400);
        assert!(reply.message().0.get("id").is_none());
    }
    let mut client = StdioClient::in_process(server.engine());
    for answer in &answers {
        client.send(answer).await;
    }
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "tasks/get"] {
        let reply = server.modern_with(&[], method, json!({ "messages": [] })).await;
        assert_eq!((reply.status, reply.message().code()), (404, -32601), "{method}");
        // The next message on the pipe answers this request, so the server ignored the answers
        // above.
        assert_eq!(client.modern(5, method, json!({})).await.0["id"], 5);
    }
    assert_eq!(server.call("skills/list", json!({})).await, before);
}

#[tokio::test]
async fn requests_dropped_at_any_moment_leave_nothing_behind_v_17_srv_102() {
    let live = LiveSkill::default();
    let server = TestServer::with_sources(vec![live.source()], TestOptions::default()).await;
    let list =
        request_bytes("", &modern_request(1, "skills/list", json!({})).to_string(), "skills/list");
    let uri = "skill://live/now.txt";
    let read = modern_request(1, "resources/read", json!({ "uri": uri })).to_string();
    let read = request_bytes(&format!("Mcp-Name: {uri}\r\n"), &read, "resources/read");
    let listen = json!({ "notifications": { "resourcesListChanged": true } });
    let listen = modern_request(1, "subscriptions/listen", listen).to_string();
    let listen = request_bytes("", &listen, "subscriptions/listen");
    let before = tasks();
    live.set(Mood::Stuck);
    for round in 0..600_usize {
        let (request, length) = match round % 4 {
            // The client leaves within the request, after it, or after the server began to answer.
            0 => (&list, round * 7 % list.len()),
            1 => (&list, list.len()),
            2 => (&listen, listen.len()),
            // Few of these, because each holds a thread until the skill is released.
            _ if round % 40 == 3 => (&read, read.len()),
            _ => (&read, round * 5 % read.len()),
        };
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&request.as_bytes()[..length]).await.unwrap();
        for _ in 0..round % 11 {
            tokio::task::yield_now().await;
        }
    }
    live.set(Mood::Willing);
    tasks_at_most(before).await;
    assert_eq!(
        server.call("skills/list", json!({})).await["skills"][0]["uri"],
        "skill://live/SKILL.md"
    );
}

#[tokio::test]
async fn answers_to_questions_nobody_asked_are_ignored_v_19() {
    let (_folder, server) = server().await;
    let plain = json!({ "uri": "skill://s/x" });
    let expected = server.call("resources/read", plain.clone()).await;
    for (key, value) in [
        ("requestState", json!("eyJhZG1pbiI6dHJ1ZX0")),
        ("requestState", json!({ "admin": true })),
        ("inputResponses", json!({ "x": { "action": "accept", "content": {} } })),
        ("inputResponses", json!("junk")),
        ("inputResponses", json!(null)),
    ] {
        let mut params = plain.clone();
        params[key] = value;
        assert_eq!(server.call("resources/read", params.clone()).await, expected, "{key}");
        params["uri"] = "skill://s/none".into();
        assert_eq!(server.modern("resources/read", params).await.code(), -32602, "{key}");
    }
}
