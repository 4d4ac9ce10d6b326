//! The options of `serve`, each tested by what clients receive.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, initialize_params, legacy_request};

use crate::support::{HttpServer, StdioServer, command, run, uris};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The URIs of `resources/list`.
async fn resources(server: &mut StdioServer) -> Vec<String> {
    let reply = server.modern("resources/list", Value::Null).await;
    let resources = reply.result()["resources"].as_array().unwrap();
    resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn unlisted_skills_are_served_and_not_listed_srv_67() {
    let folder = SkillFolder::with_skills(&["acme/open", "acme/internal/deep/plan", "side"]);
    let mut server =
        StdioServer::serve(&folder, &[".", "--unlisted", "acme/internal/**", "--unlisted", "sid*"]);
    assert_eq!(server.uris().await, ["skill://acme/open/SKILL.md"]);
    assert_eq!(resources(&mut server).await, ["skill://acme/open/SKILL.md"]);
    for uri in ["skill://acme/internal/deep/plan/SKILL.md", "skill://side/SKILL.md"] {
        let got = server.modern("skills/get", json!({ "uri": uri })).await;
        assert_eq!(got.result()["skill"]["uri"], uri);
        let read = server.modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read.result()["contents"][0]["uri"], uri);
    }
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn list_files_lists_supporting_files_too() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/references/facts.md", "# Facts\n");
    let mut usual = StdioServer::serve(&folder, &["."]);
    assert_eq!(resources(&mut usual).await, ["skill://a/SKILL.md"]);
    let mut all = StdioServer::serve(&folder, &[".", "--list-files"]);
    let listed = resources(&mut all).await;
    assert_eq!(listed, ["skill://a/SKILL.md", "skill://a/references/facts.md"]);
    for server in [usual, all] {
        server.close().await.assert_exit(0);
    }
}

#[tokio::test]
async fn directories_can_be_switched_off_srv_10() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut on = StdioServer::serve(&folder, &["."]);
    let mut off = StdioServer::serve(&folder, &[".", "--no-directory-read"]);
    let params = json!({ "uri": "skill://a" });
    let read = on.modern("resources/directory/read", params.clone()).await;
    assert_eq!(read.result()["resources"][0]["uri"], "skill://a/SKILL.md");
    assert_eq!(off.modern("resources/directory/read", params.clone()).await.code(), -32601);
    for (server, expected) in [(&mut on, json!(true)), (&mut off, Value::Null)] {
        let declared = server.modern("server/discover", Value::Null).await;
        let settings = &declared.result()["capabilities"]["extensions"][EXTENSION];
        assert_eq!(settings["directoryRead"], expected);
    }
    let http = HttpServer::serve(&folder, &[".", "--no-directory-read"]).await;
    let reply = http.request(&[], "resources/directory/read", params).await;
    assert_eq!((reply.status, reply.message().code()), (404, -32601));
}

#[tokio::test]
async fn another_scheme_works_throughout_srv_21() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut server = StdioServer::serve(&folder, &[".", "--scheme", "acme-skills"]);
    let uri = "acme-skills://a/SKILL.md";
    assert_eq!(server.uris().await, [uri]);
    let got = server.modern("skills/get", json!({ "uri": uri })).await;
    assert_eq!(got.result()["skill"]["resources"][0]["uri"], uri);
    let read = server.modern("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read.result()["contents"][0]["uri"], uri);
    let foreign = server.modern("skills/get", json!({ "uri": "skill://a/SKILL.md" })).await;
    assert_eq!(foreign.code(), -32602);
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn page_size_ttl_and_cache_scope_are_seen_by_clients() {
    let folder = SkillFolder::with_skills(&["a", "b", "c"]);
    let mut usual = StdioServer::serve(&folder, &["."]);
    let result = usual.modern("skills/list", Value::Null).await.result().clone();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(60_000), &json!("public")));
    assert!(result.get("nextCursor").is_none());
    let arguments = [".", "--page-size", "2", "--ttl-ms", "5", "--cache-scope", "private"];
    let mut tuned = StdioServer::serve(&folder, &arguments);
    let reply = tuned.modern("skills/list", Value::Null).await;
    let result = reply.result();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(5), &json!("private")));
    assert_eq!(uris(&reply).len(), 2);
    let next = tuned.modern("skills/list", json!({ "cursor": result["nextCursor"] })).await;
    assert_eq!(uris(&next), ["skill://c/SKILL.md"]);
    for server in [usual, tuned] {
        server.close().await.assert_exit(0);
    }
}

#[tokio::test]
async fn lenient_serves_what_is_only_too_long() {
    let folder = SkillFolder::with_skills(&["good"]);
    let long = format!("---\nname: long\ndescription: {}\n---\n", "x".repeat(1_025));
    folder.file("long/SKILL.md", long);
    for (flags, expected) in [
        (&["."][..], &["skill://good/SKILL.md"][..]),
        (&[".", "--strict"], &["skill://good/SKILL.md"]),
        (&[".", "--lenient"], &["skill://good/SKILL.md", "skill://long/SKILL.md"]),
    ] {
        let mut server = StdioServer::serve(&folder, flags);
        assert_eq!(server.uris().await, expected, "{flags:?}");
        let ended = server.close().await.assert_exit(0);
        assert!(ended.stderr.contains("[description-too-long]"), "{flags:?}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn a_secret_is_served_only_by_name_v_43() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/.env", "EXAMPLE=1\n");
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(server.uris().await, [""; 0]);
    server.close().await.assert_exit(0);
    let mut server = StdioServer::serve(&folder, &[".", "--allow-secret-file", ".env"]);
    let read = server.modern("resources/read", json!({ "uri": "skill://a/.env" })).await;
    assert_eq!(read.result()["contents"][0]["text"], "EXAMPLE=1\n");
    server.close().await.assert_exit(0);
}

#[cfg(unix)]
#[tokio::test]
async fn hard_links_can_be_refused_v_36() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("outside.txt", "somebody else's");
    std::fs::hard_link(folder.join("outside.txt"), folder.join("a/linked.txt")).unwrap();
    let mut server = StdioServer::serve(&folder, &["."]);
    assert_eq!(server.uris().await.len(), 2);
    server.close().await.assert_exit(0);
    let mut server = StdioServer::serve(&folder, &[".", "--require-single-link"]);
    assert_eq!(server.uris().await, ["skill://b/SKILL.md"]);
    let ended = server.close().await.assert_exit(0);
    assert!(ended.stderr.contains("[hard-link]"), "{}", ended.stderr);
}

#[tokio::test]
async fn options_about_http_are_refused_on_pipes() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("tokens", "ci 0123456789abcdef\n");
    for arguments in [
        &["--token-file", "tokens"][..],
        &["--allow-host", "skills.example.com"],
        &["--allow-origin", "https://app.example.com", "--stdio"],
        &["--metrics"],
    ] {
        let option = arguments[0];
        let ran = run(&folder, &[&["serve", "."], arguments].concat()).await;
        assert!(ran.stderr.contains("leave the option out"), "{ran:?}");
        ran.assert_refused(2, &format!("`{option}` needs `--http`."));
    }
    // A configuration file for HTTP may be used with `--stdio`, if the user types that option.
    folder.file("http.toml", "http = \"127.0.0.1:0\"\ntoken-file = \"tokens\"\nmetrics = true\n");
    run(&folder, &["serve", ".", "--config", "http.toml", "--stdio"]).await.assert_exit(0);
    folder.file("pipes.toml", "token-file = \"tokens\"\n");
    let ran = run(&folder, &["serve", ".", "--config", "pipes.toml"]).await;
    ran.assert_refused(2, "`--token-file` needs `--http`.");
}

#[tokio::test]
async fn options_that_match_nothing_say_so_fu_20() {
    let folder = SkillFolder::with_skills(&["acme/open", "side"]);
    folder.file("side/scripts/run.py", "print(1)\n");
    let arguments = [
        ".",
        "--usage-skill",
        "nope",
        "--public",
        "acme/**",
        "--public",
        "none/**",
        "--unlisted",
        "sides",
        "--unlisted",
        "side",
    ];
    let mut server = HttpServer::serve(&folder, &arguments).await;
    for expected in ["`--usage-skill nope`", "`--public none/**`", "`--unlisted sides`"] {
        let line = server.process.wait_for_line(expected).await;
        assert!(line.contains(" matches no skill that is served now."), "{line}");
    }
    #[cfg(unix)]
    {
        server.process.signal("TERM");
        let said = server.process.wait().await.assert_exit(0).stderr;
        assert_eq!(said.matches("matches no").count(), 3, "{said}");
    }
}

#[tokio::test]
async fn localhost_is_an_address_fu_26() {
    let folder = SkillFolder::with_skills(&["a"]);
    let arguments = ["serve", ".", "--http", "localhost:0"];
    let server = HttpServer::start(command(&folder, &arguments)).await;
    assert_eq!(server.address.ip().to_string(), "127.0.0.1");
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
}

#[tokio::test]
async fn a_server_has_a_name_and_a_face_of_its_own_p_17() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file(".git/icon.png", [0x89, b'P', b'N', b'G']);
    folder.file(
        "serve.toml",
        "name = \"acme-skills\"\ntitle = \"From the file\"\nwebsite = \"https://acme.example\"\n\
         instructions = \"Ask before you refund.\"\n",
    );
    let arguments = [
        ".",
        "--config",
        "serve.toml",
        "--title",
        "Skills of Acme",
        "--description",
        "How Acme works.",
        "--icon",
        ".git/icon.png",
    ];
    let mut server = StdioServer::serve(&folder, &arguments);
    let discovered = server.modern("server/discover", Value::Null).await;
    let info = &discovered.result()["_meta"]["io.modelcontextprotocol/serverInfo"];
    let expected = json!({
        "name": "acme-skills",
        "version": env!("CARGO_PKG_VERSION"),
        "title": "Skills of Acme",
        "description": "How Acme works.",
        "websiteUrl": "https://acme.example",
        "icons": [{ "src": "data:image/png;base64,iVBORw==", "mimeType": "image/png" }],
    });
    assert_eq!(*info, expected);
    let instructions = discovered.result()["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Ask before you refund.\n\n"), "{instructions}");
    // Other results repeat only name and version, since an icon may be large.
    let read = server.modern("resources/read", json!({ "uri": "skill://a/SKILL.md" })).await;
    let info = &read.result()["_meta"]["io.modelcontextprotocol/serverInfo"];
    let short = json!({ "name": "acme-skills", "version": env!("CARGO_PKG_VERSION") });
    assert_eq!(*info, short);
    server.close().await.assert_exit(0);

    let mut legacy = StdioServer::serve(&folder, &arguments);
    let initialize = legacy_request(1, "initialize", initialize_params("2025-11-25"));
    let initialized = legacy.request(&initialize).await;
    assert_eq!(initialized.result()["serverInfo"], expected);
    legacy.close().await.assert_exit(0);

    for (arguments, words) in [
        (&["--website", "acme"][..], "`--website acme` is not a web address."),
        (&["--icon", "icon.txt"], "`--icon icon.txt` is not an image."),
        (&["--title", " "], "`--title` is empty."),
    ] {
        run(&folder, &[&["serve", "."], arguments].concat()).await.assert_refused(2, words);
    }
}
