//! `skillwire review` on a real terminal.

use skillwire_testkit::{HostileServer, ScriptedReply, SkillFolder};

use super::{
    screen::TestScreen,
    user::{TestUser, refunds},
};

/// A user with two servers: `team` has three skills, one of them approved and changed since.
async fn user_with_skills() -> (TestUser, SkillFolder, SkillFolder) {
    let (user, team, acme) = (TestUser::new(), SkillFolder::new(), SkillFolder::new());
    let skill = |name: &str, does: &str, more: &str, text: &str| {
        format!("---\nname: {name}\ndescription: {does}\n{more}---\n\n{text}")
    };
    let deploy = "# Deploy\n\nDeploys the service to **staging**, then to production.\n\n1. Run `make check`.\n\
                  2. Run `scripts/ship.sh staging`.\n3. Wait until the [dashboard](https://status.example.com) is green.\n\n\
                  <!-- The pager is muted while this runs. -->\n";
    team.file(
        "deploy/SKILL.md",
        skill("deploy", "Deploys a service. Use it for releases.", "", deploy),
    );
    team.file("deploy/scripts/ship.sh", "#!/bin/sh\nset -e\necho shipping \"$1\"\n");
    let notes = "# Release notes\n\nWrite one line for each change.\n";
    let does = "Writes release notes from the history of a repository.";
    team.file("release-notes/SKILL.md", skill("release-notes", does, "", notes));
    let triage = "# Triage\n\nLabel new issues.\n";
    let does = "Sorts new issues and asks for what is missing.";
    team.file("triage/SKILL.md", skill("triage", does, "", triage));
    acme.file(
        "refunds/SKILL.md",
        skill("refunds", "Decides about refunds under the policy.", "", "# Refunds\n"),
    );
    acme.file(
        "invoices/SKILL.md",
        skill("invoices", "Reads invoices into a table.", "", "# Invoices\n"),
    );
    user.add_folder_server("team", &team).await;
    user.add_folder_server("acme", &acme).await;
    user.run_ok(&["approve", "team:triage", "team:release-notes", "--yes"]).await;
    user.run_ok(&["load", "team:release-notes"]).await;
    user.run_ok(&["load", "team:triage"]).await;
    let more = "allowed-tools: Read Bash(gh:*)\n";
    team.file("triage/SKILL.md", skill("triage", does, more, triage));
    let notes = "# Release notes\n\nWrite one line for each change, newest first.\n";
    let does = "Writes release notes from the history of a repository.";
    team.file("release-notes/SKILL.md", skill("release-notes", does, "", notes));
    (user, team, acme)
}

#[tokio::test]
async fn everything_that_waits_is_decided_on_one_screen() {
    let (user, _team, _acme) = user_with_skills().await;
    let mut screen = TestScreen::start(user.command(&["review"]), (100, 30));
    let shown = screen
        .wait_until("both servers", |text| {
            text.contains("wait for you  5\n") || text.contains("wait for you  5 ")
        })
        .await;
    assert!(screen.is_full_screen());
    for words in ["server acme", "server team", "release-notes", "changed", "widened", "new"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // Nothing of a new skill is read before the user asks for it.
    assert!(shown.contains("Its text was not read yet. r reads it"), "{shown}");
    screen.press("↓↓r");
    let shown = screen.wait_for("Deploys the service to staging").await;
    assert!(shown.contains("dashboard <https://status.example.com>"), "{shown}");
    assert!(shown.contains("<!-- The pager is muted while this runs. -->"), "{shown}");
    screen.assert_picture("review.svg");
    // Files, and one of them.
    screen.press("2\t↓\n");
    screen.wait_for("echo shipping").await;
    screen.press("\u{1b}");
    screen.wait_for("B  SKILL.md").await;
    // Always: the question says what it costs.
    screen.press("1a");
    screen.wait_for("Always load team:deploy? It loads without asking until it changes.").await;
    screen.press("\n");
    screen.wait_for("Approved team:deploy").await;
    assert_eq!(user.state_of("team:deploy").await, "approved");
    // A changed skill: the lines that differ.
    screen.press("\t/release\n3r");
    let shown = screen.wait_for("+Write one line for each change, newest first.").await;
    assert!(shown.contains("-Write one line for each change."), "{shown}");
    screen.press("n\n");
    screen.wait_for("Declined team:release-notes.").await;
    assert_eq!(user.state_of("team:release-notes").await, "declined");
    // All of a server.
    screen.press("\u{1b}");
    screen.wait_for("refunds").await;
    screen.press("gA");
    screen.wait_for("What it lists now loads without asking.").await;
    screen.press("\n");
    screen.wait_until("only triage", |text| !text.contains("server acme")).await;
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    assert_eq!(user.state_of("acme:invoices").await, "approved");
    screen.press("l");
    screen.wait_for("team:triage waits until later.").await;
    screen.press("q");
    let (code, left) = screen.wait().await;
    assert_eq!(code, Some(0));
    assert!(left.contains("4 decisions recorded. 1 skill waits."), "{left}");
}

#[tokio::test]
async fn once_allows_one_load_and_no_other() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let mut screen = TestScreen::start(user.command(&["review"]), (80, 24));
    screen.wait_for("refunds").await;
    screen.press("o\n");
    screen.wait_for("The next load of acme:refunds is allowed.").await;
    screen.press("q");
    screen.wait().await;
    assert_eq!(user.state_of("acme:refunds").await, "new", "it is not approved");
    assert!(user.run_ok(&["load", "acme:refunds"]).await.contains("refunds"));
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[not_approved]");
    let log = user.run_ok(&["audit"]).await;
    assert!(log.contains("for the next load, at a terminal"), "{log}");
}

#[tokio::test]
async fn a_skill_that_moved_since_it_was_shown_is_not_decided() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("refunds", [("policy.md", "30 days")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    let mut screen = TestScreen::start(user.command(&["review"]), (80, 24));
    screen.wait_for("refunds").await;
    assert_eq!(server.count("resources/read"), 0, "hst_53: nothing is read ahead");
    screen.press("r");
    screen.wait_for("matches what").await;
    assert_eq!(server.count("resources/read"), 1);
    server.set_skill("refunds", [("policy.md", "90 days")]);
    screen.press("a\n");
    let shown = screen.wait_for("changed while you looked").await;
    assert!(
        shown.contains("nothing was recorded") && shown.contains("was not read yet"),
        "{shown}"
    );
    assert_eq!(user.state_of("acme:refunds").await, "new");
    // As it is now, it can be decided about.
    screen.press("n\n");
    screen.wait_for("Declined acme:refunds.").await;
    screen.press("q");
    assert_eq!(screen.wait().await.0, Some(0));
    assert_eq!(user.state_of("acme:refunds").await, "declined");
}

#[tokio::test]
async fn it_works_in_any_size_and_without_colours() {
    let (user, _team, _acme) = user_with_skills().await;
    let mut command = user.command(&["review"]);
    command.env("NO_COLOR", "1");
    let mut screen = TestScreen::plain(command, (80, 24));
    screen.wait_for("wait for you  5").await;
    screen.press("↓↓");
    let wide = screen.wait_for("> deploy").await;
    assert!(wide.contains("1 Text") && wide.contains("q quit"), "{wide}");
    assert!(!screen.has_colours());
    screen.resize(50, 14);
    let narrow = screen
        .wait_until("one pane", |text| text.contains("> deploy") && !text.contains("1 Text"))
        .await;
    assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
    screen.press("\n");
    screen.wait_for("1 Text").await;
    screen.resize(20, 4);
    screen.wait_for("Make the window").await;
    screen.resize(120, 40);
    screen
        .wait_until("both panes", |text| text.contains("> deploy") && text.contains("1 Text"))
        .await;
    // The terminal is given back also when the program is told to end.
    screen.signal("TERM");
    assert_eq!(screen.wait().await.0, Some(0));
}

#[tokio::test]
async fn a_server_that_is_away_or_slow_keeps_no_other_from_being_decided() {
    let (user, skills) = (TestUser::new(), refunds());
    let hanging = HostileServer::new()
        .on("server/discover", |_, _| ScriptedReply::Never)
        .on("initialize", |_, _| ScriptedReply::Never);
    let slow = hanging.http().await;
    user.add_folder_server("acme", &skills).await;
    user.run_ok(&["server", "add", "gone", "--no-connect", "--", "no-such-program-here"]).await;
    user.add_http_server("slow", &slow).await;
    let mut screen = TestScreen::start(user.command(&["review"]), (100, 24));
    let shown = screen
        .wait_until("acme and slow", |text| {
            text.contains("refunds") && text.contains("waiting for slow")
        })
        .await;
    assert!(shown.contains("server_unreachable"), "{shown}");
    screen.press("a\n");
    screen.wait_for("Approved acme:refunds").await;
    screen.press("q");
    assert_eq!(screen.wait().await.0, Some(0));
}

#[tokio::test]
async fn a_pipe_gets_what_waits_and_decides_nothing() {
    let (user, _team, _acme) = user_with_skills().await;
    let ran = user.run(&["review"]).await.assert_exit(0);
    assert!(ran.stdout.contains("team:triage  widened  1 file"), "{}", ran.stdout);
    assert!(ran.stderr.contains("5 skills wait for a decision"), "{}", ran.stderr);
    let waiting = user.run_json(&["review", "--json", "--server", "team"]).await;
    let why: Vec<_> =
        waiting["waiting"].as_array().unwrap().iter().map(|it| it["why"].clone()).collect();
    assert_eq!(why, ["new", "changed", "widened"]);
    user.run(&["review", "--server", "taem"]).await.assert_refused(5, "Did you mean `team`?");
    assert_eq!(user.state_of("team:deploy").await, "new");
}

#[tokio::test]
async fn the_summary_of_a_batch_fits_the_terminal_fu_07() {
    let (user, _team, _acme) = user_with_skills().await;
    let mut screen = TestScreen::start(user.command(&["approve", "--all"]), (100, 16));
    let shown = screen.wait_for("[v]iew:").await;
    assert!(shown.contains("Approve 5 skills from 2 servers?"), "{shown}");
    screen.assert_picture("approve-all.svg");
    screen.press("y\n");
    let (code, left) = screen.wait().await;
    assert_eq!(code, Some(0));
    assert!(left.contains("Approved 5 skills."), "{left}");
}
