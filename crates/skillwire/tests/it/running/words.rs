//! What a script gets as its arguments, and what of the skill it can use.

use super::ScriptUser;

const WORDS: &str = "import os, sys\nprint(sys.argv[1:], os.environ.get('API_TOKEN'))\n";

#[tokio::test]
async fn nothing_after_the_script_is_an_option_of_the_command_b_07() {
    let user = ScriptUser::new(&[("words.py", WORDS)]).await;
    let variables = [("API_TOKEN", "secret")];
    for words in [
        &["--env=API_TOKEN", "--network=example.com:443", "word"][..],
        &["--env", "API_TOKEN", "--json"],
        &["--", "--help", "-q"],
        &["--output", "out", "-h"],
    ] {
        let command = [&["words.py"], words].concat();
        let ran = user.run_with(&variables, &[], &command).await.assert_exit(0);
        let printed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
        assert_eq!(ran.stdout, format!("[{printed}] None\n"));
        assert!(ran.stderr.contains("your variables: none; network: none"), "{}", ran.stderr);
    }
    let dashes = user.user.run(&["run", "--", "acme:tools", "words.py", "--env"]).await;
    assert_eq!(dashes.assert_exit(0).stdout, "['--env'] None\n");
}

#[tokio::test]
async fn scripts_import_from_the_skill_and_call_each_other() {
    let files = [
        (
            "scripts/main.py",
            "from scripts.shared.words import WORD\nimport helper\nprint(WORD, helper.X)\n",
        ),
        ("scripts/helper.py", "X = 'beside'\n"),
        ("scripts/shared/words.py", "WORD = 'imported'\n"),
        ("scripts/outer.sh", "#!/bin/sh\n\"$SKILL_DIR/scripts/inner.sh\" \"$1\"\n"),
        ("scripts/inner.sh", "#!/bin/sh\necho \"inner got $1\"\n"),
    ];
    let user = ScriptUser::new(&files).await;
    let ran = user.run(&[], &["scripts/main.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "imported beside\n");
    let ran = user.run(&[], &["scripts/outer.sh", "word"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "inner got word\n");
}

#[tokio::test]
async fn a_script_that_is_not_named_or_lies_in_a_folder_is_told_fu_26() {
    let files = [("scripts/words.py", WORDS), ("references/a.md", "text")];
    let user = ScriptUser::new(&files).await;
    let none = user.run(&[], &[]).await.assert_exit(102);
    assert!(none.stderr.starts_with("error: No script was named.\n"), "{none:?}");
    assert!(none.stderr.contains("The skill's scripts: `scripts/words.py`."), "{none:?}");
    let bare = user.run(&[], &["words.py"]).await;
    bare.assert_refused(102, "Did you mean `scripts/words.py`?");
    let time = user.run(&["--time", "0"], &["scripts/words.py"]).await;
    time.assert_refused(102, "The time of a run is 1 to 86400 seconds, and not 0.");
    let input = user.run(&["--input", "none.csv"], &["scripts/words.py"]).await;
    input.assert_refused(102, "Name a file or folder that you can read.");
}
