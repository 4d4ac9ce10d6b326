//! Links and other tricks in the output folder.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::support::{AttackScript, SECRET, Victim, attempts, public_folder, test_cases, users};

const TRICKS: &str = r#"
secret = given["secret"]
out = os.environ["OUTPUT_DIR"]
def put(name, make):
    attempt(name, lambda: make(os.path.join(out, name)))
put("symbolic", lambda path: os.symlink(secret, path))
put("hard", lambda path: os.link(secret, path))
put("folder", lambda path: os.symlink(os.path.dirname(secret), path))
put("loop", lambda path: os.symlink(".", path))
put("descriptor", lambda path: os.symlink("/proc/self/environ", path))
put("fifo", os.mkfifo)
put("device", lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)))
put("socket", lambda path: socket.socket(socket.AF_UNIX).bind(path))
open(os.path.join(out, "honest"), "w").write("honest")
os.link(os.path.join(out, "honest"), os.path.join(out, "second"))
open(os.path.join(out, b"\xff\xfe".decode("utf-8", "surrogateescape")), "w").write("x")
# A race: a name that is now a file, now a link, until the end and after it.
def race():
    end = time.time() + 5
    while time.time() < end:
        for make in (lambda p: open(p, "w").write("file"), lambda p: os.symlink(secret, p)):
            try:
                make(os.path.join(out, "new"))
                os.rename(os.path.join(out, "new"), os.path.join(out, "race"))
            except OSError:
                pass
try:
    if os.fork() == 0:
        race()
        os._exit(0)
except OSError:
    pass
time.sleep(0.1)
"#;

#[test]
fn links_in_the_output_folder_lead_nowhere() {
    let cases = test_cases();
    for user in users() {
        let folder = public_folder();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, SECRET).unwrap();
        // A collector that follows links would return the secret.
        let outside = public_folder();
        let attack = AttackScript::python(TRICKS).argument("secret", secret.to_str().unwrap());
        attack.clone().argument("outside", outside.path().to_str().unwrap()).run_outside(user);
        assert_eq!(std::fs::read_to_string(outside.path().join("symbolic")).unwrap(), SECRET);
        assert_eq!(std::fs::read_to_string(outside.path().join("folder/secret")).unwrap(), SECRET);

        for case in cases.iter().filter(|case| case.user == user) {
            let _victim = Victim::start(case.user);
            let answer = attack.run(*case);
            assert_eq!(answer["end"]["exited"], 0, "{case:?}: {answer}");
            let files = answer["files"].as_object().unwrap();
            for (name, bytes) in files {
                let bytes = BASE64_STANDARD.decode(bytes.as_str().unwrap()).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                // A file with two names is left out, and of the race only a file is taken.
                let raced = ["race", "new"].contains(&name.as_str());
                let honest = text.is_empty() || text == "file";
                assert!(raced && honest, "{case:?}: {answer}");
            }
            // Without this the test would show nothing if links could not be made at all.
            let went = attempts(answer["stdout"].as_str().unwrap());
            for name in ["symbolic", "folder", "loop", "descriptor"] {
                assert_eq!(went[name], None, "{name}, {case:?}: {answer}");
            }
            // These four, the file with two names twice, and the name that is not UTF-8.
            assert!(answer["skipped_files"].as_u64().unwrap() >= 7, "{case:?}: {answer}");
            assert_eq!(std::fs::read_to_string(&secret).unwrap(), SECRET);
        }
    }
}

#[test]
fn only_so_many_files_come_back() {
    let script = "for n in range(100): open('f%03d' % n, 'w').write('x')";
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["files"].as_object().unwrap().len(), 32, "{case:?}: {answer}");
        assert_eq!(answer["skipped_files"], 68, "{case:?}: {answer}");
    }
}

/// Writes much more than a script may hold in memory, a piece at a time.
const LARGE: &str = r#"
os.mkdir("deep")
for name in ["one", "deep/two"]:
    with open(name, "wb", buffering=0) as file:
        for _ in range(given["mebibytes"] // 2):
            file.write(b"x" * 1048576)
"#;

#[test]
fn results_larger_than_the_memory_of_a_script_come_back_b_01() {
    const MIB: u64 = 1024 * 1024;
    for case in test_cases() {
        let answer = AttackScript::python(LARGE)
            .argument("mebibytes", 160)
            .request_field("lengths_only", true.into())
            .limit(serde_json::json!({ "memory_bytes": 64 * MIB, "folder_bytes": 200 * MIB }))
            .run(case);
        assert_eq!(answer["end"]["exited"], 0, "{case:?}: {answer}");
        let expected = serde_json::json!({ "one": 80 * MIB, "deep/two": 80 * MIB });
        assert_eq!(answer["files"], expected, "{case:?}: {answer}");
        // The script itself held little.
        let peak = answer["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak < 40 * MIB, "{case:?}: {answer}");
    }
}
