//! Runs attack scripts inside and outside of the sandbox, as root and as an ordinary user.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::test_skip::{TestNeed, skip};

/// A user id that no process on the machine has.
const ORDINARY_UID: u32 = 64_321;

/// The interpreter of the attacks, where the sandbox finds it as well.
const PYTHON: &str = "/usr/bin/python3";

/// The user that runs the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Ordinary,
}

/// The users that tests can run as: both if the tests run as root.
pub(crate) fn users() -> Vec<User> {
    if is_root() {
        vec![User::Root, User::Ordinary]
    } else {
        skip(TestNeed::Root, "this is not root: only the half for ordinary users runs");
        vec![User::Ordinary]
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    line.split_whitespace().nth(1) == Some("0")
}

#[test]
fn attacks_really_run_as_the_users_they_name() {
    for user in users() {
        let attack = AttackScript::python("print(os.getuid(), os.geteuid(), os.getgid())");
        let ids = attack.run_outside(user);
        let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        assert!(ids.iter().all(|id| (*id == 0) == (user == User::Root)), "{user:?}: {ids:?}");
    }
}

/// A user and a tier. Every attack is tried with each pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestCase {
    pub(crate) user: User,
    pub(crate) tier: &'static str,
}

/// Every user in every tier that this machine gives. Where it does not give a tier, this asserts
/// that the sandbox names what is missing and what to do, and that nothing ran.
pub(crate) fn test_cases() -> Vec<TestCase> {
    let all = users().into_iter().flat_map(|user| {
        ["full", "restricted"].into_iter().map(move |tier| TestCase { user, tier })
    });
    all.filter(|case| {
        let answer = AttackScript::python("print('here')").run(*case);
        if let Some(unavailable) = answer.get("unavailable") {
            let missing = unavailable["missing"].as_array().unwrap();
            assert!(!missing.is_empty() && answer.get("stdout").is_none(), "{answer}");
            for part in missing {
                assert!(!part["what"].as_str().unwrap().is_empty(), "{answer}");
                assert!(!part["hint"].as_str().unwrap().is_empty(), "{answer}");
            }
            skip(TestNeed::Isolation, &format!("{case:?} is refused here: {unavailable}"));
            return false;
        }
        assert_eq!(answer["stdout"], "here\n", "{answer}");
        true
    })
    .collect()
}

/// The test driver, copied to a folder where every user can execute it.
pub(crate) fn driver() -> &'static Path {
    static DRIVER: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    &DRIVER
        .get_or_init(|| {
            let folder = public_folder();
            let path = folder.path().join("isolate");
            fs::copy(env!("CARGO_BIN_EXE_skillwire-isolate"), &path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            (folder, path)
        })
        .1
}

/// A folder that every user can enter and write to.
pub(crate) fn public_folder() -> TempDir {
    public_folder_in("/tmp")
}

/// A folder in `place` that every user can enter and write to.
pub(crate) fn public_folder_in(place: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("skillwire-attack-").tempdir_in(place).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

/// Lets a command run as a user.
pub(crate) fn as_user(command: &mut Command, user: User) -> &mut Command {
    if user == User::Ordinary && is_root() {
        command.uid(ORDINARY_UID).gid(ORDINARY_UID);
    }
    command
}

/// A process of a user that attacks try to reach. It ends when this is dropped.
pub(crate) struct Victim(Child);

impl Victim {
    /// Starts a process that waits for its standard input to end.
    pub(crate) fn start(user: User) -> Self {
        let mut command = Command::new("/bin/cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.env_clear().env("VICTIM_SECRET", SECRET);
        Self(as_user(&mut command, user).spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A text that no script in the sandbox may ever read.
pub(crate) const SECRET: &str = "s3cret-that-stays";

/// A script, its arguments, and how the driver is asked to run it.
#[derive(Clone)]
pub(crate) struct AttackScript {
    request: Map<String, Value>,
    /// The script's text, to run it outside of the sandbox.
    bare_script: String,
    arguments: Map<String, Value>,
    /// Environment variables of the program that runs the script.
    caller_variables: BTreeMap<String, String>,
}

/// The beginning of every attack. Each attempt prints its name and whether it was done or failed.
const PRELUDE: &str = r#"
import ctypes, errno, json, mmap, os, signal, socket, struct, sys, time
given = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(a) if isinstance(a, int) else a for a in args])
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
def attempt(name, what):
    try:
        what()
        print(name, "done", flush=True)
    except BaseException as error:
        print(name, "failed", getattr(error, "errno", None) or type(error).__name__, flush=True)
"#;

impl AttackScript {
    pub(crate) fn python(script: &str) -> Self {
        let script = format!("{PRELUDE}\n{script}");
        Self::file("attack.py", script.as_bytes()).with_bare_script(script)
    }

    pub(crate) fn file(name: &str, bytes: &[u8]) -> Self {
        let request = json!({
            "script": name,
            "files": {
                name: BASE64_STANDARD.encode(bytes),
                "SKILL.md": BASE64_STANDARD.encode("# A skill\n"),
            },
        });
        let Value::Object(request) = request else { unreachable!("an object was written") };
        Self {
            request,
            bare_script: String::new(),
            arguments: Map::new(),
            caller_variables: BTreeMap::new(),
        }
    }

    fn with_bare_script(mut self, script: String) -> Self {
        self.bare_script = script;
        self
    }

    /// Adds an argument, which arrives on standard input and as an option.
    pub(crate) fn argument(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(key.to_owned(), value.into());
        self
    }

    pub(crate) fn limit(mut self, limits: Value) -> Self {
        self.request.insert("limits".to_owned(), limits);
        self
    }

    pub(crate) fn request_field(mut self, key: &str, value: Value) -> Self {
        self.request.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn caller_variable(mut self, name: &str, value: &str) -> Self {
        self.caller_variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs the script in the sandbox.
    pub(crate) fn run(&self, case: TestCase) -> Value {
        self.run_by(case, Command::new(driver()))
    }

    /// Starts the script in the sandbox and leaves it running.
    pub(crate) fn start(&self, case: TestCase) -> Child {
        let mut command = Command::new(driver());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        command.process_group(0);
        let mut child = as_user(&mut command, case.user).spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.request(case).as_bytes()).unwrap();
        child
    }

    fn request(&self, case: TestCase) -> String {
        let mut request = self.request.clone();
        request.insert("tier".to_owned(), case.tier.into());
        request.insert("arguments".to_owned(), self.arguments.clone().into());
        Value::Object(request).to_string()
    }

    /// Runs the script in the sandbox, with an open file that the driver inherits as descriptor 9.
    pub(crate) fn run_with_descriptor(&self, case: TestCase, file: &Path) -> Value {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 9<\"$1\"; exec \"$2\"", "sh"]).arg(file).arg(driver());
        self.run_by(case, command)
    }

    /// Runs the script in the sandbox, by a command that starts the driver.
    pub(crate) fn run_by(&self, case: TestCase, mut command: Command) -> Value {
        let request = self.request(case);
        command.envs(&self.caller_variables).current_dir("/");
        let output = feed(as_user(&mut command, case.user), request.as_bytes());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Runs the script without the sandbox, to show what the sandbox has to prevent.
    pub(crate) fn run_outside(&self, user: User) -> String {
        let output = feed(&mut self.outside(user), &self.stdin());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the script without the sandbox, with an open file that it inherits as descriptor 9.
    pub(crate) fn run_outside_with_descriptor(&self, user: User, file: &Path) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 9<\"$1\"; exec /usr/bin/python3 -c \"$2\"", "sh"]);
        command.arg(file).arg(&self.bare_script).envs(&self.caller_variables).current_dir("/");
        let output = feed(as_user(&mut command, user), &self.stdin());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts the script without the sandbox and leaves it running.
    pub(crate) fn start_outside(&self, user: User) -> Child {
        let mut child = self.outside(user).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&self.stdin()).unwrap();
        child
    }

    fn stdin(&self) -> Vec<u8> {
        Value::Object(self.arguments.clone()).to_string().into_bytes()
    }

    fn outside(&self, user: User) -> Command {
        let mut command = Command::new(PYTHON);
        command.arg("-c").arg(&self.bare_script);
        for (key, value) in &self.arguments {
            command.arg(format!("--{key}")).arg(value.to_string());
        }
        let scratch = self.arguments.get("outside").and_then(Value::as_str).unwrap_or("/");
        command.env("OUTPUT_DIR", scratch).env("TMPDIR", scratch).env("SKILL_DIR", scratch);
        command.envs(&self.caller_variables).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        as_user(&mut command, user);
        command
    }
}

fn feed(command: &mut Command, bytes: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program may end before it has read its input.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

/// How each attempt of an attack went: `None` if it was done, otherwise the error.
pub(crate) fn attempts(output: &str) -> BTreeMap<String, Option<String>> {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?;
            let how = words.next()?;
            match how {
                "done" => Some((name.to_owned(), None)),
                "failed" => Some((name.to_owned(), Some(words.next().unwrap_or("?").to_owned()))),
                _ => None,
            }
        })
        .collect()
}

/// Asserts that these attempts succeed outside of the sandbox. Otherwise their failure inside would
/// prove nothing.
pub(crate) fn assert_all_succeed_outside(attack: &AttackScript, user: User, names: &[&str]) {
    let output = attack.run_outside(user);
    let went = attempts(&output);
    for name in names {
        assert_eq!(went.get(*name), Some(&None), "{name} as {user:?}: {output}");
    }
}

/// Asserts that each of these attempts was made inside of the sandbox, and failed.
pub(crate) fn assert_all_fail_inside(answer: &Value, names: &[&str], case: TestCase) {
    let output = answer["stdout"].as_str().unwrap_or_else(|| panic!("{case:?}: {answer}"));
    let went = attempts(output);
    for name in names {
        let how =
            went.get(*name).unwrap_or_else(|| panic!("{name} was not tried, {case:?}: {answer}"));
        assert!(how.is_some(), "{name} succeeded, {case:?}: {answer}");
    }
}

/// The names of the folders of runs.
pub(crate) fn run_folders() -> Vec<String> {
    let entries = fs::read_dir("/tmp").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("skillwire-run-")).collect()
}

/// The ids of processes whose command line contains a token.
pub(crate) fn processes_with(token: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(token).then_some(pid)
    })
    .collect()
}

/// A word that only the command lines of one run contain.
pub(crate) fn unique_token() -> String {
    let mut secret = [0; 8];
    getrandom::fill(&mut secret).unwrap();
    format!("token{:016x}", u64::from_ne_bytes(secret))
}
