//! Publishing, versions, channels and states, by the commands of the program.

use super::TestHub;
use crate::support::{run, skill_with};

#[tokio::test]
async fn a_published_skill_is_listed_and_loaded_by_our_host() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/rates.txt", "one\n");
    // Installed packages are no part of a skill: two files are published.
    hub.folder.file("refunds/node_modules/left-pad/index.js", "0\n");
    let published = hub.publish("refunds").await;
    assert_eq!(published["version"]["version"], "1.0.0");
    assert_eq!(published["created"], true);
    let mcp = format!("{}/mcp", hub.url());
    hub.run(&["server", "add", "hub", &mcp, "--bearer-token-file", "token"]).await.assert_exit(0);
    hub.run(&["approve", "hub:refunds", "--yes"]).await.assert_exit(0);
    let loaded = hub.run(&["load", "hub:refunds"]).await.assert_exit(0);
    assert!(loaded.stdout.contains("rates.txt"), "{}", loaded.stdout);
    let verified = hub.run(&["verify", "hub"]).await.assert_exit(0);
    assert!(verified.stdout.contains("2 files as promised: 0 errors"), "{}", verified.stdout);
}

#[tokio::test]
async fn the_same_bytes_again_succeed_and_change_nothing() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    let first = hub.publish("refunds").await;
    let again = hub.publish("refunds").await;
    assert_eq!((&again["created"], &again["existing"]), (&false.into(), &true.into()));
    assert_eq!(again["version"]["version"], first["version"]["version"]);
    assert_eq!(again["version"]["content"], first["version"]["content"]);
    let versions = hub.run(&["hub", "versions", "acme/refunds", "--json"]).await.json();
    assert_eq!(versions.as_array().unwrap().len(), 1);
    // A hub that was made is not made again.
    let again = hub.run(&["hub", "init", "hub", "--json"]).await.assert_exit(0).json();
    assert_eq!((&again["created"], &again["token"]), (&false.into(), &serde_json::Value::Null));
}

#[tokio::test]
async fn a_dry_run_shows_the_difference_and_publishes_nothing() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds").file("refunds/a.txt", "one\n");
    hub.publish("refunds").await;
    hub.folder.file("refunds/a.txt", "two\n");
    let arguments = ["publish", "refunds", "--namespace", "acme", "--dry-run"];
    let planned = hub.run(&arguments).await.assert_exit(0);
    assert!(planned.stdout.contains("acme/refunds@1.0.1 would be published"), "{planned:?}");
    assert!(planned.stderr.contains("-one\n+two\n"), "{planned:?}");
    let versions = hub.run(&["hub", "versions", "acme/refunds", "--json"]).await.json();
    assert_eq!(versions.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_terminal_nothing_is_published_unless_the_command_says_yes() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/refunds");
    let publish = ["publish", "vendor/refunds", "--namespace", "acme"];
    let import = ["hub", "import", "vendor", "--namespace", "acme"];
    for arguments in [&publish[..], &import] {
        for more in [&[][..], &["--json"]] {
            hub.run(&[arguments, more].concat()).await.assert_refused(2, "was not confirmed");
        }
    }
    let listed = hub.run(&["hub", "list", "--json"]).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 0, "{listed}");
}

#[cfg(feature = "sign")]
#[tokio::test]
async fn nothing_is_published_into_a_folder_while_its_signers_cannot_be_read() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/refunds");
    let file = hub.folder.join("hub/hub.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "\n[signers.team]\nkey = \"../absent.pub\"\n").unwrap();
    let publish = ["publish", "vendor/refunds", "--namespace", "acme", "--yes", "--hub", "hub"];
    let refused = hub.run(&publish).await.assert_exit(2);
    assert!(
        refused.stderr.contains("The signer `team` in `hub.toml` cannot be used"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("`[signers]` of `hub/hub.toml`"), "{refused:?}");
    let import = ["hub", "import", "vendor", "--namespace", "acme", "--yes", "--hub", "hub"];
    let refused = hub.run(&import).await.assert_exit(8);
    assert!(
        refused.stderr.contains("The signer `team` in `hub.toml` cannot be used"),
        "{refused:?}"
    );
    // Commands that publish nothing work all the same.
    let listed = hub.run(&["hub", "list", "--json", "--hub", "hub"]).await.assert_exit(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 0, "{listed}");
}

#[tokio::test]
async fn each_refusal_of_a_hub_names_the_command_that_helps() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub.folder.file("refunds/a.txt", "one\n");
    let versions = "`skillwire hub versions acme/refunds`";
    let publish = ["publish", "refunds", "--namespace", "acme"];
    hub.run(&publish).await.assert_refused(2, "`--dry-run`");
    let taken = [&publish[..], &["--version", "1.0.0", "--yes"]].concat();
    let promote = "`skillwire hub promote acme/refunds VERSION CHANNEL`";
    let revoke = ["hub", "revoke", "acme/refunds@1.0.0", "--reason", "ours"];
    let reinstate = ["hub", "reinstate", "acme/refunds@1.0.0", "--reason", "ours"];
    for (arguments, code, hint) in [
        (&taken[..], 8, versions),
        (&["hub", "namespace", "new", "acme"], 8, "`skillwire hub namespace change`"),
        (&["hub", "diff", "acme/refunds", "1.0.0", "9.9.9"], 5, versions),
        (&["hub", "versions", "acme/other"], 5, "`skillwire hub list`"),
        (&["hub", "rollback", "acme/refunds", "nochan"], 5, versions),
        (&["hub", "rollback", "acme/refunds", "latest"], 8, promote),
        (&["hub", "token", "revoke", "99"], 5, "`skillwire hub token list`"),
        (&["hub", "review", "show", "99"], 5, "`skillwire hub review`"),
        (&["hub", "upstream", "remove", "nowhere"], 5, "`skillwire hub upstream list`"),
        (&["hub", "namespace", "distrust", "acme", "99"], 5, "`skillwire hub namespace publishers"),
    ] {
        let ran = hub.run(arguments).await;
        assert!(!ran.stderr.contains("`skillwire list`"), "{arguments:?} {ran:?}");
        assert!(!ran.stderr.contains("setting that declines"), "{arguments:?} {ran:?}");
        ran.assert_refused(code, hint);
    }
    hub.run(&revoke).await.assert_exit(0);
    hub.run(&reinstate).await.assert_refused(8, versions);
}

#[tokio::test]
async fn versions_come_from_the_command_the_metadata_or_the_next_patch() {
    let hub = TestHub::start().await;
    let version = async |arguments: &[&str]| {
        let all = ["publish", "refunds", "--namespace", "acme", "--yes", "--json"];
        let ran = hub.run(&[&all[..], arguments].concat()).await;
        ran.code.filter(|code| *code == 0).map(|_| ran.json()["version"]["version"].clone())
    };
    hub.folder.file("refunds/SKILL.md", skill_with("refunds", "metadata:\n  version: \"2.1\"\n"));
    assert_eq!(version(&["--version", "2.2.0"]).await, None);
    assert_eq!(version(&[]).await, Some("2.1.0".into()));
    hub.folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    assert_eq!(version(&[]).await, Some("2.1.1".into()));
    hub.folder.file("refunds/a", "a");
    assert_eq!(version(&["--version", "3.0.0"]).await, Some("3.0.0".into()));
    hub.folder.file("refunds/a", "b");
    // A version that exists with other bytes.
    let taken = ["publish", "refunds", "--namespace", "acme", "--yes", "--version", "3.0.0"];
    hub.run(&taken).await.assert_refused(8, "versions never change");
    let diff = hub.run(&["hub", "diff", "acme/refunds", "2.1.1", "3.0.0", "--json"]).await.json();
    assert_eq!(
        (&diff["files"][0]["path"], &diff["files"][0]["change"]),
        (&"a".into(), &"added".into())
    );
}

#[tokio::test]
async fn channels_move_and_roll_back_and_skip_what_was_withdrawn() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    for text in ["one", "two", "three"] {
        hub.folder.file("refunds/a", text);
        hub.publish("refunds").await;
    }
    let moves = async |arguments: &[&str]| {
        let ran = hub.run(&[arguments, &["--json"]].concat()).await.assert_exit(0);
        ran.json()["to"].as_str().unwrap().to_owned()
    };
    for version in ["1.0.0", "1.0.1", "1.0.2"] {
        moves(&["hub", "promote", "acme/refunds", version, "stable"]).await;
    }
    hub.run(&["hub", "yank", "acme/refunds@1.0.1", "--reason", "wrong"]).await.assert_exit(0);
    assert_eq!(moves(&["hub", "rollback", "acme/refunds", "stable", "--dry-run"]).await, "1.0.0");
    assert_eq!(hub.uris("/mcp/c/stable", &hub.token).await, ["skill://acme/refunds/SKILL.md"]);
    assert_eq!(moves(&["hub", "rollback", "acme/refunds", "stable"]).await, "1.0.0");
    let reply = hub.read("/mcp/c/stable", &hub.token, "skill://acme/refunds/a").await;
    assert_eq!(reply["result"]["contents"][0]["text"], "one");
    let reply = hub.read("/mcp", &hub.token, "skill://acme/refunds/a").await;
    assert_eq!(reply["result"]["contents"][0]["text"], "three");
    hub.run(&["hub", "rollback", "acme/refunds", "stable"])
        .await
        .assert_refused(8, "no earlier version");
    let refused = hub.run(&["hub", "promote", "acme/refunds", "1.0.1", "stable"]).await;
    refused.assert_refused(8, "yanked");
}

#[tokio::test]
async fn a_folder_hub_takes_the_same_commands_as_a_remote_one() {
    let hub = TestHub::start().await;
    hub.folder.skill("refunds");
    let local = ["publish", "refunds", "--namespace", "acme", "--yes", "--hub", "hub"];
    hub.run(&local).await.assert_exit(0);
    for place in [&["--hub", "hub"][..], &[]] {
        let listed = hub.run(&[&["hub", "list", "--json"], place].concat()).await.assert_exit(0);
        assert_eq!(listed.json()[0]["skill"], "acme/refunds");
        let audit = hub.run(&[&["hub", "audit", "--json"], place].concat()).await.assert_exit(0);
        assert_eq!(audit.json()[1]["action"], "publish");
    }
    let nowhere = hub.run(&["hub", "list", "--hub", "nothing"]).await;
    nowhere.assert_refused(2, "skillwire hub init nothing");
}

#[tokio::test]
async fn every_skill_of_a_folder_or_a_repository_is_imported() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/one").skill("vendor/two");
    let import = async |from: &str| {
        let arguments = ["hub", "import", from, "--namespace", "acme", "--yes", "--json"];
        hub.run(&arguments).await
    };
    let imported = import("vendor").await.assert_exit(0).json();
    assert_eq!(imported.as_array().unwrap().len(), 2);
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        assert!(git.current_dir(hub.folder.join("repository")).status().unwrap().success());
    };
    hub.folder.skill("repository/skills/three");
    git(&["init", "--quiet", "."]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=x"]);
    let url = format!("file://{}", hub.folder.join("repository").display());
    let imported = import(&url).await.assert_exit(0).json();
    assert_eq!(imported[0]["version"]["skill"], "acme/three");
    let audit = hub.run(&["hub", "audit", "--json"]).await.json();
    let details = audit.as_array().unwrap().iter().find(|it| it["action"] == "publish").unwrap();
    let details: serde_json::Value =
        serde_json::from_str(details["details"].as_str().unwrap()).unwrap();
    assert_eq!(details["provenance"]["source"], url.as_str());
    assert_eq!(details["provenance"]["revision"].as_str().unwrap().len(), 40);
    let again = import("vendor").await.assert_exit(0).json();
    assert_eq!(again[0]["existing"], true);
}

#[tokio::test]
async fn a_skill_that_cannot_be_used_does_not_keep_others_from_being_imported() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/one").file("vendor/broken/SKILL.md", "no frontmatter\n");
    let import = ["hub", "import", "vendor", "--namespace", "acme", "--yes"];
    let ran = hub.run(&import).await.assert_exit(8);
    assert!(ran.stdout.contains("acme/one@1.0.0 published."), "{ran:?}");
    assert!(ran.stderr.contains("vendor/broken: error: "), "{ran:?}");
    let folder = hub.folder.join("vendor");
    for arguments in [&["init", "--quiet", "."][..], &["add", "--all"], &["commit", "-qm", "x"]] {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        assert!(git.current_dir(&folder).status().unwrap().success());
    }
    let url = format!("file://{}", folder.display());
    let import = ["hub", "import", &url, "--namespace", "acme", "--yes", "--json"];
    let imported = hub.run(&import).await.assert_exit(8).json();
    assert_eq!(imported[0]["skill"], "broken", "{imported}");
    assert_eq!(imported[1]["existing"], true, "{imported}");
}

#[tokio::test]
async fn a_skill_with_findings_is_not_published() {
    let hub = TestHub::start().await;
    hub.folder.file("broken/SKILL.md", "no frontmatter\n");
    let arguments = ["publish", "broken", "--namespace", "acme", "--yes"];
    hub.run(&arguments).await.assert_refused(1, "skillwire check broken");
    hub.folder.skill("refunds");
    let arguments = ["publish", "refunds", "--namespace", "other", "--yes"];
    let ran = hub.run(&arguments).await.assert_exit(5);
    assert!(ran.stderr.contains("There is no namespace `other`."), "{ran:?}");
    assert!(ran.stderr.contains("`skillwire hub namespace new other` makes"), "{ran:?}");
    let nobody = run(&hub.folder, &["login", &hub.url(), "--forget"]).await;
    nobody.assert_exit(0);
    let arguments = ["publish", "refunds", "--namespace", "acme", "--yes"];
    hub.run(&arguments).await.assert_refused(2, "skillwire login");
}

#[cfg(feature = "scan")]
#[tokio::test]
async fn a_skill_that_the_scanner_warns_of_is_published_only_when_told_so() {
    let hub = TestHub::start().await;
    hub.folder.file("notes/SKILL.md", crate::scan::LURE);
    let arguments = ["publish", "notes", "--namespace", "acme", "--yes"];
    let refused = hub.run(&arguments).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("[remote-code/decode-to-shell]"), "{refused:?}");
    assert!(refused.stderr.contains("so nothing was published"), "{refused:?}");
    assert!(refused.stderr.contains("--despite-findings"), "{refused:?}");
    let versions = hub.run(&["hub", "versions", "acme/notes", "--json"]).await;
    assert_eq!(versions.code, Some(5), "{versions:?}");

    let told = [&arguments[..], &["--despite-findings", "--json"]].concat();
    let published = hub.run(&told).await.assert_exit(0).json();
    assert_eq!(published["created"], true, "{published}");
    let rules: Vec<_> =
        published["findings"].as_array().unwrap().iter().map(|it| &it["rule"]).collect();
    assert!(rules.contains(&&"remote-code/decode-to-shell".into()), "{published}");
}

#[cfg(feature = "scan")]
#[tokio::test]
async fn a_silence_with_a_reason_lets_a_skill_be_published() {
    let hub = TestHub::start().await;
    hub.folder.file("skills/notes/SKILL.md", crate::scan::LURE);
    let mut silences = String::new();
    let scanned = hub.run(&["scan", "--json", "skills/notes"]).await.json();
    for finding in scanned["skills"][0]["findings"].as_array().unwrap() {
        let rule = finding["rule"].as_str().unwrap();
        let entry = ["scan", "skills", "--silence", rule, "--reason", "Our test data."];
        silences += &hub.run(&entry).await.assert_exit(0).stdout;
    }
    hub.folder.file("skills/skillwire.toml", silences);
    let arguments = ["publish", "skills/notes", "--namespace", "acme", "--yes"];
    hub.run(&arguments).await.assert_exit(0);
}

#[cfg(feature = "scan")]
#[tokio::test]
async fn an_import_leaves_out_skills_that_the_scanner_warns_of() {
    let hub = TestHub::start().await;
    hub.folder.skill("vendor/one").file("vendor/notes/SKILL.md", crate::scan::LURE);
    let arguments = ["hub", "import", "vendor", "--namespace", "acme", "--yes", "--json"];
    let imported = hub.run(&arguments).await;
    assert_eq!(imported.code, Some(8), "{imported:?}");
    let results = imported.json();
    let refused = results.as_array().unwrap().iter().find(|it| it["skill"] == "notes").unwrap();
    let reason = refused["refused"].as_str().unwrap();
    assert!(reason.contains("critical[remote-code/"), "{reason}");
    assert!(reason.contains("SKILL.md:7: "), "{reason}");
    let listed = hub.run(&["hub", "list", "--json"]).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let told = [&arguments[..], &["--despite-findings"]].concat();
    hub.run(&told).await.assert_exit(0);
}
