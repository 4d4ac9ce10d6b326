//! Commands with servers that speak older dialects.

use serde_json::json;
use skillwire_core::Digest;
use skillwire_testkit::{
    Fault, HostileServer, OlderDialect, ScriptedReply, WebSite, archives::refunds,
};

use super::user::TestUser;

async fn user_of(
    older: OlderDialect,
) -> (TestUser, HostileServer, skillwire_testkit::ListeningServer) {
    let server = HostileServer::with_dialect(older);
    let listening = server.http().await;
    let user = TestUser::new();
    user.add_http_server("acme", &listening).await;
    (user, server, listening)
}

#[tokio::test]
async fn legacy_discovery_needs_the_users_word_for_the_server_c_19() {
    let (user, _server, _listening) = user_of(OlderDialect::FastMcp).await;
    let ran = user.run(&["list", "--server", "acme"]).await.assert_exit(7);
    assert!(ran.stderr.contains("skillwire server allow-legacy acme"), "{}", ran.stderr);
    user.run_ok(&["server", "allow-legacy", "acme"]).await;
    let listed = user.run_ok(&["list", "--server", "acme"]).await;
    assert!(listed.contains("from server acme (D7, resources with a manifest)"), "{listed}");
    assert!(user.run_ok(&["server", "list"]).await.contains("(legacy discovery)"));
    user.run_ok(&["server", "allow-legacy", "acme", "--off"]).await;
    user.run(&["list", "--server", "acme"]).await.assert_exit(7);
    user.run(&["server", "allow-legacy", "nobody"]).await.assert_refused(5, "server_unknown");
}

#[tokio::test]
async fn the_next_command_begins_where_the_one_before_ended_lad_08() {
    let (user, server, _listening) = user_of(OlderDialect::ScopedList).await;
    for _ in 0..3 {
        assert!(user.run_ok(&["list", "--server", "acme"]).await.contains("(D4, "));
    }
    assert_eq!(server.count("skills/list"), 1);
    assert!(user.state("dialects/acme.json").exists());
    user.home.file("sw/state/dialects/acme.json", "{");
    user.run_ok(&["list", "--server", "acme"]).await;
    assert_eq!(server.count("skills/list"), 2, "a damaged file is no answer");
    user.run_ok(&["server", "remove", "acme"]).await;
    assert!(!user.state("dialects/acme.json").exists());
}

#[tokio::test]
async fn what_a_server_only_points_to_is_said_and_not_listed_lad_05_lad_06() {
    let none: [(&str, &str); 0] = [];
    let instructions = "Begin with skill://hidden/SKILL.md.";
    let server = HostileServer::new()
        .skill("x", none)
        .skill("hidden", none)
        .fault(Fault::Instructions(instructions.into()));
    let page = json!({ "skills": [server.entry("skill://x/SKILL.md")], "ttlMs": 0 });
    let server = server.on("skills/list", move |_, _| ScriptedReply::Result(page.clone()));
    let listening = server.http().await;
    let user = TestUser::new();
    user.add_http_server("acme", &listening).await;
    let ran = user.run(&["list"]).await.assert_exit(0);
    assert!(!ran.stdout.contains("hidden"), "{}", ran.stdout);
    let show = "`skillwire show acme:skill://hidden/SKILL.md` asks for it.";
    assert!(ran.stderr.contains(show), "{}", ran.stderr);
    user.run_ok(&["show", "acme:skill://hidden/SKILL.md"]).await;
    let listed = user.run_json(&["list", "--json"]).await;
    assert_eq!(listed["references"], json!(["acme:skill://hidden/SKILL.md"]));

    let server = HostileServer::new().fault(Fault::Capabilities(json!({ "tools": {} }))).on(
        "tools/list",
        |_, _| {
            ScriptedReply::Result(json!({ "tools": [{ "name": "load_skill", "inputSchema": {} }] }))
        },
    );
    let listening = server.http().await;
    user.add_http_server("tools", &listening).await;
    for command in [&["list", "--server", "tools"][..], &["verify", "tools"]] {
        let ran = user.run(command).await.assert_exit(7);
        assert!(ran.stderr.contains("Its tool `load_skill` seems to hand out"), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_user_fills_in_a_template_at_a_terminal_d12() {
    let server = HostileServer::with_dialect(OlderDialect::PlainResources)
        .fault(Fault::Capabilities(json!({ "resources": {}, "completions": {} })))
        .resource("skill://docs/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n")
        .on("resources/list", |_, _| ScriptedReply::Result(json!({ "resources": [] })))
        .on("resources/templates/list", |_, _| {
            ScriptedReply::Result(json!({ "resourceTemplates": [
                { "uriTemplate": "skill://docs/{product}/SKILL.md", "name": "Products" },
                { "uriTemplate": "skill://{+path}/SKILL.md", "name": "All" },
            ] }))
        })
        .on("completion/complete", |asked, _| {
            let typed = asked.params["argument"]["value"].as_str().unwrap();
            let all = ["csv", "pdf"].into_iter();
            let values: Vec<_> = all.filter(|value| value.starts_with(typed)).collect();
            ScriptedReply::Result(json!({ "completion": { "values": values } }))
        });
    let listening = server.http().await;
    let user = TestUser::new();
    user.run_ok(&["server", "add", "acme", &listening.url(), "--legacy-discovery"]).await;
    let browse = ["list", "--server", "acme", "--browse"];
    let mut asked = user.start_on_terminal(&browse);
    asked.wait_for_screen("Number of the template").await;
    asked.type_line("9");
    asked.wait_for_screen("Type a number from 1 to 2.").await;
    asked.type_line("1");
    let seen = asked.wait_for_screen("product").await;
    assert!(seen.contains("csv, pdf"), "{seen}");
    asked.type_line("p");
    asked.wait_for_screen("product").await;
    asked.type_line("pdf");
    asked.wait_for_screen("`skillwire show acme:skill://docs/pdf/SKILL.md` shows it").await;
    assert_eq!(asked.wait().await, Some(0));
    assert!(user.run_ok(&["show", "acme:skill://docs/pdf/SKILL.md"]).await.contains("Reads."));
    let mut asked = user.start_on_terminal(&browse);
    asked.wait_for_screen("Number of the template").await;
    asked.type_line("");
    asked.wait_for_screen("Nothing was chosen.").await;
    assert_eq!(asked.wait().await, Some(2));
    // Without a terminal the program only shows the templates.
    assert!(user.run_ok(&browse).await.contains("skill://docs/{product}/SKILL.md"));
}

#[tokio::test]
async fn first_seen_is_said_wherever_the_skill_is_shown_c_36() {
    let (user, server, _listening) = user_of(OlderDialect::EarlyIndexWithoutDigests).await;
    let listed = user.run_json(&["list", "--json"]).await;
    assert_eq!(listed["servers"][0]["dialect"], "D3");
    assert_eq!(listed["skills"][0]["first_seen"], true);
    assert!(user.run_ok(&["list"]).await.contains("new first-seen"));
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("first-seen") && shown.contains("dialect: D3"), "{shown}");
    let approved = user.run_ok(&["approve", "acme:refunds", "--yes"]).await;
    assert!(approved.contains("Approved acme:refunds (first-seen)"), "{approved}");
    let ran =
        user.run(&["load", "acme:refunds", "--read", "examples/email.md"]).await.assert_exit(0);
    assert!(ran.stderr.contains("was seen for the first time"), "{}", ran.stderr);
    assert!(ran.stdout.contains("Integrity: First-seen."), "{}", ran.stdout);
    let again =
        user.run(&["load", "acme:refunds", "--read", "examples/email.md"]).await.assert_exit(0);
    assert_eq!(again.stderr, "");
    let verified = user.run_json(&["verify", "acme", "--json"]).await;
    assert_eq!((&verified["dialect"], &verified["first_seen"]), (&json!("D3"), &json!(1)));
    assert!(user.run_ok(&["verify", "acme"]).await.contains("cannot guarantee"));
    // A skill that is only first-seen is not written to the lock file.
    assert!(user.run_ok(&["lock"]).await.contains("Wrote 0 approved skills"));
    server.set_resource("skill://acme/billing/refunds/examples/email.md", "changed");
    user.run(&["load", "acme:refunds", "--read", "examples/email.md"])
        .await
        .assert_refused(4, "changed");
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "changed");
}

#[tokio::test]
async fn a_web_origin_is_added_listed_approved_and_loaded_d11() {
    let skill_md = refunds()[0].1;
    let entry = json!({
        "name": "refunds", "type": "skill-md", "url": "refunds.md",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "digest": Digest::of(skill_md.as_bytes()).to_string(),
    });
    let site = WebSite::new()
        .file(
            "/.well-known/agent-skills/index.json",
            "application/json",
            json!({ "skills": [entry] }).to_string(),
        )
        .file("/.well-known/agent-skills/refunds.md", "text/markdown", skill_md)
        .serve()
        .await;
    let user = TestUser::new();
    user.run_ok(&["server", "add", "web", site.url(), "--kind", "well-known"]).await;
    assert!(user.run_ok(&["list"]).await.contains("from server web (D11, an index on the web)"));
    user.run_ok(&["approve", "web:refunds", "--yes"]).await;
    let loaded = user.run_json(&["load", "web:refunds", "--json"]).await;
    assert_eq!((&loaded["dialect"], &loaded["first_seen"]), (&json!("D11"), &json!(false)));
    for bad in ["http://example.com", "https://10.0.0.1", "https://example.com/path"] {
        let add = ["server", "add", "bad", bad, "--kind", "well-known"];
        user.run(&add).await.assert_refused(2, "This is not a server");
    }
}

#[tokio::test]
async fn convert_writes_documents_of_other_dialects() {
    let user = TestUser::new();
    let digest = Digest::of(b"x").to_string();
    let page = json!({ "skills": [{
        "uri": "skill://refunds/SKILL.md",
        "frontmatter": { "name": "refunds", "description": "Refunds." },
        "resources": [{ "uri": "skill://refunds/SKILL.md", "digest": digest, "size": 1 }],
    }] });
    user.home.file("work/page.json", page.to_string());
    let manifest = user.run_json(&["convert", "--from", "d1", "--to", "D7", "page.json"]).await;
    assert_eq!(manifest["files"][0]["hash"], digest);
    user.home.file("work/manifest.json", manifest.to_string());
    let back = ["convert", "--from", "D7", "--to", "D1", "manifest.json"];
    user.run(&back).await.assert_refused(1, "the whole frontmatter");
    user.run(&["convert", "--from", "D5", "--to", "D1", "page.json"])
        .await
        .assert_refused(2, "not a dialect that has a document");
}
