//! State that earlier versions wrote, opened by this one: the folders `testdata/state-*`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use skillwire_testkit::{HostileServer, ListeningServer, OlderDialect, SkillFolder};

use super::user::TestUser;
use crate::support::{BINARY, HttpServer, StdioServer, command};

/// A folder with the state that an earlier version wrote.
#[derive(Debug, Clone, Copy)]
struct EarlierState(&'static str);

impl EarlierState {
    const ALL: [Self; 2] = [Self("state-bf5572f"), Self("state-5167d25")];

    fn file(self, path: &str) -> PathBuf {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata")).join(self.0).join(path)
    }

    /// What that version printed about the state.
    fn recorded_output(self, name: &str) -> Value {
        let text = fs::read_to_string(self.file("said").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// A user who has the state.
    fn user(self) -> TestUser {
        let user = TestUser::new();
        copy(&self.file("home"), &user.home.join("sw"));
        user.home.file("secrets/token", "not-a-real-bearer-token\n");
        user.home.file("secrets/tokens", "reader not-a-real-bearer-token\n");
        set_mode(&user.home.join("secrets/token"), 0o600);
        user.home.file(
            ".agents/skills/desk/SKILL.md",
            "---\nname: desk\ndescription: Tidy the desk. Use on Fridays.\n---\n\n# Desk\n",
        );
        user.replaces(&[
            ("/srv/bin/skillwire", BINARY),
            ("/srv/skills", self.file("skills").to_str().unwrap()),
            ("/srv/secrets", user.home.join("secrets").to_str().unwrap()),
            ("/srv/home", user.home.path().to_str().unwrap()),
        ]);
        user
    }
}

/// Copies a folder so that only its user can read it; Git does not keep that.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    set_mode(to, 0o700);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            set_mode(&target, 0o600);
        }
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

impl TestUser {
    /// Replaces paths and addresses of the fixture in the files that hold them.
    fn replaces(&self, words: &[(&str, &str)]) {
        for name in ["servers.json", "logins/guarded.json"] {
            let mut text = fs::read_to_string(self.state(name)).unwrap();
            for (from, to) in words {
                text = text.replace(from, to);
            }
            fs::write(self.state(name), text).unwrap();
        }
    }
}

/// The servers that the state is about, as they were then.
struct Servers {
    _ours: [HttpServer; 3],
    _older: [ListeningServer; 3],
    guarded: HostileServer,
}

impl Servers {
    async fn start(user: &TestUser, earlier: EarlierState) -> Self {
        let tokens = user.home.join("secrets/tokens");
        let serves = async |folder: &str, options: &[&str]| {
            let folder = earlier.file("skills").join(folder);
            let arguments = [&["--no-index", folder.to_str().unwrap()], options].concat();
            HttpServer::serve(&user.home, &arguments).await
        };
        let ours = [
            serves("docs", &[]).await,
            serves("docs", &["--token-file", tokens.to_str().unwrap()]).await,
            serves("web", &["--public", "**"]).await,
        ];
        let guarded = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
        let older = [
            HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests).http().await,
            HostileServer::with_dialect(OlderDialect::FastMcp).http().await,
            guarded.http().await,
        ];
        let addresses = ours.iter().map(|server| server.address.to_string());
        let addresses = addresses.chain(older.iter().map(|server| authority(&server.url())));
        let addresses: Vec<String> = addresses.collect();
        for (port, address) in (8641..).zip(&addresses) {
            user.replaces(&[(&format!("127.0.0.1:{port}"), address)]);
        }
        Self { _ours: ours, _older: older, guarded }
    }
}

fn authority(url: &str) -> String {
    url.split('/').nth(2).unwrap().to_owned()
}

/// Asserts that everything the earlier version printed is still printed. Members may have been
/// added.
#[track_caller]
fn assert_still_says(now: &Value, then: &Value) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            for (key, then) in then {
                let now = now.get(key);
                assert_still_says(now.unwrap_or_else(|| panic!("{key} is gone: {now:?}")), then);
            }
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{now:?} are not {then:?}");
            now.iter().zip(then).for_each(|(now, then)| assert_still_says(now, then));
        }
        _ => assert_eq!(now, then),
    }
}

#[tokio::test]
async fn every_decision_of_an_earlier_version_still_stands() {
    for earlier in EarlierState::ALL {
        let user = earlier.user();
        let servers = Servers::start(&user, earlier).await;
        let (now, then) =
            (user.run_json(&["list", "--json"]).await, earlier.recorded_output("list.json"));
        assert_still_says(&now["skills"], &then["skills"]);
        let dialects = |listing: &Value| -> Vec<(Value, Value)> {
            let servers = listing["servers"].as_array().unwrap().iter();
            servers.map(|server| (server["label"].clone(), server["dialect"].clone())).collect()
        };
        assert_eq!(dialects(&now), dialects(&then));
        for empty in ["refused", "incomplete"] {
            assert_eq!(now[empty], then[empty]);
        }
        // The stored login still works.
        let log = servers.guarded.log();
        let sent = log.iter().filter_map(|logged| logged.header("authorization"));
        assert!(
            sent.clone().count() > 0
                && sent.clone().all(|sent| sent == "Bearer not-a-real-access-token")
        );
        // An approved skill is loaded from its server, and a skill without approval is refused.
        for handle in
            ["acme:refunds", "docs:glossary", "private:style", "older:refunds", "legacy:refunds"]
        {
            user.run_ok(&["load", handle]).await;
        }
        user.run(&["load", "acme:travel"]).await.assert_refused(4, "error[changed]");
        for handle in ["acme:payroll", "acme:offboarding", "private:glossary"] {
            user.run(&["load", handle]).await.assert_exit(4);
        }
        user.run(&["load", "acme:onboarding"]).await.assert_exit(8);
        user.run_ok(&["enable", "acme:onboarding"]).await;
        assert_eq!(user.state_of("acme:onboarding").await, "new");
    }
}

#[tokio::test]
async fn cached_files_of_an_earlier_version_are_loaded_without_a_server() {
    for earlier in EarlierState::ALL {
        let user = earlier.user();
        let then = earlier.recorded_output("loaded.json");
        for (handle, then) in then.as_object().unwrap() {
            let now = user.run_json(&["load", handle, "--offline", "--json"]).await;
            for member in ["handle", "origin", "uri", "content", "first_seen"] {
                assert_eq!(now[member], then[member], "{handle}");
            }
        }
        let file = ["load", "acme:ledger", "--offline", "--read", "year end.md"];
        assert!(user.run_ok(&file).await.contains("Close the year before the audit."));
    }
}

#[tokio::test]
async fn a_lock_file_of_an_earlier_version_holds_every_grant() {
    for earlier in EarlierState::ALL {
        let user = earlier.user();
        let file = earlier.file("skillwire.lock");
        let file = file.to_str().unwrap();
        // The exit code would be 1 if an approval or a grant were different.
        user.run_ok(&["lock", "--check", "--file", file]).await;
        user.run_ok(&["load", "acme:refunds", "--lock", file]).await;
        let lines = |path: &Path| -> Vec<String> {
            let text = fs::read_to_string(path).unwrap();
            // What was added since stands before the skills: the version, and addresses of servers.
            let skills = text.split_once("[[skill]]").unwrap().1;
            skills.lines().map(str::to_owned).collect()
        };
        user.run_ok(&["lock"]).await;
        assert_eq!(lines(&user.home.join("work/skillwire.lock")), lines(Path::new(file)));
    }
}

#[tokio::test]
async fn every_server_of_an_earlier_version_is_configured_as_it_was() {
    for earlier in EarlierState::ALL {
        let user = earlier.user();
        let told = fs::read_to_string(earlier.file("said/servers.json")).unwrap();
        let told = told
            .replace("/srv/bin/skillwire", BINARY)
            .replace("/srv/skills", earlier.file("skills").to_str().unwrap())
            .replace("/srv/secrets", user.home.join("secrets").to_str().unwrap())
            .replace("/srv/home", user.home.path().to_str().unwrap());
        let then: Value = serde_json::from_str(&told).unwrap();
        assert_still_says(&user.run_json(&["server", "list", "--json"]).await, &then);
        // The listing masks secrets, so this checks what the program sends.
        let docs = HostileServer::new();
        let listening = docs.http().await;
        user.replaces(&[("127.0.0.1:8641", &authority(&listening.url()))]);
        user.run_ok(&["list", "--server", "docs"]).await;
        let log = docs.log();
        assert!(log.iter().all(|logged| logged.header("x-api-key") == Some("not-a-real-header")));
        assert_eq!(
            user.run_ok(&["server", "logout", "guarded"]).await,
            "Forgot the login to `guarded`.\n"
        );
    }
}

#[tokio::test]
async fn every_event_of_an_earlier_version_is_still_in_the_log() {
    for earlier in EarlierState::ALL {
        let user = earlier.user();
        user.run_ok(&["load", "acme:deep", "--offline"]).await;
        let now = user.run_ok(&["audit", "--json"]).await;
        let then = fs::read_to_string(earlier.file("said/audit.jsonl")).unwrap();
        let events = |text: &str| -> Vec<Value> {
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let (now, then) = (events(&now), events(&then));
        // New entries follow the old ones.
        assert!(now.len() > then.len());
        now.iter().zip(&then).for_each(|(now, then)| assert_still_says(now, then));
    }
}

#[tokio::test]
async fn a_configuration_of_an_earlier_version_serves_the_same() {
    for earlier in EarlierState::ALL {
        let folder = SkillFolder::new();
        let text = fs::read_to_string(earlier.file("skillwire.toml")).unwrap();
        folder.file(
            "skillwire.toml",
            text.replace("SKILLS", earlier.file("skills").to_str().unwrap()),
        );
        let mut server = StdioServer::serve(&folder, &["--config", "skillwire.toml"]);
        let listed = server.uris().await;
        assert!(listed.contains(&"skill://team/billing/refunds/SKILL.md".to_owned()), "{listed:?}");
        assert_eq!(listed.len(), 7, "the configured page has seven: {listed:?}");
        let found = server.modern("tools/list", Value::Null).await;
        let tools = found.result()["tools"].as_array().unwrap();
        // `find-tool` of that time is the tool `search_skills` now.
        assert!(tools.iter().any(|tool| tool["name"] == "search_skills"), "{tools:?}");
        server.close().await.assert_exit(0);
    }
}

#[tokio::test]
async fn a_server_starts_beside_the_index_of_an_earlier_version() {
    for earlier in EarlierState::ALL {
        let folder = SkillFolder::new();
        let skills = earlier.file("skills/docs");
        let start = || StdioServer::start(command(&folder, &["serve", skills.to_str().unwrap()]));
        let expected = ["skill://glossary/SKILL.md", "skill://style/SKILL.md"];
        let mut server = start();
        server.until_listed(&expected).await;
        server.close().await.assert_exit(0);
        // The name belongs to this folder, but the bytes describe another folder at another time.
        let cache = folder.join(".git/skillwire/cache");
        fs::copy(index_in(&earlier.file("home/cache")), index_in(&cache)).unwrap();
        let mut server = start();
        server.until_listed(&expected).await;
        server.close().await.assert_exit(0);
    }
}

/// The one index in a cache.
fn index_in(cache: &Path) -> PathBuf {
    let mut paths = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.to_string_lossy().contains("index-")).expect("a folder was served")
}
