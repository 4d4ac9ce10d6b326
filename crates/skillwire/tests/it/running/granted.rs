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
    // Granted and asked for in the same words.
    let user = ScriptUser::granted(&[("see.py", SEE)], &["--memory", "1G"]).await;
    let ran = user.run(&["--memory", "1G"], &["see.py"]).await.assert_exit(0);
    assert!(ran.stderr.contains("1024 MiB"), "{}", ran.stderr);
    user.run(&["--memory", "1025M"], &["see.py"]).await.assert_exit(104);
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

/// Asks the proxy for a destination, as libraries do.
const CONNECT: &str = "import os, socket, sys\n\
    proxy = os.environ['https_proxy'].removeprefix('http://').split(':')\n\
    for name in sys.argv[1:]:\n\
    \x20   s = socket.create_connection((proxy[0], int(proxy[1])))\n\
    \x20   s.sendall(f'CONNECT {name} HTTP/1.1\\r\\n\\r\\n'.encode())\n\
    \x20   print(s.recv(12).decode())\n";

#[tokio::test]
async fn destinations_that_a_script_was_kept_from_are_named_fu_26() {
    let grants = ["--network", "api.example.com:443", "--network", "localhost:9"];
    let user = ScriptUser::granted(&[("ask.py", CONNECT)], &grants).await;
    let command = ["ask.py", "cdn.example.com:443", "cdn.example.com:443", "localhost:9"];
    let ran = user.run(&[], &command).await.assert_exit(0);
    assert_eq!(ran.stdout, "HTTP/1.1 403\n".repeat(3));
    let not_granted = "It was kept from `cdn.example.com:443`, which this run was not given.";
    assert_eq!(ran.stderr.matches(not_granted).count(), 1, "{}", ran.stderr);
    // The command keeps what was granted before.
    let grant = ["api.example.com:443", "cdn.example.com:443", "localhost:9"];
    let line = ran.stderr.lines().find(|line| line.starts_with(not_granted)).unwrap();
    assert!(grant.iter().all(|one| line.contains(&format!("--network {one}"))), "{line}");
    assert!(ran.stderr.contains("`localhost:9`: the name leads to this machine"), "{}", ran.stderr);
    let ran = user.run(&["--json"], &command).await.assert_exit(0);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["kept_from"], serde_json::json!(["cdn.example.com:443", "localhost:9"]));
}
