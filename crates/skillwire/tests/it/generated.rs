//! Completions and manual pages.

use std::{collections::BTreeSet, fs};

use skillwire_testkit::SkillFolder;

use crate::{
    host::user::{TestUser, refunds},
    support::{BINARY, finish, run},
};

#[tokio::test]
async fn completions_for_every_shell() {
    let folder = SkillFolder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&folder, &["completions", shell]).await.assert_exit(0);
        assert!(ran.stdout.contains("SKILLWIRE_COMPLETE"), "{shell}: {}", ran.stdout);
        assert_eq!(ran.stderr, "", "{shell}");
    }
}

/// What a shell is offered for the last word of a command line.
async fn completed(user: &TestUser, words: &[&str]) -> Vec<String> {
    let mut command = user.command(&[&["--", "skillwire"], words].concat());
    command.env("SKILLWIRE_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    command.env("_CLAP_IFS", "\n");
    finish(command).await.assert_exit(0).stdout.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn labels_handles_and_files_are_completed_without_asking_a_server() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    assert_eq!(completed(&user, &["app"]).await, ["approve"]);
    assert_eq!(completed(&user, &["server", "set", "a"]).await, ["acme"]);
    assert_eq!(completed(&user, &["show", "acme:"]).await, [""; 0], "nothing was listed yet");
    user.run_ok(&["list"]).await;
    drop(skills);
    assert_eq!(completed(&user, &["show", "acme:re"]).await, ["acme:refunds"]);
    assert_eq!(completed(&user, &["approve", "acme:refunds", "ac"]).await, ["acme:refunds"]);
    assert_eq!(completed(&user, &["show", "acme:refunds", "ref"]).await, ["references/policy.md"]);
    assert_eq!(completed(&user, &["review", "--server", ""]).await, ["acme"]);
    assert_eq!(completed(&user, &["verify", "a"]).await, ["acme"]);
}

#[tokio::test]
async fn installed_skills_agents_and_codes_are_completed() {
    let user = TestUser::new();
    user.home.file("skills/pdf/SKILL.md", crate::support::skill_with("pdf", ""));
    assert_eq!(completed(&user, &["remove", "p"]).await, [""; 0], "nothing is installed yet");
    let add = ["add", "../skills", "--agent", "claude-code", "--yes"];
    for scope in ["--global", "--project"] {
        user.run_ok(&[&add[..], &[scope]].concat()).await;
    }
    assert_eq!(completed(&user, &["update", "p"]).await, ["pdf"], "once, although installed twice");
    assert_eq!(completed(&user, &["remove", "pdf", "x"]).await, [""; 0]);
    assert_eq!(completed(&user, &["setup", "--agent", "cur"]).await, ["cursor"]);
    assert_eq!(completed(&user, &["add", ".", "--agent", "gem"]).await, ["gemini-cli"]);
    assert_eq!(completed(&user, &["check", "--select", "git-i"]).await, ["git-ignored"]);
    assert_eq!(completed(&user, &["check", "--explain", "git-i"]).await, ["git-ignored"]);
}

/// What each shell asks the program for, as its script asks it.
#[tokio::test]
async fn paths_are_completed_in_bash_zsh_and_fish() {
    let user = TestUser::new();
    user.home.file("work/skills/pdf/SKILL.md", crate::support::skill_with("pdf", ""));
    user.home.file("work/skills.toml", "");
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    for (line, offered) in [
        ("check sk", &["skills/", "skills.toml"][..]),
        ("check ./skills/p", &["./skills/pdf/"]),
        ("serve team=sk", &["team=skills/"]),
        ("add ./sk", &["./skills/", "./skills.toml"]),
        ("pack skills/", &["skills/pdf/"]),
        ("serve skills --config sk", &["skills/", "skills.toml"]),
    ] {
        let words = words(line);
        let sorted = |mut found: Vec<String>| {
            found.sort();
            found
        };
        let expected = sorted(offered.iter().map(|&it| it.to_owned()).collect());
        assert_eq!(sorted(completed(&user, &words).await), expected, "bash: {line}");
        let ask = async |shell: &str| {
            let mut command = user.command(&[&["--", "skillwire"], &words[..]].concat());
            command.env("SKILLWIRE_COMPLETE", shell).env("_CLAP_IFS", "\n");
            command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
            finish(command).await.assert_exit(0).stdout
        };
        for shell in ["zsh", "fish"] {
            let found = ask(shell).await;
            // Each line may have a description behind the value.
            let values = found.lines().map(|it| it.split(['\t', ':']).next().unwrap().to_owned());
            assert_eq!(sorted(values.collect()), expected, "{shell}: {line}");
        }
    }
}

/// Bash takes a colon for the end of a word, and every handle has one.
#[cfg(unix)]
#[tokio::test]
async fn handles_are_completed_in_bash() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.run_ok(&["list"]).await;
    user.home.file("work/complete.bash", user.run_ok(&["completions", "bash"]).await);
    let typed = |line: &str, words: &str, last: &str| {
        format!(
            "COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9; _skillwire skillwire '{last}' show; \
             printf '[%s]' \"${{COMPREPLY[@]}}\"; "
        )
    };
    let script = "skillwire() { \"$SKILLWIRE\" \"$@\"; }; source complete.bash; ".to_owned()
        + &typed("skillwire show acme:re", "skillwire show acme : re", "re")
        + &typed("skillwire show acme:", "skillwire show acme :", "")
        + &typed("skillwire rev", "skillwire rev", "rev");
    let mut bash = user.command(&[] as &[&str]);
    let mut command = tokio::process::Command::new("bash");
    for (name, value) in bash.as_std_mut().get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.args(["--norc", "-c", &script]).env("SKILLWIRE", BINARY);
    command.current_dir(user.home.join("work")).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let completed = finish(command).await.assert_exit(0);
    assert_eq!(completed.stdout, "[refunds][refunds][review][revoke]", "{}", completed.stderr);
}

#[tokio::test]
async fn manual_page() {
    let ran = run(&SkillFolder::new(), &["man"]).await.assert_exit(0);
    let page = ran.stdout;
    assert!(page.contains(".TH skillwire 1") && page.contains(".SH SYNOPSIS"), "{page}");
    assert!(page.contains("serve"), "{page}");
    assert!(!page.contains(std::env::consts::ARCH), "pages are the same for every target: {page}");
    assert!(page.contains("Exit codes:") && page.contains("declined by limit"), "{page}");
}

#[tokio::test]
async fn manual_pages_of_all_commands() {
    let folder = SkillFolder::new();
    run(&folder, &["man", "--dir", "share/man1"]).await.assert_exit(0);
    let pages: BTreeSet<_> = fs::read_dir(folder.join("share/man1"))
        .expect("the folder is made")
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("UTF-8"))
        .collect();
    let expected = [
        "",
        "-approve",
        "-audit",
        "-check",
        "-completions",
        "-disable",
        "-enable",
        "-export",
        "-list",
        "-load",
        "-lock",
        "-man",
        "-manifest",
        "-new",
        "-prompt",
        "-revoke",
        "-serve",
        "-server",
        "-server-add",
        "-server-import",
        "-server-list",
        "-server-remove",
        "-show",
    ];
    let expected: BTreeSet<_> =
        expected.iter().map(|command| format!("skillwire{command}.1")).collect();
    assert!(pages.is_superset(&expected), "{pages:?}");
    let serve = fs::read_to_string(folder.join("share/man1/skillwire-serve.1"));
    assert!(serve.expect("it is text").contains("page\\-size"));
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = SkillFolder::new();
    folder.file("file", "");
    run(&folder, &["man", "--dir", "file/pages"])
        .await
        .assert_refused(2, "`file/pages` cannot be written");
}
