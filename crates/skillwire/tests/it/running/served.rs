//! Inputs, arguments and the log of scripts that a server runs.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{StdioServer, skill_with};

const SCRIPT: &str = "import os, sys\n\
    print(sys.argv[1:], sorted(os.listdir('.')))\n\
    for name in sorted(os.listdir('.')):\n    print(name, open(name).read())\n\
    open('left.txt', 'w').write('left by a run')\n";

fn folder() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("tools/SKILL.md", skill_with("tools", ""));
    folder.file("tools/scripts/look.py", SCRIPT);
    folder.file("tools/assets/own.txt", "of the skill");
    folder
}

fn server(folder: &SkillFolder) -> StdioServer {
    StdioServer::serve(folder, &[".", "--execute", "--allow-script", "tools/scripts/*"])
}

fn call(arguments: &Value, inputs: &Value) -> Value {
    json!({ "name": "run_skill_script", "arguments": {
        "skill": "tools", "script": "scripts/look.py", "arguments": arguments, "inputs": inputs } })
}

#[tokio::test]
async fn a_client_sends_inputs_or_names_resources_of_the_server() {
    let folder = folder();
    let mut server = server(&folder);
    let inputs = json!([
        { "name": "a.txt", "text": "sent" },
        { "name": "b.txt", "blob": "Ynl0ZXM=" },
        { "uri": "skill://tools/assets/own.txt" },
    ]);
    let ran = server.modern("tools/call", call(&json!({}), &inputs)).await;
    let content = &ran.result()["content"];
    let printed =
        "[] ['a.txt', 'b.txt', 'own.txt']\na.txt sent\nb.txt bytes\nown.txt of the skill\n";
    assert_eq!(content[1]["text"], printed, "{content}");
    let link = &content[2];
    assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("left.txt")));
    assert_eq!(link["_meta"]["skillwire/secondsToLive"], 600);
    // What one run left is an input of the next.
    let inputs = json!([{ "name": "again.txt", "uri": link["uri"] }]);
    let ran = server.modern("tools/call", call(&json!({}), &inputs)).await;
    let printed = "[] ['again.txt']\nagain.txt left by a run\n";
    assert_eq!(ran.result()["content"][1]["text"], printed);
    for refused in [
        json!([{ "uri": "file:///etc/passwd" }]),
        json!([{ "uri": "skill://tools/assets/none.txt" }]),
        json!([{ "name": "../up.txt", "text": "x" }]),
        json!("inputs"),
    ] {
        let answer = server.modern("tools/call", call(&json!({}), &refused)).await;
        assert_eq!(answer.result()["isError"], true, "{refused}");
    }
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn arguments_are_words_switches_and_subcommands_b_10() {
    let folder = folder();
    let mut server = server(&folder);
    for (arguments, words) in [
        (json!({ "verbose": false, "force": true }), "['--force']"),
        (
            json!({ "_command": "check", "color": ["a", "b"], "n": 3, "_": ["x"] }),
            "['check', '--color', 'a', '--color', 'b', '-n', '3', 'x']",
        ),
        (json!(["check", "--verbose", "-"]), "['check', '--verbose', '-']"),
    ] {
        let ran = server.modern("tools/call", call(&arguments, &json!([]))).await;
        let printed = ran.result()["content"][1]["text"].as_str().unwrap().to_owned();
        assert!(printed.starts_with(words), "{arguments}: {printed}");
    }
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn arguments_that_a_skill_declares_are_checked_before_its_script_runs() {
    let folder = folder();
    let metadata = "metadata:\n  skillwire-scripts: scripts.json\n";
    folder.file("tools/SKILL.md", skill_with("tools", metadata));
    let declared = json!({ "scripts/look.py": {
        "arguments": { "type": "object", "required": ["file"], "additionalProperties": false,
                       "properties": { "file": { "type": "string" }, "n": { "type": "integer" } } },
        "positional": ["file"] } });
    folder.file("tools/scripts.json", declared.to_string());
    let mut server = server(&folder);
    let sent = json!({ "n": 2, "file": "a.csv" });
    let ran = server.modern("tools/call", call(&sent, &json!([]))).await;
    let printed = ran.result()["content"][1]["text"].as_str().unwrap().to_owned();
    assert!(printed.starts_with("['-n', '2', 'a.csv']"), "{printed}");
    let refused =
        server.modern("tools/call", call(&json!({ "n": "x", "file": "a" }), &json!([]))).await;
    let said = refused.result()["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("`arguments.n` is not an integer"), "{said}");
    server.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_server_logs_requests_for_absent_files_and_paths_outside_b_15() {
    let folder = folder();
    let mut server = server(&folder);
    for (script, logged) in [
        ("scripts/none.py", "script=\"scripts/none.py\""),
        ("../../etc/passwd", "script=\"../../etc/passwd\""),
    ] {
        let asked = json!({ "name": "run_skill_script", "arguments": {
            "skill": "tools", "script": script } });
        server.modern("tools/call", asked).await;
        let line = server.process.wait_for_line(logged).await;
        assert!(line.contains("not run: "), "{line}");
    }
    server.close().await.assert_exit(0);
}
