//! Signals to other processes, and attempts to trace or limit them.

use std::fs;

use crate::{
    support::{
        AttackScript, TestCase, User, Victim, assert_all_fail_inside, assert_all_succeed_outside,
        attempts, test_cases, users,
    },
    test_skip::{TestNeed, skip},
};

const OTHERS: &str = r#"
pid = given["pid"]
def pidfd():
    handle = call(434, pid, 0)
    call(424, handle, signal.SIGCONT, 0, 0)
def seize():
    # Ends with the process that does it.
    call(101, 0x4206, pid, 0, 0)
attempt("exists", lambda: os.kill(pid, 0))
attempt("signal", lambda: os.kill(pid, signal.SIGCONT))
attempt("thread_signal", lambda: call(234, pid, pid, signal.SIGCONT))
attempt("queue", lambda: call(129, pid, signal.SIGCONT, ctypes.create_string_buffer(struct.pack("iii", signal.SIGCONT, 0, -1) + bytes(116))))
attempt("pidfd", pidfd)
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 10))
attempt("affinity", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)))
attempt("limits", lambda: call(302, pid, 7, ctypes.create_string_buffer(struct.pack("QQ", 64, 64)), 0))
attempt("trace", seize)
attempt("memory", lambda: open("/proc/%d/mem" % pid, "rb"))
"#;

/// The priority and limits of a process, which the attack tries to change.
fn state(victim: &Victim) -> (String, String) {
    let stat = fs::read_to_string(format!("/proc/{}/stat", victim.pid())).unwrap();
    let (_, after) = stat.rsplit_once(')').unwrap();
    let nice = after.split_whitespace().nth(16).unwrap().to_owned();
    let limits = fs::read_to_string(format!("/proc/{}/limits", victim.pid())).unwrap();
    (nice, limits)
}

#[test]
fn other_processes_are_out_of_reach() {
    let all = [
        "exists",
        "signal",
        "thread_signal",
        "queue",
        "pidfd",
        "priority",
        "affinity",
        "limits",
        "trace",
        "memory",
    ];
    let cases = test_cases();
    for user in users() {
        let victim = Victim::start(user);
        let attack = |victim: &Victim| AttackScript::python(OTHERS).argument("pid", victim.pid());
        let before = state(&victim);
        let mut possible = all.to_vec();
        // Some machines let only parents trace.
        possible.retain(|name| *name != "trace" && *name != "memory" || may_trace());
        assert_all_succeed_outside(&attack(&victim), user, &possible);
        assert_ne!(state(&victim), before, "the attack changes something outside of the sandbox");
        for case in cases.iter().filter(|case| case.user == user) {
            let mut victim = Victim::start(user);
            let before = state(&victim);
            let answer = attack(&victim).run(*case);
            assert_all_fail_inside(&answer, &all, *case);
            assert_eq!(state(&victim), before, "{case:?}");
            assert!(victim.is_alive(), "{case:?}");
        }
    }
}

fn may_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let may = scope.map_or(true, |scope| scope.trim() == "0");
    if !may {
        skip(TestNeed::Tracing, "only parents may trace here: only that it is refused is shown");
    }
    may
}

/// Signals all processes from within a new process namespace, in which a second process waits.
const SIGNAL_ALL_IN_A_NAMESPACE: &str = r#"
def signal_all():
    call(272, 0x10000000 | 0x20000000)
    first = os.fork()
    if first == 0:
        bystander = os.fork()
        if bystander == 0:
            signal.pause()
        if os.fork() == 0:
            os.kill(-1, signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(bystander, 0)
        os._exit(0 if os.WIFSIGNALED(status) else 1)
    _, status = os.waitpid(first, 0)
    if status != 0:
        raise OSError(0, "the bystander lives")
attempt("all", signal_all)
"#;

#[test]
fn a_signal_to_all_processes_reaches_none_outside_the_run() {
    let script = r#"
signal.signal(signal.SIGTERM, signal.SIG_IGN)
attempt("all", lambda: os.kill(-1, signal.SIGTERM))
attempt("first", lambda: os.kill(1, signal.SIGKILL))
attempt("group", lambda: os.kill(0, signal.SIGTERM))
print("alive")
"#;
    let cases = test_cases();
    for user in users() {
        // Outside of a namespace this would end every process of the user.
        let output = AttackScript::python(SIGNAL_ALL_IN_A_NAMESPACE).run_outside(user);
        let no_namespaces = !cases.iter().any(|case| case.user == user && case.tier == "full");
        assert!(no_namespaces || attempts(&output)["all"].is_none(), "{user:?}: {output}");
    }
    for case in cases {
        let mut victim = Victim::start(case.user);
        let answer = AttackScript::python(script).run(case);
        assert!(victim.is_alive(), "{case:?}: {answer}");
        assert!(answer["stdout"].as_str().unwrap().ends_with("alive\n"), "{case:?}: {answer}");
        if case.tier == "restricted" {
            assert_all_fail_inside(&answer, &["all", "first", "group"], case);
        }
    }
}

#[test]
fn in_full_isolation_the_first_process_cannot_be_looked_into() {
    let script = r#"
attempt("descriptors", lambda: os.listdir("/proc/1/fd"))
attempt("memory", lambda: open("/proc/1/mem", "rb"))
attempt("environment", lambda: open("/proc/1/environ", "rb").read(1))
attempt("trace", lambda: call(101, 0x4206, 1, 0, 0))
print(open("/proc/self/status").read())
"#;
    for case in test_cases().into_iter().filter(|case: &TestCase| case.tier == "full") {
        let answer = AttackScript::python(script).run(case);
        let all = ["descriptors", "memory", "environment", "trace"];
        assert_all_fail_inside(&answer, &all, case);
        let status = answer["stdout"].as_str().unwrap();
        for line in [
            "CapEff:\t0000000000000000",
            "CapBnd:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            assert!(status.contains(line), "{line}, {case:?}: {status}");
        }
    }
}

#[test]
fn a_run_shares_no_user_and_no_namespace_with_others() {
    let script = r#"
uid = os.getuid()
print("user", int(open("/proc/self/uid_map").read().split()[1]) if given["full"] else uid)
for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup") if given["full"] else ():
    print("namespace", os.readlink("/proc/self/ns/" + name))
"#;
    for case in test_cases() {
        let answer = AttackScript::python(script).argument("full", case.tier == "full").run(case);
        let output = answer["stdout"].as_str().unwrap();
        let value = |word| output.lines().filter_map(move |line| line.strip_prefix(word));
        // Root becomes a user that no other process has. An ordinary user stays the same.
        let user: u32 = value("user ").next().unwrap().parse().unwrap();
        assert_eq!(case.user == User::Root, user >= 1_900_000_000, "{case:?}: {answer}");
        let others: Vec<_> = fs::read_dir("/proc/self/ns").unwrap().flatten().collect();
        let others = others.iter().map(|entry| fs::read_link(entry.path()).unwrap());
        let others: Vec<_> = others.map(|link| link.to_str().unwrap().to_owned()).collect();
        let own: Vec<_> = value("namespace ").collect();
        assert_eq!(own.len(), if case.tier == "full" { 7 } else { 0 }, "{case:?}: {answer}");
        for name in own {
            assert!(!others.iter().any(|other| other == name), "{name}, {case:?}");
        }
    }
}
