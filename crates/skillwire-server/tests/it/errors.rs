//! Errors: SRV-89 to SRV-92.

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::RelPath;
use skillwire_source::{GenerateError, SkillGenerator};
use skillwire_testkit::{
    RpcReply, SkillFolder, StdioClient, TestOptions, TestServer, modern_headers, modern_meta,
    skill_md,
};

use crate::support::{METHOD_NOT_FOUND, generated, read, refused, text};

const INTERNAL: i64 = -32603;

/// The error text of a failing generator, which no client may learn.
const REASON: &str = "cannot open /srv/private/reports.sqlite";

/// A skill whose `SKILL.md` can be made while every other file fails or panics.
#[derive(Debug)]
struct Faulty {
    panics: bool,
}

impl Faulty {
    fn fail<T>(&self) -> Result<T, GenerateError> {
        if self.panics {
            // Unwinds like a panic, but leaves the output of the tests alone.
            std::panic::resume_unwind(Box::new(REASON));
        }
        Err(GenerateError::new(REASON))
    }
}

impl SkillGenerator for Faulty {
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        if *path == RelPath::skill_file() {
            return Ok(Some(skill_md("faulty").into()));
        }
        self.fail()
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        self.fail()
    }
}

#[tokio::test]
async fn failures_inside_are_internal_errors_that_keep_their_reason_srv_89() {
    for panics in [false, true] {
        let sources = vec![generated("faulty", Faulty { panics })];
        let server = TestServer::with_sources(sources, TestOptions::default()).await;
        let mut client = StdioClient::in_process(server.engine());
        let (session, _) = server.initialize("2025-11-25").await;
        for (method, uri) in [
            ("resources/read", "skill://faulty/data.md"),
            ("resources/directory/read", "skill://faulty"),
            ("resources/directory/read", "skill://faulty/sub"),
        ] {
            let params = json!({ "uri": uri });
            let replies = [
                server.modern(method, params.clone()).await,
                server.legacy(&session, method, params.clone()).await.message(),
                client.modern(1, method, params).await,
            ];
            for reply in replies {
                assert_eq!(reply.code(), INTERNAL, "{method} {uri}");
                let sent = reply.0.to_string();
                assert!(!sent.contains("/srv") && !sent.contains("sqlite"), "{sent}");
            }
        }
        // The next request finds the server undamaged.
        let skill = read(&server, "skill://faulty/SKILL.md").await;
        assert_eq!(skill, skill_md("faulty").into_bytes());
    }
}

#[tokio::test]
async fn messages_name_what_was_asked_for_srv_90() {
    let folder = SkillFolder::with_skills(&["pdf"]);
    let server = TestServer::start(folder.path()).await;
    for (method, uri) in [
        ("skills/get", "skill://acme/billing/chargebacks/SKILL.md"),
        ("resources/read", "skill://pdf/unknown.md"),
        ("resources/read", "skill://pdf"),
        ("resources/directory/read", "skill://pdf/SKILL.md"),
        ("resources/directory/read", "skill://nowhere"),
    ] {
        let reply = refused(&server, method, uri).await;
        assert!(reply.message().contains(uri), "{}", reply.message());
    }
    let reply = server.modern("skills/unheard-of", json!({})).await;
    assert_eq!(reply.code(), METHOD_NOT_FOUND);
    assert!(reply.message().contains("skills/unheard-of"));
}

#[tokio::test]
async fn a_missing_file_of_a_generated_skill_is_not_called_a_directory_srv_90() {
    #[derive(Debug)]
    struct Alone;

    impl SkillGenerator for Alone {
        fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
            Ok((*path == RelPath::skill_file()).then(|| skill_md("alone").into()))
        }

        fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
            Ok(vec![RelPath::skill_file()])
        }
    }

    let sources = vec![generated("alone", Alone)];
    let server = TestServer::with_sources(sources, TestOptions::default()).await;
    let uri = "skill://alone/unknown.md";
    let message = refused(&server, "resources/read", uri).await.message().to_owned();
    assert!(message.contains(uri) && !message.contains("directory"), "{message}");
    let root = refused(&server, "resources/read", "skill://alone").await;
    assert!(root.message().contains("resources/directory/read"), "{}", root.message());
    let file = refused(&server, "resources/directory/read", "skill://alone/SKILL.md").await;
    assert!(file.message().contains("skill://alone/SKILL.md"));
}

const METHODS: [&str; 20] = [
    "server/discover",
    "skills/list",
    "skills/get",
    "resources/list",
    "resources/read",
    "resources/directory/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "logging/setLevel",
    "ping",
    "initialize",
    "skills/install",
    "",
    "no such method\u{0}\n",
];

/// Returns parameters that no method expects, besides some valid ones.
fn odd_params() -> Vec<Value> {
    let mut params = vec![
        json!({}),
        json!({ "uri": "skill://pdf/SKILL.md" }),
        json!({ "uri": "skill://pdf", "cursor": "x" }),
        json!({ "uri": "skill://pdf/../../../etc/passwd" }),
        json!({ "uri": "x".repeat(5_000) }),
        json!({ "uri": "\u{0}\u{7}\u{202e}" }),
        json!({ "name": "x", "arguments": {} }),
        json!({ "ref": { "type": "ref/resource", "uri": "skill://{+skillPath}/SKILL.md" } }),
        json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": {} }),
        json!({ "argument": { "name": "skillPath", "value": "" }, "ref": {} }),
        json!({ "protocolVersion": 1 }),
    ];
    for member in ["uri", "cursor", "name", "ref", "argument", "context", "notifications"] {
        for value in [json!(null), json!(-1), json!(1e300), json!(true), json!([[]]), json!({})] {
            params.push(json!({ member: value }));
        }
    }
    params
}

/// Collects every error that odd requests of the modern era cause, over both transports.
async fn odd_errors(server: &TestServer) -> Vec<RpcReply> {
    let mut client = StdioClient::in_process(server.engine());
    let mut errors = Vec::new();
    for method in METHODS {
        for params in odd_params() {
            let reply = client.modern(1, method, params.clone()).await;
            let code = reply.0["error"]["code"].as_i64();
            assert!(code.is_none_or(|code| !(-32099..=-32020).contains(&code)), "{reply:?}");
            errors.push(reply);
            if method.bytes().all(|byte| byte.is_ascii_graphic()) {
                errors.push(server.modern(method, params).await);
            }
        }
    }
    errors.retain(|reply| reply.0.get("error").is_some());
    errors
}

async fn serve_for_errors() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["pdf", "acme/refunds"]);
    folder.file("pdf/references/a.md", "a").file("broken/SKILL.md", "no frontmatter");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn no_error_tells_of_the_machine_srv_91() {
    let (folder, mut server) = serve_for_errors().await;
    folder.remove("pdf/references");
    server.refresh();
    let mut errors = odd_errors(&server).await;
    let name = folder.path().file_name().and_then(|name| name.to_str()).expect("a name");
    for uri in ["skill://pdf/references/a.md", "skill://broken/SKILL.md", "skill://pdf/references"]
    {
        for method in ["skills/get", "resources/read", "resources/directory/read"] {
            errors.push(refused(&server, method, uri).await);
        }
    }
    assert!(errors.len() > 500);
    for reply in errors {
        let sent = reply.0.to_string();
        for leak in [name, "/tmp", "panicked", "backtrace", ".rs:", "src/", "os error"] {
            assert!(!sent.contains(leak), "{leak} in {sent}");
        }
    }
}

#[tokio::test]
async fn only_codes_with_a_meaning_are_sent_srv_92() {
    let (_folder, server) = serve_for_errors().await;
    let standard = [-32700, -32600, -32601, -32602, -32603];
    for reply in odd_errors(&server).await {
        let code = reply.code();
        // Over HTTP, a read without a name in the header is a mismatch before anything else is
        // checked.
        let mismatch = code == -32020 && reply.message().contains("mcp-name");
        assert!(standard.contains(&code) || mismatch, "{reply:?}");
    }
}

#[tokio::test]
async fn malformed_messages_have_standard_codes_srv_92() {
    let (_folder, server) = serve_for_errors().await;
    let mut client = StdioClient::in_process(server.engine());
    for (body, code) in [
        ("nonsense", -32700),
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"skills/list","params":[]}"#, -32602),
    ] {
        let reply = server.post(&modern_headers("skills/list"), body.as_bytes()).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.message().code(), code, "{body}");
        client.write(format!("{body}\n")).await;
        assert_eq!(RpcReply(client.next().await.expect("an answer")).code(), code, "{body}");
    }
}

#[tokio::test]
async fn reserved_codes_keep_their_meaning_srv_92() {
    let (_folder, server) = serve_for_errors().await;
    let reply = server.modern_with(&[("Mcp-Name", "skill://x")], "skills/list", json!({})).await;
    assert_eq!((reply.status, reply.message().code()), (400, -32020));
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let params = json!({ "_meta": meta });
    let mut client = StdioClient::in_process(server.engine());
    let reply = client.modern(1, "skills/list", params).await;
    assert_eq!(reply.code(), -32022);
    let supported = reply.0["error"]["data"]["supported"].as_array().expect("versions");
    assert!(supported.iter().any(|version| text(version) == "2026-07-28"));
}
