//! Machines that lack something: simulated by a filter that takes a system call away from the
//! program and its helpers, as a container or an old kernel would.

use serde_json::{Value, json};

use crate::support::{Attack, Cell, User, attempts, cells, users};

fn without(cell: Cell, calls: &[&str]) -> Value {
    Attack::python("print('ran')").set("denied_calls", json!(calls)).run(cell)
}

fn refusal(cell: Cell, calls: &[&str]) -> String {
    let answer = without(cell, calls);
    assert!(answer.get("stdout").is_none(), "{calls:?}, {cell:?}: {answer}");
    let missing = answer["unavailable"]["missing"].as_array();
    let missing = missing.unwrap_or_else(|| panic!("{calls:?}, {cell:?}: {answer}"));
    assert!(!missing[0]["hint"].as_str().unwrap().is_empty(), "{answer}");
    missing[0]["what"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_primitive_of_namespaces_full_isolation_is_refused() {
    for cell in cells().into_iter().filter(|cell| cell.tier == "full") {
        for call in ["unshare", "sethostname"] {
            assert!(refusal(cell, &[call]).contains("user namespaces"), "{call}");
        }
        // As under policies that allow `unshare` and nothing after it.
        for call in
            ["mount", "open_tree", "fsopen", "fsmount", "move_mount", "mount_setattr", "pivot_root"]
        {
            assert!(refusal(cell, &[call]).contains("mounts"), "{call}");
        }
    }
}

#[test]
fn without_a_layer_of_either_tier_both_are_refused() {
    for cell in cells() {
        assert!(refusal(cell, &["landlock_create_ruleset"]).contains("Landlock"));
        assert!(refusal(cell, &["landlock_restrict_self"]).contains("Landlock"));
        assert!(refusal(cell, &["seccomp"]).contains("seccomp"));
        assert!(refusal(cell, &["capset"]).contains("capabilities"));
        for call in ["close_range", "setsid", "pidfd_open", "prlimit64", "prctl"] {
            assert!(!refusal(cell, &[call]).is_empty(), "{call}");
        }
        if cell.user == User::Root {
            for call in ["setresuid", "setresgid", "setgroups"] {
                let refused = refusal(cell, &[call]);
                assert!(refused.contains("user id"), "{call}, {cell:?}: {refused}");
            }
        }
    }
}

#[test]
fn where_only_namespaces_are_missing_the_restricted_tier_still_runs() {
    for cell in cells().into_iter().filter(|cell| cell.tier == "restricted") {
        let answer = without(cell, &["unshare", "mount", "pivot_root", "open_tree"]);
        assert_eq!(answer["stdout"], "ran\n", "{cell:?}: {answer}");
    }
}

/// Whether the kernel has what the tiers are made of, asked without any of our own code.
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
    let cells = cells();
    for user in users() {
        let went = attempts(&Attack::python(PRIMITIVES).run_outside(user));
        let has = |names: &[&str]| names.iter().all(|name| went[*name].is_none());
        for (tier, needs) in
            [("restricted", &["landlock"][..]), ("full", &["landlock", "namespaces"])]
        {
            // Otherwise a layer that was lost would only make the probe refuse, and nothing fail.
            let runs = cells.iter().any(|cell| cell.user == user && cell.tier == tier);
            assert!(runs || !has(needs), "{tier} isolation is refused to {user:?}");
        }
    }
}
