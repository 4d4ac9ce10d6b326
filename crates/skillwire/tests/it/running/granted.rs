//! What a run gets of what the user granted the skill.

use super::ScriptUser;

const SEE: &str = "import os\nprint(os.environ.get('API_TOKEN'), os.environ.get('OTHER'))\n";

#[tokio::test]
async fn a_run_gets_what_the_skill_was_granted_or_less() {
    let variables = [("API_TOKEN", "secret"), ("OTHER", "more")];
    let user = ScriptUser::new(&[("see.py", SEE)]).await;
    let ran = user.run_with(&variables, &[], &["see.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "None None\n");
    for options in [
        &["--env", "API_TOKEN"][..],
        &["--network", "api.example.com:443"],
        &["--time", "31"],
        &["--memory", "513M"],
    ] {
        let refused = user.run_with(&variables, options, &["see.py"]).await.assert_exit(104);
        assert!(refused.stderr.contains("skillwire approve"), "{options:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    let grants = ["--env", "API_TOKEN", "--env", "OTHER", "--time", "60"];
    let user = ScriptUser::granted(&[("see.py", SEE)], &grants).await;
    let ran = user.run_with(&variables, &[], &["see.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "secret more\n");
    assert!(ran.stderr.contains("at most 60 s"), "{}", ran.stderr);
    let less = ["--env", "OTHER", "--time", "5"];
    let ran = user.run_with(&variables, &less, &["see.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "None more\n");
    assert!(ran.stderr.contains("at most 5 s"), "{}", ran.stderr);
    // A granted variable that is not set is no error unless this run asks for it.
    let ran = user.run_with(&variables[..1], &[], &["see.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "secret None\n");
}
