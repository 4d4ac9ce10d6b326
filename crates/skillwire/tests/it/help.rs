//! Help, version and exit codes.

use std::fmt::Write;

use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{command, finish, run, skill_with};

/// The commands that `--help` names.
fn commands(help: &str) -> Vec<&str> {
    let listing = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listing
        .take_while(|line| !line.is_empty())
        // A description that continues is indented more.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        // `help` prints the same as `--help`.
        .filter(|name| *name != "help")
        .collect()
}

/// The subcommands of a command, in reverse order.
fn below(path: &[String], help: &str) -> Vec<Vec<String>> {
    let names = commands(help).into_iter().rev();
    names.map(|name| [path, &[name.to_owned()]].concat()).collect()
}

#[tokio::test]
async fn help_of_every_command() {
    let folder = SkillFolder::new();
    let top = run(&folder, &["--help"]).await.assert_exit(0);
    let mut tree = format!("$ skillwire --help\n{}", top.stdout);
    let mut todo: Vec<Vec<String>> = below(&[], &top.stdout);
    while let Some(path) = todo.pop() {
        let help = run(&folder, &[&path[..], &["--help".to_owned()]].concat()).await.assert_exit(0);
        write!(tree, "\n$ skillwire {} --help\n{}", path.join(" "), help.stdout).unwrap();
        assert_eq!(help.stderr, "");
        todo.extend(below(&path, &help.stdout));
    }
    insta::assert_snapshot!(tree);
}

#[tokio::test]
async fn version() {
    let folder = SkillFolder::new();
    let short = run(&folder, &["-V"]).await.assert_exit(0).stdout;
    let long = run(&folder, &["--version"]).await.assert_exit(0).stdout;
    assert!(long.starts_with(short.trim_end()), "{long}");
    let number = concat!("skillwire ", env!("CARGO_PKG_VERSION"));
    let lines: Vec<_> = long.lines().collect();
    let commit = lines[1].strip_prefix("commit: ").unwrap();
    if commit == "unknown" {
        assert_eq!(lines[0], number, "a build without a checkout names no commit");
    } else {
        assert_eq!(lines[0], format!("{number} ({})", &commit[..12]));
    }
    assert!(
        lines[2].starts_with("target: ") && lines[2].contains(std::env::consts::ARCH),
        "{long}"
    );
    assert!(lines[3].starts_with("features: ") && lines[3].contains("bridge"), "{long}");
}

#[tokio::test]
async fn exit_code_table() {
    let ran = run(&SkillFolder::new(), &["--help"]).await.assert_exit(0);
    let (_, table) = ran.stdout.split_once("Exit codes:\n").expect("help has the table");
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn exit_0_when_all_is_well() {
    let folder = SkillFolder::with_skills(&["a"]);
    for arguments in
        [&["check"][..], &["check", "."], &["manifest", "."], &["serve", "."], &["man"]]
    {
        run(&folder, arguments).await.assert_exit(0);
    }
}

#[tokio::test]
async fn exit_1_when_there_are_findings() {
    let folder = SkillFolder::new();
    folder
        .file("bad/SKILL.md", "no frontmatter")
        .file("warned/SKILL.md", skill_with("warned", "x: 1\n"));
    run(&folder, &["check", "bad"]).await.assert_exit(1);
    run(&folder, &["check", "warned"]).await.assert_exit(0);
    run(&folder, &["check", "--strict", "warned"]).await.assert_exit(1);
    run(&folder, &["check", "--json", "bad"]).await.assert_exit(1);
}

#[tokio::test]
async fn exit_2_when_the_command_line_cannot_be_understood() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("tokens", "ci too-short\n");
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: skillwire <COMMAND>"),
        (&["dance"], "unrecognized subcommand 'dance'"),
        (&["check", "--wat", "."], "unexpected argument '--wat'"),
        (&["check", "nowhere"], "`nowhere` cannot be read: No such file"),
        (&["check", "a/notes.md"], "`a/notes.md` cannot be read"),
        (&["check", ".", "--allow-secret-file", "["], "the pattern `[` cannot be understood"),
        (&["manifest", "nowhere"], "`nowhere` cannot be read: No such file"),
        (&["manifest", ".", "--scheme", "Not A Scheme"], "`--scheme Not A Scheme`"),
        (&["serve"], "No folder was named."),
        (&["serve", "nowhere"], "`nowhere` cannot be read: No such file"),
        (&["serve", ".", "--scheme", "1st"], "`--scheme 1st`"),
        (&["serve", ".", "--page-size", "0"], "`--page-size` must lie between 1 and 10000."),
        (&["serve", ".", "--page-size", "10001"], "`--page-size` must lie between 1 and 10000."),
        (&["serve", ".", "--page-size", "many"], "'--page-size <N>'"),
        (&["serve", ".", "--unlisted", "["], "`--unlisted`: the pattern `[` cannot be understood"),
        (&["serve", ".", "--cache-scope", "shared"], "[possible values: public, private]"),
        (&["serve", ".", "--strict", "--lenient"], "cannot be used with"),
        (&["serve", ".", "--stdio", "--http", "127.0.0.1:0"], "cannot be used with"),
        (&["serve", ".", "--http", "skills.example:80"], "it must be an IP address with a port"),
        (&["search", "x", "--limit", "0"], "invalid value '0' for '--limit <N>'"),
        (&["unpack", "nope"], "`nope` cannot be read: No such file"),
        (&["serve", ".", "--http", "127.0.0.1:0", "--token-file", "none"], "`--token-file none`"),
        (&["serve", ".", "--http", "127.0.0.1:0", "--token-file", "tokens"], "line 1 has a token"),
        (
            &["serve", ".", "--http", "127.0.0.1:0", "--allow-origin", "app.example.com"],
            "`--allow-origin app.example.com` is not an origin.",
        ),
        (
            &["serve", ".", "--http", "127.0.0.1:0", "--allow-host", "https://app.example.com"],
            "`--allow-host https://app.example.com` is not a host name.",
        ),
        (&["serve", "--config", "none.toml"], "`--config none.toml` cannot be read"),
        (&["new", "Not A Name"], "Use `not-a-name`."),
        (&["completions", "cmd.exe"], "invalid value 'cmd.exe'"),
    ];
    for (arguments, words) in cases {
        run(&folder, arguments).await.assert_refused(2, words);
    }
}

#[tokio::test]
async fn exit_2_when_the_configuration_file_cannot_be_understood() {
    let cases = [
        ("dirs = [", "unclosed array"),
        ("dirs = [\".\"]\npage-size = \"many\"\n", "line 2, column 13"),
        ("dirs = [\".\"]\nhttp = \"skills.example:80\"\n", "it must be an IP address with a port"),
        ("dirs = [\".\"]\nfolder = 1\n", "has the unknown key `folder`."),
        ("dirs = [\".\"]\npage_size = 1\n", "has the unknown key `page_size`."),
        ("dirs = [\".\"]\nconfig = \"x\"\n", "has the unknown key `config`."),
        ("dirs = [\".\"]\nstrict = true\nlenient = true\n", "exclude each other."),
        ("dirs = [\".\"]\nstdio = true\nhttp = \"127.0.0.1:0\"\n", "exclude each other."),
        ("dirs = [\".\"]\npage-size = 0\n", "must lie between 1 and 10000."),
        ("page-size = 1\n", "No folder was named."),
    ];
    for (text, words) in cases {
        let folder = SkillFolder::with_skills(&["a"]);
        folder.file("skillwire.toml", text);
        run(&folder, &["serve", "--config", "skillwire.toml"]).await.assert_refused(2, words);
    }
}

#[tokio::test]
async fn non_loopback_needs_tokens_v_28() {
    let folder = SkillFolder::with_skills(&["a"]);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let ran = run(&folder, &["serve", ".", "--http", address]).await;
        ran.assert_refused(8, "can be reached from other machines, and no tokens are required.");
    }
}

#[tokio::test]
async fn errors_say_what_to_do_next() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("skillwire.toml", "dirs = [\".\"]\npage-sise = 5\n");
    folder.file("broken.toml", "dirs = [\".\"\n");
    folder.file("mistyped.toml", "dirs = [\".\"]\npage-size = \"many\"\n");
    folder.file("tokens", "ci too-short\n");
    let mut all = String::new();
    for arguments in [
        &["check", "nowhere"][..],
        &["check", "skillwire.toml"],
        &["serve"],
        &["serve", ".", "--scheme", "Not A Scheme"],
        &["serve", ".", "--page-size", "0"],
        &["serve", ".", "--unlisted", "["],
        &["serve", ".", "--http", "0.0.0.0:8640"],
        &["serve", ".", "--http", "skills.example:8640"],
        &["unpack", "nope"],
        &["search", "x", "--limit", "0"],
        &["serve", ".", "--http", "127.0.0.1:0", "--token-file", "tokens"],
        &["serve", ".", "--http", "127.0.0.1:0", "--allow-origin", "https://app.example.com/"],
        &["serve", ".", "--http", "127.0.0.1:0", "--allow-host", "app.example.com:443"],
        &["serve", "--config", "skillwire.toml"],
        &["serve", "--config", "broken.toml"],
        &["serve", "--config", "mistyped.toml"],
        &["new", "PDF Forms!"],
        &["new", "-"],
        &["new", "a"],
    ] {
        let ran = run(&folder, arguments).await;
        assert_eq!(ran.stdout, "", "{arguments:?}");
        let says_next = ran.stderr.contains("\nhelp: ") || ran.stderr.contains("try '--help'");
        assert!(says_next, "{arguments:?}: {}", ran.stderr);
        writeln!(all, "$ skillwire {}\n{}", arguments.join(" "), ran.transcript()).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn output_to_a_pipe_has_no_colours() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", "no frontmatter").file("b/SKILL.md", skill_md("b"));
    for arguments in [
        &["--help"][..],
        &["check", "."],
        &["manifest", "."],
        &["serve", "."],
        &["serve", "nowhere"],
        &["check", "--wat"],
    ] {
        let ran = run(&folder, arguments).await;
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
}

#[tokio::test]
async fn no_color_wins_over_a_wish_for_colours() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", "no frontmatter");
    for arguments in [&["check", "."][..], &["manifest", "."], &["serve", "."], &["serve"]] {
        let with = |no_color: &str| {
            let mut command = command(&folder, arguments);
            command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", no_color);
            finish(command)
        };
        let coloured = with("").await;
        assert!((coloured.stdout + &coloured.stderr).contains('\u{1b}'), "{arguments:?}");
        let plain = with("1").await;
        assert!(!(plain.stdout + &plain.stderr).contains('\u{1b}'), "{arguments:?}");
    }
}
