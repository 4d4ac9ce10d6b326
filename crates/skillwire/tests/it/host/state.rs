//! State files that are corrupt, in the way or not writable: none approves a skill, and none is
//! lost.

use std::{fs, path::PathBuf};

use skillwire_testkit::SkillFolder;

use super::user::{TestUser, refunds};

/// The record of `acme/refunds`.
fn record(user: &TestUser) -> PathBuf {
    user.state("approvals/acme/skill=3a++acme+refunds.json")
}

#[tokio::test]
async fn a_record_that_cannot_be_read_approves_nothing_and_stays_h_65() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.skill("other");
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.approve("acme:other").await;
    let good = fs::read_to_string(record(&user)).unwrap();
    let forged = good.replace("\"grants\": {}", "\"grants\": {}, \"everything\": true");
    assert_ne!(good, forged);
    for bad in ["", "{", &good[..good.len() / 2], &forged] {
        fs::write(record(&user), bad).unwrap();
        user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[state_unusable]");
        let ran = user.run(&["approve", "acme:refunds", "--yes"]).await.assert_exit(4);
        assert!(ran.stderr.contains("error[state_unusable]"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(record(&user)).unwrap(), bad, "it is left for the user");
        user.run_ok(&["load", "acme:other"]).await;
        assert_eq!(user.state_of("acme:refunds").await, "refused");
        user.run(&["lock"]).await.assert_refused(4, "Nothing was written.");
    }
    fs::write(record(&user), good).unwrap();
    user.run_ok(&["load", "acme:refunds"]).await;
}

#[tokio::test]
async fn an_older_record_approves_only_the_content_it_holds_h_65() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let old = fs::read_to_string(record(&user)).unwrap();
    skills.file("acme/refunds/new.md", "new\n");
    user.approve("acme:refunds").await;
    fs::write(record(&user), old).unwrap();
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[changed]");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_named_and_not_overwritten() {
    let user = TestUser::new();
    let file = user.state("servers.json");
    user.home.file("sw/state/servers.json", "{ \"mcpServers\": ");
    for arguments in [
        &["list"][..],
        &["server", "list"],
        &["server", "add", "a", "http://127.0.0.1:9/"],
        &["server", "remove", "a"],
        &["load", "a:b"],
    ] {
        user.run(arguments).await.assert_refused(2, "servers.json");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "{ \"mcpServers\": ");
}

#[tokio::test]
async fn where_nothing_can_be_cached_a_skill_is_loaded_all_the_same_h_68() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.home.file("sw/cache", "a file where a folder should be");
    let ran = user.run(&["load", "acme:refunds"]).await.assert_exit(0);
    assert!(ran.stdout.contains("# refunds"), "{}", ran.stdout);
    assert!(ran.stderr.contains("A file cannot be cached"), "{}", ran.stderr);
}

#[tokio::test]
async fn where_nothing_can_be_remembered_nothing_is_approved_h_68() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.home.file("sw/state/approvals", "a file where a folder should be");
    let ran = user.run(&["approve", "acme:refunds", "--yes"]).await.assert_exit(4);
    assert!(ran.stderr.contains("error[state_unusable]"), "{}", ran.stderr);
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[state_unusable]");
    user.home.remove("sw/state/approvals");
    // An audit log that cannot be written does not stop the command, which reports it.
    user.home.remove("sw/state/audit.jsonl").directory("sw/state/audit.jsonl");
    let ran = user.run(&["approve", "acme:refunds", "--yes"]).await.assert_exit(0);
    assert!(ran.stderr.contains("The audit log cannot be written"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_home_that_is_no_folder_is_named_h_68() {
    let user = TestUser::new();
    user.home.file("sw", "a file where a folder should be");
    let ran = user.run(&["server", "add", "a", "http://127.0.0.1:9/"]).await;
    ran.assert_refused(2, "sw/state");
    user.run(&["list"]).await.assert_refused(2, "sw/state");
}

#[cfg(unix)]
#[tokio::test]
async fn state_that_others_can_write_is_not_used_h_64() {
    use std::os::unix::fs::PermissionsExt as _;
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    fs::set_permissions(record(&user), fs::Permissions::from_mode(0o666)).unwrap();
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "can be written by other users");
}

#[tokio::test]
async fn the_cache_may_not_be_where_agents_look_for_skills_hst_95() {
    let user = TestUser::new();
    let skills = SkillFolder::with_skills(&["a"]);
    user.add_folder_server("acme", &skills).await;
    let mut command = user.command(&["list"]);
    command.env("SKILLWIRE_HOME", user.home.join(".claude/skills"));
    crate::support::finish(command).await.assert_refused(2, "where agents look for skills");
}

/// Runs the program from a shell that first does something to the process.
#[cfg(unix)]
async fn run_in_shell(
    user: &TestUser,
    first: &str,
    arguments: &[&str],
) -> crate::support::CommandResult {
    let program = user.command(arguments);
    let program = program.as_std();
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\"")]);
    shell.arg(program.get_program()).args(program.get_args());
    shell.current_dir(program.get_current_dir().unwrap()).kill_on_drop(true);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let pipe = std::process::Stdio::piped;
    shell.stdin(std::process::Stdio::null()).stdout(pipe()).stderr(pipe());
    crate::support::finish(shell).await
}

/// Runs the program where no file can grow, as on a full disk. Pipes still work.
#[cfg(unix)]
async fn run_on_full_disk(user: &TestUser, arguments: &[&str]) -> crate::support::CommandResult {
    // The signal would end the program; without it, each write fails as it does on a full disk.
    run_in_shell(user, "trap '' XFSZ; ulimit -f 0", arguments).await
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_loses_no_decision_and_claims_none_sec_17() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.skill("other");
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let before = contents_of(&user.home.join("sw/state"));
    for command in [
        &["approve", "acme:other", "--yes"][..],
        &["revoke", "acme:refunds"],
        &["disable", "acme:refunds"],
        &["server", "add", "beta", "https://beta.example/mcp"],
        &["lock"],
    ] {
        let ran = run_on_full_disk(&user, command).await;
        assert_ne!(ran.code, Some(0), "{command:?}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("cannot be"), "{command:?}: {ran:?}");
    }
    let after = contents_of(&user.home.join("sw/state"));
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{}", path.display());
    }
    for (path, bytes) in after.iter().filter(|(path, _)| !before.contains_key(*path)) {
        assert!(bytes.is_empty(), "{} is half a file", path.display());
    }
    assert!(!user.home.join("work/skillwire.lock").exists());
    // What was approved can be used: neither the cache nor the log is needed for that.
    let loaded = run_on_full_disk(&user, &["load", "acme:refunds"]).await.assert_exit(0);
    assert!(loaded.stderr.contains("audit log cannot be written"), "{loaded:?}");
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    assert_eq!(user.state_of("acme:other").await, "new");
}

/// All files below a folder, with their bytes.
#[cfg(unix)]
fn contents_of(
    folder: &std::path::Path,
) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents_of(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

#[cfg(unix)]
#[tokio::test]
async fn other_users_can_read_nothing_of_the_state_whatever_the_umask_is_sec_19() {
    use std::os::unix::fs::MetadataExt as _;
    let (user, skills) = (TestUser::new(), refunds());
    let path = skills.path().to_str().unwrap();
    let open = async |arguments: &[&str]| {
        run_in_shell(&user, "umask 0", arguments).await.assert_exit(0);
    };
    open(&["server", "add", "acme", "--", crate::support::BINARY, "serve", path]).await;
    let secret = ["--header", "Authorization=Bearer not-for-others"];
    open(&[&["server", "add", "beta", "https://beta.example/mcp"][..], &secret].concat()).await;
    open(&["approve", "acme:refunds", "--yes"]).await;
    open(&["load", "acme:refunds"]).await;
    let mut seen = 0;
    let mut open_folders = vec![user.home.join("sw")];
    while let Some(folder) = open_folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            assert_eq!(metadata.mode() & 0o077, 0, "{} {:o}", path.display(), metadata.mode());
            seen += 1;
            if metadata.is_dir() {
                open_folders.push(path);
            }
        }
    }
    assert!(seen > 5, "{seen}");
}
