//! Runs scripts isolated and bare, as root and as an ordinary user.

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

/// A user id that nothing else on a machine has.
const ORDINARY: u32 = 64_321;

/// The interpreter of the attacks, in the place where jobs find it.
const PYTHON: &str = "/usr/bin/python3";

/// Who runs the program that runs a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Ordinary,
}

/// The users that can be tried: both when this is root.
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
        let attack = Attack::python("print(os.getuid(), os.geteuid(), os.getgid())");
        let ids = attack.run_outside(user);
        let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        assert!(ids.iter().all(|id| (*id == 0) == (user == User::Root)), "{user:?}: {ids:?}");
    }
}

/// One cell of the matrix that every attack goes through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) user: User,
    pub(crate) tier: &'static str,
}

/// Every user in every tier that this machine gives. Where it does not give one, the refusal is
/// asserted: it names what is missing and what to do, and nothing ran.
pub(crate) fn cells() -> Vec<Cell> {
    let all = users()
        .into_iter()
        .flat_map(|user| ["full", "restricted"].into_iter().map(move |tier| Cell { user, tier }));
    all.filter(|cell| {
        let answer = Attack::python("print('here')").run(*cell);
        if let Some(unavailable) = answer.get("unavailable") {
            let missing = unavailable["missing"].as_array().unwrap();
            assert!(!missing.is_empty() && answer.get("stdout").is_none(), "{answer}");
            for part in missing {
                assert!(!part["what"].as_str().unwrap().is_empty(), "{answer}");
                assert!(!part["hint"].as_str().unwrap().is_empty(), "{answer}");
            }
            skip(TestNeed::AvailableIsolation, &format!("{cell:?} is refused here: {unavailable}"));
            return false;
        }
        assert_eq!(answer["stdout"], "here\n", "{answer}");
        true
    })
    .collect()
}

/// The driver, copied to where every user can execute it.
fn driver() -> &'static Path {
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

/// The same in another place.
pub(crate) fn public_folder_in(place: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("skillwire-attack-").tempdir_in(place).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

/// Makes a command run as a user.
pub(crate) fn as_user(command: &mut Command, user: User) -> &mut Command {
    if user == User::Ordinary && is_root() {
        command.uid(ORDINARY).gid(ORDINARY);
    }
    command
}

/// A program that runs as a user until it is dropped.
pub(crate) struct Victim(pub(crate) Child);

impl Victim {
    /// Waits for its standard input to end.
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

/// What must never come out of a sandbox.
pub(crate) const SECRET: &str = "s3cret-that-stays";

/// A script and what it is given.
#[derive(Clone)]
pub(crate) struct Attack {
    request: Map<String, Value>,
    script: String,
    arguments: Map<String, Value>,
    /// Variables of the program that runs it.
    surroundings: BTreeMap<String, String>,
}

/// Every attack is a list of attempts; each prints its name and how it went.
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

impl Attack {
    pub(crate) fn python(script: &str) -> Self {
        let script = format!("{PRELUDE}\n{script}");
        Self::file("attack.py", script.as_bytes()).remembering(script)
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
            script: String::new(),
            arguments: Map::new(),
            surroundings: BTreeMap::new(),
        }
    }

    fn remembering(mut self, script: String) -> Self {
        self.script = script;
        self
    }

    /// Gives it an argument; it arrives on standard input and as an option.
    pub(crate) fn give(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(key.to_owned(), value.into());
        self
    }

    pub(crate) fn limit(mut self, limits: Value) -> Self {
        self.request.insert("limits".to_owned(), limits);
        self
    }

    pub(crate) fn set(mut self, key: &str, value: Value) -> Self {
        self.request.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn surround(mut self, name: &str, value: &str) -> Self {
        self.surroundings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs it isolated.
    pub(crate) fn run(&self, cell: Cell) -> Value {
        self.run_by(cell, Command::new(driver()))
    }

    /// Starts it isolated and leaves it running.
    pub(crate) fn start(&self, cell: Cell) -> Child {
        let mut command = Command::new(driver());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        command.process_group(0);
        let mut child = as_user(&mut command, cell.user).spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.request(cell).as_bytes()).unwrap();
        child
    }

    fn request(&self, cell: Cell) -> String {
        let mut request = self.request.clone();
        request.insert("tier".to_owned(), cell.tier.into());
        request.insert("arguments".to_owned(), self.arguments.clone().into());
        Value::Object(request).to_string()
    }

    /// Runs it isolated, with a descriptor of a file that the driver inherits.
    pub(crate) fn run_with_descriptor(&self, cell: Cell, file: &Path) -> Value {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 9<\"$1\"; exec \"$2\"", "sh"]).arg(file).arg(driver());
        self.run_by(cell, command)
    }

    fn run_by(&self, cell: Cell, mut command: Command) -> Value {
        let request = self.request(cell);
        command.envs(&self.surroundings).current_dir("/");
        let output = feed(as_user(&mut command, cell.user), request.as_bytes());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Runs it bare, in a folder of its own: what the sandbox has to prevent.
    pub(crate) fn run_outside(&self, user: User) -> String {
        let output = feed(&mut self.outside(user), &self.stdin());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same, with a descriptor of a file that it inherits.
    pub(crate) fn run_outside_with_descriptor(&self, user: User, file: &Path) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec 9<\"$1\"; exec /usr/bin/python3 -c \"$2\"", "sh"]);
        command.arg(file).arg(&self.script).envs(&self.surroundings).current_dir("/");
        let output = feed(as_user(&mut command, user), &self.stdin());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts it bare and leaves it running.
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
        command.arg("-c").arg(&self.script);
        for (key, value) in &self.arguments {
            command.arg(format!("--{key}")).arg(value.to_string());
        }
        let scratch = self.arguments.get("outside").and_then(Value::as_str).unwrap_or("/");
        command.env("OUTPUT_DIR", scratch).env("TMPDIR", scratch).env("SKILL_DIR", scratch);
        command.envs(&self.surroundings).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        as_user(&mut command, user);
        command
    }
}

fn feed(command: &mut Command, bytes: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that ends early is judged by what it said.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

/// How each attempt of an attack went: nothing when it was done, or why it failed.
pub(crate) fn attempts(output: &str) -> BTreeMap<String, Option<String>> {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (name, how) = (words.next()?, words.next()?);
            match how {
                "done" => Some((name.to_owned(), None)),
                "failed" => Some((name.to_owned(), Some(words.next().unwrap_or("?").to_owned()))),
                _ => None,
            }
        })
        .collect()
}

/// Asserts that these attempts succeed outside for this user, as the attack's positive control.
pub(crate) fn assert_succeed_outside(attack: &Attack, user: User, names: &[&str]) {
    let output = attack.run_outside(user);
    let went = attempts(&output);
    for name in names {
        assert_eq!(went.get(*name), Some(&None), "{name} as {user:?}: {output}");
    }
}

/// Asserts that every attempt was made inside and none of these succeeded.
pub(crate) fn assert_fail_inside(answer: &Value, names: &[&str], cell: Cell) {
    let output = answer["stdout"].as_str().unwrap_or_else(|| panic!("{cell:?}: {answer}"));
    let went = attempts(output);
    for name in names {
        let how =
            went.get(*name).unwrap_or_else(|| panic!("{name} was not tried, {cell:?}: {answer}"));
        assert!(how.is_some(), "{name} succeeded, {cell:?}: {answer}");
    }
}

/// The processes whose command line holds a token.
pub(crate) fn processes_with(token: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(token).then_some(pid)
    })
    .collect()
}

/// A word that stands in the command lines of one run alone.
pub(crate) fn token() -> String {
    let mut secret = [0; 8];
    getrandom::fill(&mut secret).unwrap();
    format!("token{:016x}", u64::from_ne_bytes(secret))
}
