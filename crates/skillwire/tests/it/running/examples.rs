//! Every command that the example skills document runs as it is written.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::{host::user::TestUser, support::CommandResult};

/// A command of an example skill, with what a user adds to run it here.
struct ExampleCommand {
    skill: &'static str,
    /// Options of `run`.
    options: &'static [&'static str],
    /// The command as `SKILL.md` has it, without the interpreter. Standard output goes to the file after
    /// ` > `, as a shell does it.
    written: &'static str,
    exit: i32,
    prints: &'static str,
}

const COMMANDS: [ExampleCommand; 14] = [
    ExampleCommand {
        skill: "refunds",
        options: &[],
        written: "scripts/refund_quote.py charge.json",
        exit: 0,
        prints: "",
    },
    ExampleCommand {
        skill: "csv-profiling",
        options: &[],
        written: "scripts/profile_csv.py \"data.csv\"",
        exit: 1,
        prints: "data.csv",
    },
    ExampleCommand {
        skill: "csv-profiling",
        options: &[],
        written: "scripts/profile_csv.py \"data.csv\" --format json",
        exit: 1,
        prints: "{",
    },
    ExampleCommand {
        skill: "sql-review",
        options: &[],
        written: "scripts/lint_migration.py migrations/0042_orders.sql",
        exit: 1,
        prints: "0042_orders.sql",
    },
    ExampleCommand {
        skill: "chart-accessibility",
        options: &[],
        written: "scripts/palette.py check '#005f73' '#ee9b00' '#9b2226' --background '#ffffff'",
        exit: 1,
        prints: "TOO LOW",
    },
    ExampleCommand {
        skill: "chart-accessibility",
        options: &["--output", "sheets"],
        written: "scripts/palette.py sheet '#005f73' '#ee9b00' '#9b2226' --out sheet.png",
        exit: 0,
        prints: "",
    },
    ExampleCommand {
        skill: "incident-response",
        options: &["--edit", "incident-timeline.tsv"],
        written: "scripts/timeline.sh add detected \"Alert: checkout error rate 12 %, normal 0.1 %\"",
        exit: 0,
        prints: "detected",
    },
    ExampleCommand {
        skill: "incident-response",
        options: &["--edit", "incident-timeline.tsv"],
        written: "scripts/timeline.sh add --at 14:02 started \"First 500s in the load balancer log\"",
        exit: 0,
        prints: "started",
    },
    ExampleCommand {
        skill: "incident-response",
        options: &["--edit", "incident-timeline.tsv"],
        written: "scripts/timeline.sh add resolved \"Error rate 0.1 % for 60 minutes\"",
        exit: 0,
        prints: "resolved",
    },
    ExampleCommand {
        skill: "incident-response",
        options: &["--input", "incident-timeline.tsv"],
        written: "scripts/timeline.sh summary",
        exit: 0,
        prints: "Started to detected",
    },
    ExampleCommand {
        skill: "incident-response",
        options: &["--input", "incident-timeline.tsv"],
        written: "scripts/timeline.sh show > timeline.md",
        exit: 0,
        prints: "First 500s in the load balancer log",
    },
    ExampleCommand {
        skill: "postmortem",
        options: &[],
        written: "scripts/check_postmortem.py draft.md",
        exit: 1,
        prints: "",
    },
    ExampleCommand {
        skill: "api-changelog",
        options: &["--input", "PATH"],
        written: "scripts/release_notes.py --repo PATH --from v1.4.0 --to HEAD --format json",
        exit: 0,
        prints: "\"added\"",
    },
    ExampleCommand {
        skill: "release-checklist",
        options: &["--input", "PATH:."],
        written: "scripts/preflight.sh --remote origin 1.5.0",
        exit: 1,
        prints: "1.5.0 comes after 1.4.0",
    },
];

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills"))
}

/// Writes the files that the commands speak of.
fn prepare(user: &TestUser) {
    let copy = |from: &str, to: &str| {
        let bytes = fs::read(examples().join(from)).unwrap();
        user.home.file(&format!("work/{to}"), bytes);
    };
    copy("acme/billing/refunds/assets/charge-example.json", "charge.json");
    copy("csv-profiling/assets/sample orders.csv", "data.csv");
    copy("sql-review/assets/bad-migration.sql", "migrations/0042_orders.sql");
    copy("incident-response/postmortem/templates/postmortem.md", "draft.md");
    user.home.file("work/PATH/CHANGELOG.md", "# 1.5.0\n");
    let repository = user.home.join("work/PATH");
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(&repository)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "feat: first"]);
    git(&["tag", "v1.4.0"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "feat(api): add cursors"]);
}

#[tokio::test]
async fn every_documented_command_of_the_example_skills_runs_as_written() {
    let user = TestUser::new();
    prepare(&user);
    let path = examples().to_str().unwrap();
    let serve = ["--no-connect", "--", crate::support::BINARY, "serve", "--no-index", path];
    user.run_ok(&[&["server", "add", "examples"][..], &serve].concat()).await;
    let mut failures = Vec::new();
    for ExampleCommand { skill, options, written, exit, prints } in COMMANDS {
        let handle = format!("examples:{skill}");
        user.run_ok(&["approve", &handle, "--exec", "--yes"]).await;
        let (command, file) = match written.split_once(" > ") {
            Some((command, file)) => (command, Some(file)),
            None => (written, None),
        };
        let words = words(command);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran: CommandResult =
            user.run(&[&["run"], options, &[&handle], &words[..]].concat()).await;
        if ran.code != Some(exit) || !ran.stdout.contains(prints) {
            failures.push(format!("{written}: {ran:?}"));
        }
        if let Some(file) = file {
            user.home.file(&format!("work/{file}"), ran.stdout);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(user.home.join("work/sheets/sheet.png").is_file());
    let timeline = fs::read_to_string(user.home.join("work/incident-timeline.tsv")).unwrap();
    assert_eq!(timeline.lines().count(), 3, "{timeline}");
    let shown = fs::read_to_string(user.home.join("work/timeline.md")).unwrap();
    assert!(shown.contains("Error rate 0.1 % for 60 minutes"), "{shown}");
}

/// Splits a command as a shell does.
fn words(written: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quote = None;
    let mut word: Option<String> = None;
    for c in written.chars() {
        match (quote, c) {
            (None, ' ') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[test]
fn the_commands_are_those_of_the_documents() {
    let mut documented = BTreeSet::new();
    let mut folders = vec![examples().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "SKILL.md") {
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().map(str::trim);
                let commands = lines.filter_map(|line| {
                    line.strip_prefix("python3 ").or_else(|| line.strip_prefix("sh "))
                });
                // A comment after the command.
                let whole = |line: &str| line.split("   #").next().unwrap_or_default().to_owned();
                documented.extend(commands.map(whole));
            }
        }
    }
    let tried: BTreeSet<_> = COMMANDS.iter().map(|command| command.written.to_owned()).collect();
    assert_eq!(documented, tried);
}
