//! Memory, threads and processor time that are taken in ways that a simple count does not see.

use serde_json::{Value, json};
use skillwire_sandbox::{IsolationPolicy, IsolationTier, LimitKind, Sandbox};

use crate::{
    support::{
        AttackScript, TestCase, User, attempts, processes_with, test_cases, unique_token, users,
    },
    test_skip::{TestNeed, skip},
};

const MIB: u64 = 1024 * 1024;

/// Asserts that an attempt succeeds outside, and that inside it fails or the run is stopped for this
/// reason.
fn assert_bounded(attack: &AttackScript, name: &str, reason: &str, cases: &[TestCase]) {
    for user in users() {
        let output = attack.clone().argument("pause", 0).run_outside(user);
        assert_eq!(attempts(&output).get(name), Some(&None), "{user:?}: {output}");
    }
    for case in cases {
        let token = unique_token();
        let attack = attack.clone().argument("pause", 1.5).argument("token", token.as_str());
        let answer = attack.run(*case);
        let went =
            attempts(answer["stdout"].as_str().unwrap_or_else(|| panic!("{case:?}: {answer}")));
        let stopped = answer["end"] == json!({ "stopped": reason });
        let failed = went.get(name).is_some_and(Option::is_some);
        assert!(stopped || failed, "{name}, {case:?}: {answer}");
        assert!(processes_with(&token).is_empty(), "{case:?}");
    }
}

/// Fills pieces of shared memory that no process has mapped afterwards.
const UNMAPPED: &str = r#"
kept = []
def fill(mapping):
    for at in range(0, len(mapping), 4096):
        mapping[at] = 1
def anonymous():
    for _ in range(8):
        kept.append(mmap.mmap(-1, 32 << 20))
        fill(kept[-1])
        kept[-1].madvise(mmap.MADV_DONTNEED)
    time.sleep(given["pause"])
def device():
    zero = os.open("/dev/zero", os.O_RDWR)
    for _ in range(8):
        kept.append(mmap.mmap(zero, 32 << 20))
        fill(kept[-1])
        kept[-1].madvise(mmap.MADV_DONTNEED)
    time.sleep(given["pause"])
attempt(given["kind"], globals()[given["kind"]])
"#;

#[test]
fn shared_memory_that_no_process_has_mapped_is_bounded_b_01() {
    for kind in ["anonymous", "device"] {
        let attack = AttackScript::python(UNMAPPED)
            .argument("kind", kind)
            .limit(json!({ "memory_bytes": 64 * MIB }));
        let cases = test_cases();
        let bare = attack.clone().argument("pause", 0).run_outside(users()[0]);
        assert_eq!(attempts(&bare)[kind], None, "{bare}");
        for case in cases {
            let answer = attack.clone().argument("pause", 1.5).run(case);
            let went = attempts(answer["stdout"].as_str().unwrap());
            // A mapping of a file that is longer than its file system ends the process.
            let ended = answer["end"] == json!({ "stopped": "memory" })
                || answer["end"] == json!({ "signalled": libc::SIGBUS });
            let failed = went.get(kind).is_some_and(Option::is_some);
            assert!(ended || failed, "{kind}, {case:?}: {answer}");
        }
    }
}

/// Four processes whose first thread has ended, with a second one that keeps memory.
const WITHOUT_FIRST_THREAD: &str = r#"
import threading
def hold(ready):
    block = bytearray(b"x") * (40 << 20)
    os.write(ready, b"x")
    time.sleep(30)
def fill():
    children = []
    for _ in range(4):
        end, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            threading.Thread(target=hold, args=(ready,)).start()
            libc.syscall(60, 0)
        children.append(pid)
        os.read(end, 1)
    time.sleep(given["pause"])
    for pid in children:
        os.kill(pid, signal.SIGKILL)
attempt("fill", fill)
"#;

#[test]
fn memory_of_a_process_without_its_first_thread_is_bounded_b_01() {
    let attack = AttackScript::python(WITHOUT_FIRST_THREAD);
    let attack = attack.limit(json!({ "memory_bytes": 96 * MIB }));
    assert_bounded(&attack, "fill", "memory", &test_cases());
}

/// Messages that wait in sockets, in four processes.
const SOCKET_BUFFERS: &str = r#"
def stuff(ready):
    pairs = []
    for _ in range(100):
        a, b = socket.socketpair()
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        a.setblocking(False)
        try:
            while True:
                a.send(b"x" * 65536)
        except BlockingIOError:
            pass
        pairs.append((a, b))
    os.write(ready, b"x")
    time.sleep(30)
def fill():
    children = []
    for _ in range(4):
        end, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            stuff(ready)
        children.append(pid)
        os.read(end, 1)
    time.sleep(given["pause"])
    for pid in children:
        os.kill(pid, signal.SIGKILL)
attempt("fill", fill)
"#;

#[test]
fn memory_in_socket_buffers_is_bounded_b_01() {
    let attack = AttackScript::python(SOCKET_BUFFERS);
    let attack = attack.limit(json!({ "memory_bytes": 64 * MIB }));
    assert_bounded(&attack, "fill", "memory", &test_cases());
}

/// Messages that wait in sockets of threads which share no descriptors with their process.
const UNSHARED_SOCKETS: &str = r#"
import threading
threading.stack_size(65536)
done = []
def stuff():
    try:
        call(436, 3, 0xffffffff, 2)
        pairs = []
        for _ in range(100):
            a, b = socket.socketpair()
            a.setblocking(False)
            try:
                while True:
                    a.send(b"x" * 65536)
            except BlockingIOError:
                pass
            pairs.append((a, b))
        done.append(None)
        time.sleep(30)
    except OSError as error:
        done.append(error)
def fill():
    for _ in range(6):
        threading.Thread(target=stuff, daemon=True).start()
    while len(done) < 6:
        time.sleep(0.01)
    time.sleep(given["pause"])
    for error in filter(None, done):
        raise error
attempt("fill", fill)
sys.stdout.flush()
os._exit(0)
"#;

#[test]
fn memory_in_sockets_of_a_thread_with_descriptors_of_its_own_is_bounded_b_01() {
    let attack = AttackScript::python(UNSHARED_SOCKETS);
    let attack = attack.limit(json!({ "memory_bytes": 64 * MIB }));
    assert_bounded(&attack, "fill", "memory", &test_cases());
}

/// Data that waits in pipes: in many of the usual size, or in fewer large ones.
const PIPES: &str = r#"
import fcntl
F_SETPIPE_SZ = 1031
def stuff(ready, count, size):
    pipes = []
    for _ in range(count):
        a, b = os.pipe()
        if size:
            fcntl.fcntl(b, F_SETPIPE_SZ, size)
        os.set_blocking(b, False)
        try:
            while True:
                os.write(b, b"x" * 65536)
        except BlockingIOError:
            pass
        pipes.append((a, b))
    os.write(ready, b"x")
    time.sleep(30)
def fill(processes, count, size):
    children = []
    try:
        for _ in range(processes):
            end, ready = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    stuff(ready, count, size)
                finally:
                    os._exit(1)
            os.close(ready)
            children.append(pid)
            if not os.read(end, 1):
                raise OSError("a child failed")
        time.sleep(given["pause"])
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
attempt("many", lambda: fill(5, 110, 0))
attempt("large", lambda: fill(1, 40, 1 << 20))
"#;

#[test]
fn memory_in_pipes_is_bounded_b_01() {
    let attack = AttackScript::python(PIPES);
    let attack = attack.limit(json!({ "memory_bytes": 44 * MIB }));
    for name in ["many", "large"] {
        assert_bounded(&attack, name, "memory", &test_cases());
    }
}

/// Processes whose addresses are cut into as many parts as the kernel allows: its descriptions of
/// them are all that takes memory.
const MAPPINGS: &str = r#"
libc.mmap.restype = ctypes.c_void_p
def fill():
    parts = 60000
    at = libc.mmap(None, ctypes.c_size_t(parts * 4096), 0, 0x22, -1, ctypes.c_long(0))
    for part in range(0, parts, 2):
        if libc.mprotect(ctypes.c_void_p(at + part * 4096), ctypes.c_size_t(4096), 1):
            raise OSError(ctypes.get_errno(), "mprotect")
    children = []
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        children.append(pid)
    time.sleep(given["pause"])
    for pid in children:
        os.kill(pid, signal.SIGKILL)
attempt("fill", fill)
"#;

#[test]
fn memory_that_describes_mappings_is_bounded_b_01() {
    let attack = AttackScript::python(MAPPINGS);
    let attack = attack.limit(json!({ "memory_bytes": 192 * MIB }));
    assert_bounded(&attack, "fill", "memory", &test_cases());
}

/// A program of Node, which has no limit of addresses, starts a process that touches one page of
/// each two megabytes: the tables that lead to these pages are all that takes memory.
const PAGE_TABLES: &str = r"
const code = `
import ctypes, mmap, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
size = 128 << 30
at = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, 0)
if at == 2 ** 64 - 1: sys.exit(1)
libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 15)
for page in range(0, size, 2 << 20):
    ctypes.c_char.from_address(at + page).value
time.sleep(1.5)
`;
const ran = require('child_process').spawnSync('/usr/bin/python3', ['-c', code]);
console.log(ran.status === 0 ? 'fill done' : 'fill failed ' + ran.status + ran.stderr);
";

#[test]
fn page_tables_of_a_child_without_a_limit_of_addresses_are_bounded_b_01() {
    for case in test_cases() {
        let attack = AttackScript::file("attack.js", PAGE_TABLES.as_bytes());
        let answer = attack.limit(json!({ "memory_bytes": 128 * MIB })).run(case);
        let stopped = answer["end"] == json!({ "stopped": "memory" });
        let went = attempts(answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")));
        assert!(stopped || went.get("fill").is_some_and(Option::is_some), "{case:?}: {answer}");
    }
}

const THREADS: &str = r#"
import _thread
_thread.stack_size(32768)
made = 0
def many():
    global made
    for _ in range(400):
        _thread.start_new_thread(time.sleep, (30,))
        made += 1
    time.sleep(given["pause"])
attempt("many", many)
print("made", made, flush=True)
time.sleep(given["pause"])
os._exit(0)
"#;

#[test]
fn threads_are_bounded_b_02() {
    let attack = AttackScript::python(THREADS).limit(json!({ "processes": 10 }));
    assert_bounded(&attack, "many", "processes", &test_cases());
}

/// Children whose time no parent is told of.
const UNWAITED: &str = r#"
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def burn():
    for _ in range(10):
        end, done = os.pipe()
        if os.fork() == 0:
            start = time.process_time()
            while time.process_time() - start < 0.3:
                pass
            os._exit(0)
        os.close(done)
        os.read(end, 1)
        os.close(end)
attempt("burn", burn)
"#;

#[test]
fn processor_time_of_children_that_no_parent_waits_for_counts_b_11() {
    let attack = AttackScript::python(UNWAITED).limit(json!({ "cpu_ms": 1200 }));
    assert_bounded(&attack, "burn", "cpu", &test_cases());
}

#[test]
fn every_limit_of_an_outcome_says_what_held_it_b_13() {
    for case in test_cases() {
        let answer =
            AttackScript::python("open('kept', 'w').write('x' * 5000); time.sleep(0.3)").run(case);
        let limits = answer["limits"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let of = |name: &str| -> &Value {
            limits.iter().find(|limit| limit["limit"] == name).unwrap_or_else(|| panic!("{answer}"))
        };
        let has_cgroup = answer["enforcement"]["cgroup"].is_object();
        let held = |name: &str| of(name)["enforcement"]["kernel"].is_object();
        assert_eq!(held("memory"), has_cgroup, "{case:?}: {answer}");
        assert_eq!(held("disk"), case.tier == "full", "{case:?}: {answer}");
        let own_user = case.tier == "full" || case.user == User::Root;
        let counts_processes =
            answer["enforcement"]["cgroup"]["controllers"].to_string().contains("\"pids\"");
        assert_eq!(held("processes"), own_user || counts_processes, "{case:?}: {answer}");
        assert!(of("disk")["used"].as_u64().unwrap() >= 4096, "{case:?}: {answer}");
        assert_eq!(of("files")["used"], 1, "{case:?}: {answer}");
        assert!(of("time")["used"].as_u64().unwrap() > 0, "{case:?}: {answer}");
    }
}

#[test]
fn a_script_that_goes_beyond_any_limit_is_held_b_13() {
    let policy = IsolationPolicy::default().accept_restricted(true);
    let helper = env!("CARGO_BIN_EXE_skillwire-isolate");
    for tier in [IsolationTier::Full, IsolationTier::Restricted] {
        let sandbox = Sandbox::with_helper(policy, helper.into()).only_tier(tier);
        if let Err(unavailable) = sandbox.isolation() {
            skip(TestNeed::Isolation, &unavailable.to_string());
            continue;
        }
        let tried = sandbox.try_limits(tier);
        let limits: Vec<_> = tried.iter().map(|limit| limit.limit).collect();
        assert_eq!(limits, LimitKind::ALL, "{tried:?}");
        assert!(tried.iter().all(|limit| limit.held), "{tier}: {tried:?}");
    }
}
