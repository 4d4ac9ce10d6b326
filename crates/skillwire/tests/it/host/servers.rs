//! Configured servers, and what the program sends to them.

use std::fs;

use skillwire_testkit::{Fault, HostileServer};

use super::user::{TestUser, refunds};
use crate::support::{BINARY, finish};

#[tokio::test]
async fn secrets_are_stored_and_never_printed() {
    let user = TestUser::new();
    user.home.file("work/token", "hush-file\n");
    let added = [
        user.run(&[
            "server",
            "add",
            "web",
            "https://x.example/mcp?key=hush1",
            "--header",
            "X-Key=hush2",
            "--no-connect",
        ])
        .await,
        user.run(&["server", "add", "run", "--env", "KEY=hush3", "--", "prog", "--token", "hush4"])
            .await,
        user.run(&[
            "server",
            "add",
            "file",
            "http://x.example/",
            "--bearer-token-file",
            "token",
            "--no-connect",
        ])
        .await,
        user.run(&["server", "list"]).await,
        user.run(&["server", "list", "--json"]).await,
        user.run(&["server", "add", "bad", "http://x.example/", "--header", "hush5"]).await,
        user.run(&["server", "add", "bad", "http://x.example/", "--header", "A B=hush6"]).await,
        user.run(&["server", "add", "web", "https://y.example/"]).await,
    ];
    for ran in &added {
        assert!(!(ran.stdout.clone() + &ran.stderr).contains("hush"), "{ran:?}");
    }
    assert_eq!(added.map(|ran| ran.code), [0, 0, 0, 0, 0, 2, 2, 2].map(Some));
    let stored = fs::read_to_string(user.state("servers.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let servers = &stored["mcpServers"];
    assert_eq!(servers["web"]["url"], "https://x.example/mcp?key=hush1");
    assert_eq!(servers["web"]["headers"]["X-Key"], "hush2");
    assert_eq!(servers["run"]["args"], serde_json::json!(["--token", "hush4"]));
    assert_eq!(servers["run"]["env"]["KEY"], "hush3");
    let token = servers["file"]["bearerTokenFile"].as_str().unwrap();
    assert!(std::path::Path::new(token).is_absolute(), "{token}");
}

#[tokio::test]
async fn a_bearer_token_comes_from_its_file_at_each_connection() {
    let user = TestUser::new();
    let uri = "skill://a/SKILL.md".to_owned();
    let server = HostileServer::new()
        .skill("a", [("x.md", "x")])
        .fault(Fault::OnlyFor { uri, token: "open-sesame".to_owned() });
    let listening = server.http().await;
    user.home.file("work/token", "wrong\n");
    let url = listening.url();
    user.run_ok(&["server", "add", "acme", &url, "--bearer-token-file", "token"]).await;
    user.run(&["show", "acme:a"]).await.assert_exit(5);
    user.home.file("work/token", "  open-sesame\n");
    user.run_ok(&["show", "acme:a"]).await;
    for unusable in ["", "two words", "two\nlines"] {
        user.home.file("work/token", unusable);
        let ran = user.run(&["show", "acme:a"]).await;
        assert!(!ran.stderr.contains("words") && !ran.stderr.contains("lines"), "{ran:?}");
        ran.assert_refused(7, "does not hold one token");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_started_server_gets_a_short_environment() {
    let (user, skills) = (TestUser::new(), refunds());
    let seen = user.home.join("seen");
    let script = format!("env > '{}'; exec '{BINARY}' serve --no-index \"$0\"", seen.display());
    let path = skills.path().to_str().unwrap();
    user.run_ok(&["server", "add", "acme", "--env", "MINE=given", "--", "sh", "-c", &script, path])
        .await;
    let mut command = user.command(&["list", "--server", "acme"]);
    command.env("API_TOKEN", "hush").env("LC_TIME", "C").env("MINE", "inherited");
    finish(command).await.assert_exit(0);
    let seen = fs::read_to_string(seen).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(seen.contains("MINE=given\n") && seen.contains("LC_TIME=C\n"), "{seen}");
    assert!(names.contains(&"PATH") && names.contains(&"HOME"), "{seen}");
    assert!(!names.contains(&"API_TOKEN") && !names.contains(&"SKILLWIRE_HOME"), "{seen}");
}

#[tokio::test]
async fn removing_a_server_removes_what_came_from_it_and_its_label_inherits_nothing_hst_97_h_49() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.add_folder_server("beta", &skills).await;
    for handle in ["acme:refunds", "beta:refunds"] {
        user.approve(handle).await;
        user.run_ok(&["load", handle, "--read", "references/policy.md"]).await;
    }
    let cached = |label: &str| user.home.join("sw/cache/files").join(label).exists();
    assert!(cached("acme") && cached("beta"));
    let told = user.run_ok(&["server", "remove", "acme", "--yes"]).await;
    assert_eq!(
        told,
        "Removed the server `acme`, 2 cached files and 1 decision about its skills.\n"
    );
    assert!(!cached("acme") && cached("beta"));
    user.run(&["load", "acme:refunds"]).await.assert_refused(5, "error[server_unknown]");
    user.run_ok(&["load", "beta:refunds"]).await;
    user.add_folder_server("acme", &skills).await;
    assert_eq!(user.state_of("acme:refunds").await, "new");
    user.run(&["server", "remove", "none"]).await.assert_refused(5, "error[server_unknown]");
}

#[tokio::test]
async fn what_a_server_calls_itself_changes_nothing_h_49() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let server = HostileServer::new()
        .skill("acme/refunds", [("x.md", "x")])
        .fault(Fault::ServerName("acme".to_owned()));
    let listening = server.http().await;
    user.add_http_server("other", &listening).await;
    user.run(&["load", "other:refunds"]).await.assert_refused(4, "error[not_approved]");
}

#[tokio::test]
async fn servers_of_another_client_are_imported() {
    let user = TestUser::new();
    user.home.file(
        "work/mcp.json",
        r#"{"mcpServers": {
            "Acme Skills": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
            "run": {"command": "prog", "args": ["-x"], "env": {"KEY": "hush"}},
            "bad": {"url": "ftp://x"}
        }}"#,
    );
    let ran = user.run(&["server", "import", "mcp.json"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "Added the server `acme-skills`.\nAdded the server `run`.\n");
    assert!(ran.stderr.contains("Server `bad`") && !ran.stderr.contains("hush"), "{}", ran.stderr);
    let again = user.run(&["server", "import", "mcp.json"]).await.assert_exit(1);
    assert!(again.stderr.contains("There is a server `run` already"), "{}", again.stderr);
    user.home.file("work/other.json", "[]");
    user.run(&["server", "import", "other.json"]).await.assert_exit(2);
    user.run(&["server", "import", "none.json"]).await.assert_refused(2, "cannot be read");
}

#[tokio::test]
async fn removing_a_server_with_decisions_needs_a_word_fu_08() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let words =
        "The server `acme` has 1 decision about its skills, which would be deleted with it.";
    user.run(&["server", "remove", "acme"]).await.assert_refused(2, words);
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    #[cfg(unix)]
    for (answer, code) in [("n", 8), ("y", 0)] {
        let mut asked = user.start_on_terminal(&["server", "remove", "acme"]);
        asked.wait_for_screen("Remove the server `acme` and 1 decision about its skills?").await;
        asked.type_line(answer);
        assert_eq!(asked.wait().await, Some(code));
    }
    // Without decisions there is nothing to ask about.
    user.add_folder_server("beta", &skills).await;
    user.run_ok(&["server", "remove", "beta"]).await;
}

#[tokio::test]
async fn a_server_moves_and_every_decision_about_its_skills_stays_fu_08() {
    let (user, skills, elsewhere) = (TestUser::new(), refunds(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    drop(skills);
    // The same content from another place is what the user approved.
    let path = elsewhere.path().to_str().unwrap();
    let serve = ["--", BINARY, "serve", "--no-index", path];
    let set = user.run_ok(&[&["server", "set", "acme"][..], &serve].concat()).await;
    assert!(set.contains("1 skill. Your decision about a skill of it stays"), "{set}");
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    user.run_ok(&["load", "acme:refunds"]).await;
    // Other content asks.
    elsewhere.file("acme/refunds/new.md", "x");
    assert_eq!(user.state_of("acme:refunds").await, "changed");
    // A change that does not work is not made with `--must-connect`.
    let gone = ["server", "set", "acme", "--must-connect", "http://127.0.0.1:9/mcp"];
    user.run(&gone).await.assert_exit(7);
    assert_eq!(user.state_of("acme:refunds").await, "changed");
    let gone = user.run(&["server", "set", "acme", "http://127.0.0.1:9/mcp"]).await.assert_exit(0);
    assert!(gone.stderr.contains("`skillwire list --server acme` tries it again"), "{gone:?}");
}

#[tokio::test]
async fn only_what_is_named_changes_and_no_secret_is_printed_fu_08() {
    let user = TestUser::new();
    let set = async |arguments: &[&str]| {
        let ran = user.run(&[&["server", "set"][..], arguments, &["--no-connect"]].concat()).await;
        assert!(!(ran.stdout.clone() + &ran.stderr).contains("hush"), "{ran:?}");
        ran
    };
    let kept = |label: &str| {
        let stored = fs::read_to_string(user.state("servers.json")).unwrap();
        let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
        stored["mcpServers"][label].clone()
    };
    user.run_ok(&[
        "server",
        "add",
        "web",
        "https://a.example/mcp?key=hush1",
        "--header",
        "X-Key=hush2",
        "--header",
        "Authorization=hush3",
        "--no-connect",
    ])
    .await;
    let moved = set(&["web", "https://b.example/mcp"]).await.assert_exit(0);
    assert!(
        moved.stderr.contains("`b.example` now gets the 2 headers of `a.example`"),
        "{moved:?}"
    );
    assert_eq!(kept("web")["url"], "https://b.example/mcp");
    assert_eq!(kept("web")["headers"]["X-Key"], "hush2");
    user.home.file("work/token", "hush4\n");
    set(&["web", "--bearer-token-file", "token", "--remove-header", "x-key"]).await.assert_exit(0);
    assert_eq!(kept("web").get("headers"), None, "the token file replaces the header");
    assert!(kept("web")["bearerTokenFile"].as_str().unwrap().ends_with("/token"));
    set(&["web", "--no-bearer-token-file"]).await.assert_exit(0);
    assert_eq!(kept("web").get("bearerTokenFile"), None);
    user.run_ok(&["server", "add", "run", "--env", "A=hush5", "--no-connect", "--", "prog"]).await;
    set(&["run", "--env", "B=hush6", "--remove-env", "A"]).await.assert_exit(0);
    assert_eq!(kept("run")["env"], serde_json::json!({"B": "hush6"}));
    assert_eq!(kept("run")["command"], "prog");
    for (arguments, code, words) in [
        (&["web"][..], 2, "There is nothing to change."),
        (&["wbe", "https://c.example"], 5, "Did you mean `web`?"),
        (&["web", "--env", "A=hush7"], 2, "Only a program gets variables."),
        (&["run", "--header", "A=hush8"], 2, "A program gets no headers"),
        (&["web", "--remove-header", "None"], 2, "names nothing it has"),
        (&["web", "ftp://hush.example"], 2, "neither `http` nor `https`"),
        (&["web", "--header", "hush9"], 2, "needs `NAME=VALUE`"),
    ] {
        set(arguments).await.assert_refused(code, words);
    }
}

#[tokio::test]
async fn a_server_may_have_the_name_of_any_file_of_the_state_fu_11() {
    let (user, skills) = (TestUser::new(), refunds());
    let labels =
        ["lock", "approvals", "servers.json", "audit.jsonl", "files", "dialects", "logins"];
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    for label in labels {
        user.add_folder_server(label, &skills).await;
        let handle = format!("{label}:refunds");
        user.approve(&handle).await;
        user.run_ok(&["load", &handle]).await;
    }
    for label in labels {
        user.run_ok(&["server", "remove", label, "--yes"]).await;
        user.run_ok(&["load", "acme:refunds"]).await;
    }
    let listed = user.run_json(&["list", "--json"]).await;
    assert_eq!(listed["skills"].as_array().unwrap().len(), 1, "{listed}");
}
