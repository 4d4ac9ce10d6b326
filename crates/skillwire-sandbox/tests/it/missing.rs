//! Machines that lack something. A filter simulates them: it makes a system call of the driver and
//! its helpers fail, as a container or an old kernel would.

use serde_json::{Value, json};

use crate::support::{AttackScript, TestCase, User, attempts, test_cases, users};

fn without(case: TestCase, calls: &[&str]) -> Value {
    AttackScript::python("print('ran')").request_field("denied_calls", json!(calls)).run(case)
}

fn refusal(case: TestCase, calls: &[&str]) -> String {
    let answer = without(case, calls);
    assert!(answer.get("stdout").is_none(), "{calls:?}, {case:?}: {answer}");
    let missing = answer["unavailable"]["missing"].as_array();
    let missing = missing.unwrap_or_else(|| panic!("{calls:?}, {case:?}: {answer}"));
    assert!(!missing[0]["hint"].as_str().unwrap().is_empty(), "{answer}");
    missing[0]["what"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_primitive_of_namespaces_full_isolation_is_refused() {
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        for call in ["unshare", "sethostname"] {
            assert!(refusal(case, &[call]).contains("user namespaces"), "{call}");
        }
        // Some policies allow `unshare` and then forbid mounts.
        for call in
            ["mount", "open_tree", "fsopen", "fsmount", "move_mount", "mount_setattr", "pivot_root"]
        {
            assert!(refusal(case, &[call]).contains("mounts"), "{call}");
        }
    }
}

#[test]
fn without_a_layer_of_either_tier_both_are_refused() {
    for case in test_cases() {
        assert!(refusal(case, &["landlock_create_ruleset"]).contains("Landlock"));
        assert!(refusal(case, &["landlock_restrict_self"]).contains("Landlock"));
        assert!(refusal(case, &["seccomp"]).contains("seccomp"));
        assert!(refusal(case, &["capset"]).contains("capabilities"));
        for call in ["close_range", "setsid", "pidfd_open", "prlimit64", "prctl"] {
            assert!(!refusal(case, &[call]).is_empty(), "{call}");
        }
        if case.user == User::Root {
            for call in ["setresuid", "setresgid", "setgroups"] {
                let refused = refusal(case, &[call]);
                assert!(refused.contains("user id"), "{call}, {case:?}: {refused}");
            }
        }
    }
}

#[test]
fn where_only_namespaces_are_missing_the_restricted_tier_still_runs() {
    for case in test_cases().into_iter().filter(|case| case.tier == "restricted") {
        let answer = without(case, &["unshare", "mount", "pivot_root", "open_tree"]);
        assert_eq!(answer["stdout"], "ran\n", "{case:?}: {answer}");
    }
}

/// Asks the kernel for what the tiers need, without any code of the sandbox.
const PRIMITIVES: &str = r#"
def landlock():
    if call(444, 0, 0, 1) < 4:
        raise OSError(errno.ENOSYS, "an old version")
def namespaces():
    call(272, 0x10000000 | 0x00020000 | 0x40000000)
    call(165, ctypes.c_char_p(b"none"), ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"tmpfs"), 0, 0)
attempt("landlock", landlock)
attempt("namespaces", namespaces)
"#;

#[test]
fn where_the_kernel_has_what_a_tier_needs_it_is_not_refused() {
    let cases = test_cases();
    for user in users() {
        let went = attempts(&AttackScript::python(PRIMITIVES).run_outside(user));
        let has = |names: &[&str]| names.iter().all(|name| went[*name].is_none());
        for (tier, needs) in
            [("restricted", &["landlock"][..]), ("full", &["landlock", "namespaces"])]
        {
            // Otherwise a layer that got lost would make the probe refuse the tier, and every other
            // test would be skipped without a failure.
            let runs = cases.iter().any(|case| case.user == user && case.tier == tier);
            assert!(runs || !has(needs), "{tier} isolation is refused to {user:?}");
        }
    }
}
