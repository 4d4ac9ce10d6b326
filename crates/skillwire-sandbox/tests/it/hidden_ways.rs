//! Ways out of the bounds of a run: to the disk, to sockets and signals of others, and to knowledge
//! of what others do.

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::PermissionsExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    support::{
        AttackScript, TestCase, User, Victim, assert_all_fail_inside, assert_all_succeed_outside,
        attempts, driver, processes_with, public_folder, run_folders, test_cases, unique_token,
        users,
    },
    test_skip::{TestNeed, skip},
};

/// Fills the disk with files that a walk over paths does not find.
const HIDDEN_FILES: &str = r#"
import threading
os.chdir(os.environ["OUTPUT_DIR"])
kept = []
def write(name, at=None):
    file = os.open(name, os.O_CREAT | os.O_RDWR, 0o600, dir_fd=at)
    os.write(file, b"x" * (1 << 20))
    return file
def deleted():
    for _ in range(40):
        kept.append(write("gone"))
        os.unlink("gone")
def unshared():
    # A thread whose descriptors are its own from here on.
    failed = []
    def hold():
        try:
            call(436, 3, 0xffffffff, 2)
            deleted()
            time.sleep(given["pause"])
        except OSError as error:
            failed.append(error)
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
def mapped():
    for _ in range(40):
        file = write("gone")
        kept.append(mmap.mmap(file, 4096))
        os.close(file)
        os.unlink("gone")
def nested(levels, name, mode):
    os.mkdir("base")
    at = os.open("base", os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.fchmod(at, mode)
        at = below
    for number in range(40):
        os.close(write(str(number), at))
    os.fchmod(at, mode)
def long(): nested(30, "d" * 200, 0o700)
def closed(): nested(1, "c", 0o300)
def deep(): nested(80, "d", 0o300)
def many():
    os.mkdir("m")
    at = os.open("m", os.O_RDONLY)
    os.fchmod(at, 0o300)
    for number in range(3000):
        os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=at))
def and_wait(what):
    what()
    time.sleep(given["pause"])
attempt(given["kind"], lambda: and_wait(globals()[given["kind"]]))
"#;

#[test]
fn files_that_have_no_reachable_name_count_and_are_removed_b_03() {
    let cases = test_cases();
    for kind in ["deleted", "unshared", "mapped", "long", "closed", "deep", "many"] {
        let attack = AttackScript::python(HIDDEN_FILES)
            .argument("kind", kind)
            .limit(json!({ "folder_bytes": 2 * 1024 * 1024 }));
        for case in &cases {
            let outside = public_folder();
            let bare = attack.clone().argument("pause", 0);
            let bare = bare.argument("outside", outside.path().to_str().unwrap());
            let bare = bare.run_outside(case.user);
            assert_eq!(attempts(&bare)[kind], None, "{kind}: {bare}");
            let before = run_folders();
            let answer = attack.clone().argument("pause", 1.5).run(*case);
            let went = attempts(answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")));
            let stopped = answer["end"] == json!({ "stopped": "disk" });
            let failed = went.get(kind).is_some_and(Option::is_some);
            assert!(stopped || failed, "{kind}, {case:?}: {answer}");
            let mut left = run_folders();
            left.retain(|name| !before.contains(name) && processes_with(name).is_empty());
            left.retain(|name| stays(name));
            assert!(left.is_empty(), "{kind}, {case:?}: {left:?}");
            // What the attack left outside is as hard to remove.
            Command::new("/bin/chmod").args(["-R", "u+rwx"]).arg(outside.path()).status().unwrap();
        }
    }
}

/// Whether a folder of a run is still there after its run. Other tests make and remove some.
fn stays(name: &str) -> bool {
    let path = std::path::Path::new("/tmp").join(name);
    let deadline = Instant::now() + Duration::from_secs(10);
    while path.exists() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    path.exists() && processes_with(name).is_empty()
}

const DATAGRAMS: &str = r#"
def send(address):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b"out", address)
def send_descriptor():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 0))
    a.sendmsg([b"out"], [rights], 0, given["path"])
attempt("path", lambda: send(given["path"]))
attempt("abstract", lambda: send("\0" + given["name"]))
attempt("descriptor", send_descriptor)
"#;

#[test]
fn a_socket_of_a_pair_reaches_no_other_b_04() {
    let cases = test_cases();
    for user in users() {
        let folder = public_folder();
        let path = folder.path().join("socket");
        let name = unique_token();
        let named = UnixDatagram::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let hidden = UnixDatagram::bind_addr(&address).unwrap();
        let attack = AttackScript::python(DATAGRAMS)
            .argument("path", path.to_str().unwrap())
            .argument("name", name.as_str());
        let all = ["path", "abstract", "descriptor"];
        assert_all_succeed_outside(&attack, user, &all);
        let mut received = [0; 8];
        named.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        hidden.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert_eq!(named.recv(&mut received).unwrap(), 3);
        assert_eq!(named.recv(&mut received).unwrap(), 3);
        assert_eq!(hidden.recv(&mut received).unwrap(), 3);
        named.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();
        for case in cases.iter().filter(|case| case.user == user) {
            assert_all_fail_inside(&attack.run(*case), &all, *case);
            assert!(named.recv(&mut received).is_err() && hidden.recv(&mut received).is_err());
        }
    }
}

/// Asks the kernel to tell what others do with files, and to send signals about it.
const WATCHES: &str = r#"
import fcntl
folder = os.open("/usr/bin", os.O_RDONLY)
def watch():
    instance = libc.inotify_init1(0)
    if instance < 0 or libc.inotify_add_watch(instance, b"/usr/bin", 1) < 0:
        raise OSError(ctypes.get_errno(), "no watch")
def take_all_instances():
    made = [libc.inotify_init1(0) for _ in range(4)]
    if min(made) < 0:
        raise OSError(ctypes.get_errno(), "no instance")
def pipe():
    return os.pipe()[0]
attempt("watch", watch)
attempt("instances", take_all_instances)
attempt("notify", lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS))
attempt("owner", lambda: fcntl.fcntl(pipe(), fcntl.F_SETOWN, given["pid"]))
attempt("signal", lambda: fcntl.fcntl(pipe(), fcntl.F_SETSIG, signal.SIGKILL))
attempt("asynchronous", lambda: fcntl.fcntl(pipe(), fcntl.F_SETFL, 0o20000))
attempt("lease", lambda: fcntl.fcntl(os.open(given["file"], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("ordinary", lambda: fcntl.fcntl(pipe(), fcntl.F_SETFL, os.O_NONBLOCK))
"#;

#[test]
fn a_script_is_not_told_what_others_do_and_signals_nobody_by_files_b_05_b_08_b_16() {
    let all = ["watch", "instances", "notify", "owner", "signal", "asynchronous", "lease"];
    let cases = test_cases();
    for user in users() {
        let mut victim = Victim::start(user);
        let folder = public_folder();
        let own = folder.path().join("own");
        let made = crate::support::as_user(Command::new("/bin/touch").arg(&own), user).status();
        assert!(made.unwrap().success());
        let attack = AttackScript::python(WATCHES)
            .argument("pid", victim.pid())
            .argument("file", own.to_str().unwrap());
        assert_all_succeed_outside(&attack, user, &all);
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            assert_all_fail_inside(&answer, &all, *case);
            assert_eq!(attempts(answer["stdout"].as_str().unwrap())["ordinary"], None, "{answer}");
            assert!(victim.is_alive(), "{case:?}");
        }
    }
}

#[test]
fn attributes_of_files_outside_are_hidden_and_the_tier_says_that_names_are_not_b_17() {
    let script = r#"
path = given["file"]
attempt("value", lambda: os.getxattr(path, "user.note"))
attempt("link", lambda: os.getxattr(path, "user.note", follow_symlinks=False))
attempt("names", lambda: 1 / len(os.listxattr(path)))
"#;
    let cases = test_cases();
    for user in users() {
        // Not every temporary folder lies on a file system with attributes.
        let folder = crate::support::public_folder_in("/var/tmp");
        let file = folder.path().join("file");
        let set =
            "import os, sys; open(sys.argv[1], 'w'); os.setxattr(sys.argv[1], 'user.note', b'x')";
        let mut python = Command::new("/usr/bin/python3");
        crate::support::as_user(python.args(["-c", set]).arg(&file), user).status().unwrap();
        let attack = AttackScript::python(script).argument("file", file.to_str().unwrap());
        let all = ["value", "link", "names"];
        assert_all_succeed_outside(&attack, user, &all);
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            assert_all_fail_inside(&answer, &all, *case);
            let says = answer["notes"].to_string().contains("which files and processes exist");
            assert_eq!(says, case.tier == "restricted", "{answer}");
        }
    }
}

#[test]
fn with_the_proc_of_another_process_namespace_nothing_runs_b_13() {
    for case in test_cases().into_iter().filter(|case| case.user == User::Root) {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork"]).arg(driver());
        let answer = AttackScript::python("print('ran')").run_by(case, command);
        let missing = answer["unavailable"]["missing"][0].to_string();
        assert!(missing.contains("another process namespace"), "{case:?}: {answer}");
    }
    if !users().contains(&User::Root) {
        skip(TestNeed::Root, "a process namespace without its own `/proc` needs root");
    }
}

#[test]
fn a_run_ends_in_time_where_signals_by_descriptor_are_refused_b_13() {
    for case in test_cases() {
        let attack = AttackScript::python("time.sleep(60)").limit(json!({ "wall_ms": 700 }));
        let attack = attack.request_field("denied_calls", json!(["pidfd_send_signal"]));
        let answer = attack.run(case);
        assert_eq!(answer["end"], json!({ "stopped": "wall" }), "{case:?}: {answer}");
        assert!(answer["wall_ms"].as_u64().unwrap() < 4_000, "{case:?}: {answer}");
    }
}

/// Starts a process that outlives its parent, and waits.
const STAYING: &str = r#"
if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    time.sleep(60)
os.mkdir("closed", 0)
time.sleep(60)
"#;

#[test]
fn what_killed_runs_leave_is_cleared_by_the_next_b_19() {
    for case in test_cases().into_iter().filter(|case: &TestCase| case.tier == "restricted") {
        let token = unique_token();
        let mut started =
            AttackScript::python(STAYING).argument("token", token.as_str()).start(case);
        let deadline = Instant::now() + Duration::from_secs(30);
        let (script, folder) = loop {
            let found = processes_with(&token).into_iter().find_map(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).into_owned();
                let script = line.split('\0').find(|word| word.ends_with("/skill/attack.py"))?;
                Some((pid, std::path::PathBuf::from(script.strip_suffix("/skill/attack.py")?)))
            });
            if let Some(found) = found.filter(|(_, folder)| folder.join("output/closed").exists()) {
                break found;
            }
            assert!(Instant::now() < deadline, "the script did not start");
            std::thread::yield_now();
        };
        let session = stat(script, 3);
        let all = [started.id(), session].map(|pid| pid.to_string());
        assert!(Command::new("/bin/kill").arg("-9").args(all).status().unwrap().success());
        started.wait().unwrap();
        // Recent folders are left alone, because their run may just have begun.
        let old = Command::new("/bin/touch").args(["-d", "1 hour ago"]).arg(&folder).status();
        assert!(old.unwrap().success());
        let next = AttackScript::python("print('next')").run(case);
        assert_eq!(next["stdout"], "next\n", "{next}");
        while folder.exists() || !processes_with(&token).is_empty() {
            assert!(Instant::now() < deadline, "{case:?}: {folder:?} is left, or a process");
            std::thread::yield_now();
        }
    }
}

/// A field after the name in `/proc/PID/stat`: 3 is the session.
fn stat(pid: u32, field: usize) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(field).unwrap().parse().unwrap()
}

#[test]
fn naming_an_interpreter_in_a_home_shows_nothing_else_of_it_b_06() {
    let script = r#"
attempt("key", lambda: open(given["home"] + "/.ssh/key").read())
attempt("names", lambda: os.listdir(given["home"]))
attempt("program", lambda: open(given["home"] + "/bin/other").read())
print("ran by", sys.executable)
"#;
    let cases = test_cases();
    for user in users() {
        let home = public_folder();
        let place = home.path().join("bin");
        for folder in [".ssh", "bin"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        fs::write(home.path().join(".ssh/key"), "secret").unwrap();
        fs::write(place.join("other"), "secret").unwrap();
        fs::copy("/usr/bin/python3", place.join("python3")).unwrap();
        let attack = AttackScript::python(script).argument("home", home.path().to_str().unwrap());
        assert_all_succeed_outside(&attack, user, &["key", "names", "program"]);
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.clone().request_field("python", json!(place.join("python3")));
            let answer = answer.run(*case);
            assert_all_fail_inside(&answer, &["key", "program"], *case);
            let output = answer["stdout"].as_str().unwrap();
            assert!(output.contains("/bin/python3"), "{case:?}: {answer}");
            // In the full tier the folder exists with the program alone in it.
            let listed = attempts(output)["names"].is_none();
            assert_eq!(listed, case.tier == "full", "{case:?}: {answer}");
        }
    }
}
