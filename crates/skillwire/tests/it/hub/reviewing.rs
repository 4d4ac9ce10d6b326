//! Upstreams and reviews from the command line and the configuration file.

use serde_json::{Value, json};
use skillwire_core::{RelPath, SkillUri};
use skillwire_hub_store::{HubStore, NewOffer, UploadedFile};

use super::{TestHub, limits::numbers};

const ADD: [&str; 7] =
    ["hub", "upstream", "add", "docs", "https://docs.example/mcp", "--mode", "pin"];

/// Lets the upstream `docs` offer a content, as following it would.
async fn offer(hub: &TestHub, description: &str) {
    let store = HubStore::open(hub.store()).await.unwrap();
    let text = format!("---\nname: pdf\ndescription: {description}\n---\nRead it.\n");
    let file = UploadedFile { path: RelPath::skill_file(), bytes: text.into(), claimed: None };
    let uri = SkillUri::parse("skill://guides/pdf/SKILL.md").unwrap();
    let new = NewOffer::new(uri, vec![file], "{}".to_owned());
    store.keep_offers(&"docs".parse().unwrap(), vec![new]).await.unwrap();
    store.close().await;
}

async fn waiting(hub: &TestHub) -> Value {
    hub.run(&["hub", "review", "--json"]).await.assert_exit(0).json()
}

#[tokio::test]
async fn a_reviewer_sees_what_waits_and_decides_about_exactly_that() {
    let hub = TestHub::start().await;
    hub.run(&ADD).await.assert_exit(0);
    offer(&hub, "Reads.").await;
    let listed = waiting(&hub).await;
    let id = listed[0]["id"].to_string();
    let seen = listed[0]["content"].as_str().unwrap().to_owned();
    let shown = hub.run(&["hub", "review", "show", &id]).await.assert_exit(0);
    assert!(shown.stdout.contains("+ description: \"Reads.\""), "{}", shown.stdout);
    let approve = |id: &str| {
        ["hub", "review", "approve", id, "--reason", "read it"].map(str::to_owned).to_vec()
    };
    let run = async |mut arguments: Vec<String>, more: &[&str]| {
        arguments.extend(more.iter().map(|text| (*text).to_owned()));
        hub.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    run(approve(&id), &["--dry-run"]).await.assert_exit(0);
    assert_eq!(waiting(&hub).await.as_array().unwrap().len(), 1, "nothing was decided");
    offer(&hub, "Reads and sends.").await;
    let moved = run(approve(&id), &["--content", &seen]).await;
    assert!(moved.stderr.contains("has it."), "{}", moved.stderr);
    moved.assert_refused(8, "the content is sha256:");
    let now = waiting(&hub).await[0]["id"].to_string();
    run(approve(&now), &["--until", "2999-01-01T00:00:00Z"]).await.assert_exit(0);
    assert_eq!(waiting(&hub).await, json!([]));
    let approved = ["hub", "review", "--state", "approved", "--upstream", "docs", "--json"];
    assert_eq!(hub.run(&approved).await.json()[0]["state"], "approved");
}

#[tokio::test]
async fn leaving_pin_is_an_explicit_act_on_the_command_line() {
    let hub = TestHub::start().await;
    hub.run(&ADD).await.assert_exit(0);
    let open = ["hub", "upstream", "set", "docs", "--mode", "observe"];
    let refused = hub.run(&open).await;
    assert!(refused.stderr.contains("--leave-pin"), "{}", refused.stderr);
    let remove = ["hub", "upstream", "remove", "docs"];
    assert_ne!(hub.run(&remove).await.code, Some(0));
    let listed = hub.run(&["hub", "upstream", "list", "--json"]).await.json();
    assert_eq!(listed[0]["mode"], "pin");
    hub.run(&[&remove[..], &["--leave-pin"]].concat()).await.assert_exit(0);
    // A program is for the machine of the hub.
    let program = ["hub", "upstream", "add", "here", "--mode", "admit", "--", "true"];
    assert_ne!(hub.run(&program).await.code, Some(0));
    let local = ["hub", "upstream", "add", "here", "--mode", "admit", "--hub", "hub", "--", "true"];
    hub.run(&local).await.assert_exit(0);
}

/// How often the configuration was read again with this outcome.
async fn reloads(hub: &TestHub, outcome: &str) -> u64 {
    let name = format!(r#"skillwire_reloads_total{{what="configuration",outcome="{outcome}"}} "#);
    let text = numbers(hub).await;
    let count = text.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok());
    count.unwrap_or_default()
}

/// Replaces the configuration, and waits until it was read with this outcome.
async fn reconfigure(hub: &TestHub, text: &str, outcome: &str) {
    let before = reloads(hub, outcome).await;
    std::fs::write(hub.folder.join("hub/hub.toml"), text).unwrap();
    let start = std::time::Instant::now();
    while reloads(hub, outcome).await <= before {
        assert!(start.elapsed().as_secs() < 20, "the file was never read: {outcome}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_upstream_that_names_a_variable_of_the_hub_is_not_followed_gw_19() {
    let hub = TestHub::configured(|text| format!("upstream-variables = [\"HOME\"]\n{text}")).await;
    let failure = async |variable: &str| {
        let header = format!("X-Note: ${{{variable}}}");
        let url = "http://127.0.0.1:9/mcp";
        let add = ["hub", "upstream", "add", "docs", url, "--mode", "pin", "--header", &header];
        hub.run(&[&add[..], &["--tool", "read_*"]].concat()).await.assert_exit(0);
        let listed = hub.run(&["hub", "upstream", "list", "--json"]).await.json();
        assert_eq!(listed[0]["tools"], json!(["read_*"]));
        hub.run(&["hub", "upstream", "remove", "docs", "--leave-pin"]).await.assert_exit(0);
        listed[0]["status"]["failure"].as_str().unwrap_or_default().to_owned()
    };
    let refused = failure("PATH").await;
    assert!(refused.contains("the variable `PATH` is not for upstreams"), "{refused}");
    let named = failure("HOME").await;
    assert!(!named.contains("not for upstreams"), "{named}");
}

/// Waits until the only content that waits is another one than before, and returns its review.
async fn next_review(hub: &TestHub, before: &Value) -> Value {
    let start = std::time::Instant::now();
    loop {
        let now = waiting(hub).await;
        if now[0]["content"].is_string() && now[0]["content"] != *before {
            return now[0].clone();
        }
        assert!(start.elapsed().as_secs() < 20, "nothing new waits: {now}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[cfg(feature = "sign")]
#[tokio::test]
async fn signers_count_without_a_restart_and_content_of_another_key_waits_while_hosts_go_on() {
    let hub = TestHub::start().await;
    for key in ["team.pem", "stranger.pem"] {
        hub.run(&["key", "new", "--out", key]).await.assert_exit(0);
    }
    let made = hub.run(&["hub", "key", "new", "hub", "--json"]).await.assert_exit(0).json();
    let text = std::fs::read_to_string(hub.folder.join("hub/hub.toml")).unwrap();
    let signed_by = |key: &str| format!("{text}\n[signers.team]\nkey = \"{key}\"\n");
    // A signer that cannot be used changes nothing, and the file of a key is looked at as well.
    reconfigure(&hub, &signed_by("../absent.pub"), "failed").await;
    let before = reloads(&hub, "ok").await;
    std::fs::copy(hub.folder.join("team.pub"), hub.folder.join("absent.pub")).unwrap();
    let start = std::time::Instant::now();
    while reloads(&hub, "ok").await <= before {
        assert!(start.elapsed().as_secs() < 20, "the key was never read");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let skill = "offered/guides/pdf";
    let write = async |words: &str, key: &str| {
        let text = crate::support::skill_with("pdf", "") + words;
        hub.folder.file(&format!("{skill}/SKILL.md"), text);
        hub.run(&["sign", skill, "--key", key, "--force"]).await.assert_exit(0);
    };
    write("First.\n", "team.pem").await;
    let add = ["hub", "upstream", "add", "docs", "--folder", "offered", "--mode", "pin"];
    hub.run(&[&add[..], &["--rule", "same-signer", "--hub", "hub"]].concat()).await.assert_exit(0);
    let first = next_review(&hub, &Value::Null).await;
    let id = first["id"].to_string();
    let shown = hub.run(&["hub", "review", "show", &id]).await.assert_exit(0).stdout;
    assert!(shown.contains("team"), "{shown}");
    hub.run(&["hub", "review", "approve", &id, "--reason", "read it"]).await.assert_exit(0);
    // A user whose host trusts the hub is not asked.
    let user = crate::host::user::TestUser::new();
    let url = format!("{}/mcp/u/docs", hub.url());
    let (token, public) =
        (hub.folder.join("token"), hub.folder.join(made["public"].as_str().unwrap()));
    let add = ["server", "add", "docs", &url, "--bearer-token-file", token.to_str().unwrap()];
    user.run_ok(&[&add[..], &["--trust-key", public.to_str().unwrap()]].concat()).await;
    let loads = async |words: &str| {
        let start = std::time::Instant::now();
        loop {
            let ran = user.run(&["load", "docs:pdf"]).await;
            if ran.stdout.contains(words) {
                return;
            }
            assert!(start.elapsed().as_secs() < 30, "{words}: {} {}", ran.stdout, ran.stderr);
        }
    };
    loads("First.").await;
    // The same signer again: the rule approves it, and a folder is looked at within seconds.
    write("Second.\n", "team.pem").await;
    loads("Second.").await;
    assert_eq!(waiting(&hub).await, json!([]));
    // Another key signs other content: it waits, and hosts go on with what was approved.
    write("Third.\n", "stranger.pem").await;
    let third = next_review(&hub, &first["content"]).await;
    let shown = hub.run(&["hub", "review", "show", &third["id"].to_string()]).await.assert_exit(0);
    assert!(shown.stdout.contains("- team"), "{}", shown.stdout);
    loads("Second.").await;
    // A signer that is taken out of the file vouches for nothing from then on.
    reconfigure(&hub, &text, "ok").await;
    write("Fourth.\n", "team.pem").await;
    let fourth = next_review(&hub, &third["content"]).await;
    assert_ne!(fourth["content"], third["content"]);
    loads("Second.").await;
}

#[tokio::test]
async fn the_configuration_adds_changes_and_removes_upstreams_and_never_leaves_pin() {
    const DOCS: &str = "[[upstreams]]\nlabel = \"docs\"\nmode = \"admit\"\n\
        source = { kind = \"mcp\", url = \"https://docs.example/mcp\", \
        headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" } }\n";
    let hub = TestHub::configured(|text| format!("{text}\n{DOCS}")).await;
    let file = hub.folder.join("hub/hub.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let mode = async || {
        let listed = hub.run(&["hub", "upstream", "list", "--json"]).await.json();
        listed[0]["mode"].as_str().map(str::to_owned)
    };
    let becomes = async |wanted: Option<&str>| {
        let start = std::time::Instant::now();
        while mode().await.as_deref() != wanted {
            assert!(start.elapsed().as_secs() < 20, "it never becomes {wanted:?}");
        }
    };
    assert_eq!(mode().await.as_deref(), Some("admit"));
    // A broken file changes nothing.
    reconfigure(&hub, &text.replace("\"admit\"", "\"hide\""), "failed").await;
    assert_eq!(mode().await.as_deref(), Some("admit"));
    reconfigure(&hub, &text.replace("\"admit\"", "\"pin\""), "ok").await;
    assert_eq!(mode().await.as_deref(), Some("pin"));
    // A pinned upstream that the file does not describe any more stays pinned.
    reconfigure(&hub, &text.replace(DOCS, "# gone\n"), "ok").await;
    assert_eq!(mode().await.as_deref(), Some("pin"));
    let meant = ["hub", "upstream", "set", "docs", "--mode", "observe", "--leave-pin"];
    hub.run(&meant).await.assert_exit(0);
    std::fs::write(&file, text.replace(DOCS, "# gone now\n")).unwrap();
    becomes(None).await;
}
