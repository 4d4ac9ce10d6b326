//! Arguments that a skill declares for its scripts, at every door.

use serde_json::{Value, json};

use super::ScriptUser;
use crate::support::{StdioServer, skill_with};

async fn user() -> ScriptUser {
    let skill = skill_with("tools", "metadata:\n  skillwire-scripts: declared.json\n");
    let declared = json!({ "look.sh": {
        "arguments": { "type": "object", "required": ["file"], "additionalProperties": false,
                       "properties": { "file": { "type": "string" }, "n": { "type": "integer" } } },
        "positional": ["file"] } });
    let declared = declared.to_string();
    let files = [
        ("SKILL.md", skill.as_str()),
        ("declared.json", declared.as_str()),
        ("look.sh", "echo \"words: $*\"\n"),
        ("other.sh", "echo \"words: $*\"\n"),
    ];
    ScriptUser::new(&files).await
}

const ARGUMENTS: &str =
    "arguments: file (a positional word, required): text; n (`-n`): an integer\n";

#[tokio::test]
async fn words_that_do_not_fit_what_a_skill_declares_start_no_script() {
    let user = user().await;
    for words in [&["look.sh", "-n", "2", "a.csv"][..], &["look.sh", "--help"], &["other.sh", "-x"]]
    {
        let ran = user.run(&[], words).await.assert_exit(0);
        assert!(ran.stdout.starts_with("words: "), "{words:?}: {}", ran.stdout);
    }
    for (words, said) in [
        (&["look.sh", "-n", "x", "a.csv"][..], "`arguments.n` is not an integer"),
        (&["look.sh"], "`arguments` lacks `file`"),
        (&["look.sh", "a.csv", "b.csv"], "`b.csv` is one word too many"),
    ] {
        let refused = user.run(&[], words).await.assert_exit(102);
        assert!(refused.stderr.contains(said), "{words:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("`skillwire run acme:tools look.sh --help`"),
            "{}",
            refused.stderr
        );
        assert_eq!(refused.stdout, "", "{words:?}");
    }
}

#[tokio::test]
async fn a_bridge_names_declared_arguments_and_checks_them() {
    let user = user().await;
    let mut bridge = StdioServer::start(user.user.command(&["bridge"]));
    let run = |more: Value| {
        let mut arguments = json!({ "name": "acme:tools" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "name": "run_skill_script", "arguments": arguments })
    };
    let listed = bridge.modern("tools/call", run(json!({}))).await;
    let text = listed.result()["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!("  look.sh\n    {ARGUMENTS}  other.sh\n")), "{text}");
    let words = json!({ "script": "look.sh", "args": ["-n", "2", "a.csv"] });
    let ran = bridge.modern("tools/call", run(words)).await;
    assert!(ran.result()["content"][0]["text"].to_string().contains("words: -n 2 a.csv"));
    let words = json!({ "script": "look.sh", "args": ["-n", "x", "a.csv"] });
    let refused = bridge.modern("tools/call", run(words)).await;
    assert_eq!(refused.result()["isError"], true);
    let said = refused.result()["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("`arguments.n` is not an integer"), "{said}");
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn a_server_lists_arguments_and_grants_of_its_scripts() {
    let user = user().await;
    let folder = user.skills.path().to_str().unwrap();
    let config = format!(
        "dirs = [{folder:?}]\nexecute = true\n[[script]]\nallow = [\"tools/look.sh\"]\n\
         network = [\"api.example.com:443\"]\n[[script]]\nallow = [\"tools/other.sh\"]\n"
    );
    user.work_file("serve.toml", &config);
    let mut server = StdioServer::start(user.user.command(&["serve", "--config", "serve.toml"]));
    let list = json!({ "name": "run_skill_script", "arguments": { "skill": "tools" } });
    let listed = server.modern("tools/call", list).await;
    let text = listed.result()["content"][0]["text"].as_str().unwrap().to_owned();
    let expected =
        format!("  look.sh\n    {ARGUMENTS}    network: api.example.com:443\n  other.sh\n");
    assert!(text.ends_with(&expected), "{text}");
    server.close().await.assert_exit(0);
}
