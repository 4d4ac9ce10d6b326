//! Adding servers and reaching them: what the program finds, and what it says when it cannot.

use std::{fs, time::Duration};

use serde_json::json;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply, SkillFolder};
use tokio::time::timeout;

use super::user::{TestUser, refunds};
use crate::support::{BINARY, HttpServer, finish};

/// How long a command may take on a busy machine. A listing without end would take longer, which is
/// all that this time shows; the deadline itself is in what a command says.
const PATIENCE: Duration = Duration::from_secs(100);

fn hanging() -> HostileServer {
    HostileServer::new()
        .on("server/discover", |_, _| ScriptedReply::Never)
        .on("initialize", |_, _| ScriptedReply::Never)
}

#[tokio::test]
async fn a_program_is_started_in_the_folder_in_which_it_was_added_fu_02() {
    let (user, skills) = (TestUser::new(), refunds());
    // The review's own example: the argument is relative to where the user stands.
    let add = ["server", "add", "examples", "--", BINARY, "serve", "--no-index", "acme"];
    let mut command = user.command(&add);
    command.current_dir(skills.path());
    let added = finish(command).await.assert_exit(0);
    assert!(added.stdout.contains("Added the server `examples`: 1 skill."), "{added:?}");
    // From another folder.
    let listed = user.run_ok(&["list"]).await;
    assert!(listed.contains("examples:refunds"), "{listed}");
    let stored = fs::read_to_string(user.state("servers.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let folder = skills.path().canonicalize().unwrap();
    assert_eq!(stored["mcpServers"]["examples"]["cwd"], json!(folder));
    // A configuration of an earlier version has no folder, and is used as before.
    let path = skills.path().to_str().unwrap();
    let old = json!({ "mcpServers": {
        "old": { "command": BINARY, "args": ["serve", "--no-index", path] },
    } });
    fs::write(user.state("servers.json"), old.to_string()).unwrap();
    let listed = user.run_ok(&["list", "--server", "old"]).await;
    assert!(listed.contains("old:refunds"), "{listed}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_dies_is_quoted_with_its_last_words_fu_02() {
    let user = TestUser::new();
    let script = "printf 'config.toml not found \\033[31mKEY=hush-hush\\n' >&2; exit 1";
    let add = ["server", "add", "acme", "--env", "KEY=hush-hush", "--", "sh", "-c", script];
    let added = user.run(&add).await.assert_exit(0);
    for ran in [added, user.run(&["list", "--server", "acme"]).await] {
        assert!(ran.stderr.contains("error[server_unreachable]"), "{ran:?}");
        assert!(ran.stderr.contains("server: config.toml not found"), "{ran:?}");
        assert!(ran.stderr.contains("KEY=***"), "{ran:?}");
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains("hush"), "{ran:?}");
    }
}

#[tokio::test]
async fn adding_a_server_says_what_it_found_fu_09() {
    let user = TestUser::new();
    let tokens = "team right-token-12345\n";
    user.home.file("tokens", tokens);
    let skills = SkillFolder::with_skills(&["a", "b", "c"]);
    let tokens = user.home.join("tokens");
    let serve = [".", "--token-file", tokens.to_str().unwrap()];
    let server = HttpServer::serve(&skills, &serve).await;
    let url = format!("http://{}/mcp", server.address);
    for (label, options, code, words) in [
        (
            "good",
            &["--header", "Authorization=Bearer right-token-12345"][..],
            0,
            "3 skills, token accepted.",
        ),
        (
            "wrong",
            &["--header", "Authorization=Bearer other-token-12345"],
            0,
            "error[token_refused]",
        ),
        ("none", &[], 0, "error[login_required]"),
        ("strict", &["--must-connect"], 7, "error[login_required]"),
        ("later", &["--no-connect"], 0, "did not connect to it"),
    ] {
        let add = [&["server", "add", label, &url][..], options].concat();
        let added = user.run(&add).await.assert_exit(code);
        let told = added.stdout.clone() + &added.stderr;
        assert!(told.contains(words), "{label}: {added:?}");
        assert!(!told.contains("token-123"), "{label}: {added:?}");
        // A server that was told apart from others by its failure is kept, unless told otherwise.
        let listed = user.run_ok(&["server", "list"]).await;
        assert_eq!(listed.contains(label), label != "strict", "{listed}");
        if label == "none" {
            assert!(told.contains("skillwire server login none"), "{told}");
            assert!(told.contains("--bearer-token-file"), "{told}");
        }
    }
}

#[tokio::test]
async fn imported_variables_are_filled_in_at_each_connection_fu_25() {
    let user = TestUser::new();
    let uri = "skill://a/SKILL.md".to_owned();
    let token = "from-the-environment".to_owned();
    let server =
        HostileServer::new().skill("a", [("x.md", "x")]).fault(Fault::OnlyFor { uri, token });
    let listening = server.http().await;
    let config = json!({ "mcpServers": { "acme": {
        "type": "http", "url": listening.url(),
        "headers": { "Authorization": "Bearer ${ACME_TOKEN}" },
    } } });
    user.home.file("work/mcp.json", config.to_string());
    let imported = user.run(&["server", "import", "mcp.json"]).await.assert_exit(0);
    assert_eq!(imported.stderr, "");
    user.run(&["list", "--server", "acme"]).await.assert_refused(7, "error[variable_unset]");
    let ran = user.run(&["list", "--server", "acme"]).await;
    assert!(ran.stderr.contains("the variable `ACME_TOKEN` is not set"), "{ran:?}");
    let mut command = user.command(&["show", "acme:a"]);
    command.env("ACME_TOKEN", "from-the-environment");
    let shown = finish(command).await.assert_exit(0);
    assert_eq!(shown.stderr, "", "nothing is warned about for ever");
    let stored = fs::read_to_string(user.state("servers.json")).unwrap();
    assert!(stored.contains("${ACME_TOKEN}") && !stored.contains("from-the-environment"));
}

#[tokio::test]
async fn a_hanging_and_an_endless_server_cost_the_others_one_short_deadline_fu_15_sec_10() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("quick", &skills).await;
    let (hanging, endless) = (hanging(), HostileServer::new().fault(Fault::EndlessPages));
    let (hangs, pages) = (hanging.http().await, endless.http().await);
    user.add_http_server("hangs", &hangs).await;
    user.add_http_server("pages", &pages).await;
    user.approve("quick:refunds").await;
    for arguments in [&["list"][..], &["prompt"], &["load", "refunds"], &["show", "refunds"]] {
        let ran = timeout(PATIENCE, user.run(arguments)).await;
        let ran = ran.unwrap_or_else(|_| panic!("{arguments:?} waits too long")).assert_exit(0);
        assert!(ran.stdout.contains("refunds"), "{arguments:?}: {ran:?}");
        if arguments == ["list"] {
            assert!(ran.stderr.contains("error[server_timeout]"), "{ran:?}");
            assert!(ran.stderr.contains("a listing within 10s"), "{ran:?}");
            assert!(ran.stderr.contains("skillwire list --server hangs"), "{ran:?}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn on_a_terminal_the_other_servers_are_shown_before_a_slow_one_is_waited_for_fu_15() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("quick", &skills).await;
    let hanging = hanging();
    let hangs = hanging.http().await;
    user.add_http_server("hangs", &hangs).await;
    let mut list = user.start_whole_on_terminal(&["list"]);
    let screen = list.wait_for_screen("Waiting for `hangs`").await;
    assert!(screen.contains("quick:refunds"), "{screen}");
    let screen = list.wait_for_screen("error[server_timeout]").await;
    assert!(!screen.contains("quick:refunds"), "shown once: {screen}");
    assert_eq!(list.wait().await, Some(0));
}

#[tokio::test]
async fn a_skill_of_a_server_that_is_down_is_offered_from_the_cache_fu_16() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("refunds", [("x.md", "x")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    drop(listening);
    for handle in ["acme:refunds", "refunds", "acme:skill://refunds/SKILL.md"] {
        let ran = user.run(&["load", handle]).await.assert_exit(7);
        assert!(ran.stderr.contains("error[server_unreachable]"), "{handle}: {ran:?}");
        assert!(ran.stderr.contains(" --offline`"), "{handle}: {ran:?}");
    }
    user.run_ok(&["load", "acme:refunds", "--offline"]).await;
    // A skill that the user never approved may be there: the server did not answer.
    let ran = user.run(&["load", "deploy"]).await.assert_exit(7);
    assert!(ran.stderr.contains("error[server_unreachable]"), "{ran:?}");
    assert!(!ran.stderr.contains("There is no such skill"), "{ran:?}");
    assert!(!ran.stderr.contains("--offline"), "{ran:?}");
}

mod certificates {
    use std::{io::Read as _, net::TcpListener, path::PathBuf, sync::Arc};

    use rustls::{
        ServerConfig, ServerConnection, StreamOwned,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    };

    use super::*;

    fn testdata(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tls").join(name)
    }

    /// Accepts TLS connections with a certificate, and answers nothing.
    fn serve(certificate: &str) -> String {
        let certificate = CertificateDer::from(fs::read(testdata(certificate)).unwrap());
        let key = PrivatePkcs8KeyDer::from(fs::read(testdata("server-key.der")).unwrap());
        let config = ServerConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::from(key))
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/mcp", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().take(16) {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                // The handshake happens here; the connection then ends without an answer.
                let _ = stream.read(&mut [0; 16]);
            }
        });
        url
    }

    #[tokio::test]
    async fn a_certificate_that_is_not_trusted_is_explained_fu_22() {
        let user = TestUser::new();
        let authority = testdata("authority.pem");
        for (certificate, trusted, code, words) in [
            (
                "server.der",
                false,
                "certificate_untrusted",
                "does not know, or by the server itself",
            ),
            ("server.der", true, "server_unreachable", "connection"),
            ("expired.der", true, "certificate_untrusted", "it has expired"),
            ("other.der", true, "certificate_untrusted", "the URL names `127.0.0.1`"),
        ] {
            let label = format!("{}-{trusted}", certificate.trim_end_matches(".der"));
            let mut command = user.command(&["server", "add", &label, &serve(certificate)]);
            command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
            if trusted {
                command.env("SSL_CERT_FILE", &authority);
            }
            let added = finish(command).await.assert_exit(0);
            assert!(added.stderr.contains(&format!("error[{code}]")), "{label}: {added:?}");
            assert!(added.stderr.contains(words), "{label}: {added:?}");
            let names_variable = added.stderr.contains("`SSL_CERT_FILE`");
            assert_eq!(names_variable, code == "certificate_untrusted", "{added:?}");
            assert!(!added.stderr.contains("Start or install it"), "{label}: {added:?}");
        }
    }
}

#[tokio::test]
async fn a_label_where_a_handle_belongs_is_explained_fu_26() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    for command in ["show", "approve", "load"] {
        for typed in ["acme", "acme:"] {
            let ran = user.run(&[command, typed]).await;
            let words = "`acme` is a server. `skillwire list --server acme` shows its skills";
            ran.assert_refused(5, words);
        }
    }
    let show = user.run(&["show", "acme:refunds", "policy.md"]).await;
    show.assert_refused(3, "Did you mean `references/policy.md`?");
    // And a label says where to list from, with or without the option.
    let by_word = user.run_ok(&["list", "acme"]).await;
    assert!(by_word.contains("acme:refunds"), "{by_word}");
    assert_eq!(by_word, user.run_ok(&["list", "--server", "acme"]).await);
    user.run(&["list", "acme", "--server", "acme"]).await.assert_exit(2);
}

#[tokio::test]
async fn a_place_that_is_typed_as_an_option_is_explained_fu_26() {
    let user = TestUser::new();
    let ran = user.run(&["server", "set", "acme", "--url", "http://127.0.0.1:1/"]).await;
    let ran = ran.assert_exit(2);
    assert!(ran.stderr.contains("tip: write the URL without `--url`"), "{}", ran.stderr);
    // What follows `--` would be the program of the server.
    let ran = user.run(&["server", "set", "acme", "--bogus", "x"]).await.assert_exit(2);
    assert!(!ran.stderr.contains("-- --bogus"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_refused_connection_is_told_in_the_systems_words_fu_26() {
    let user = TestUser::new();
    // Nothing listens at a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let added = user.run(&["server", "add", "gone", &format!("http://{free}/mcp")]).await;
    let added = added.assert_exit(0);
    assert!(added.stderr.contains("actual: tcp connect error: "), "{added:?}");
}
