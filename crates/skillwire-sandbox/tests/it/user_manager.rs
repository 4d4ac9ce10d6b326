//! Cgroups from the systemd manager of an ordinary user.

use std::{fs, os::unix::fs::MetadataExt as _};

use serde_json::json;

use crate::{
    support::{AttackScript, User, test_cases},
    test_skip::{TestNeed, skip},
};

/// Shared memory, which nothing but a cgroup can count.
const SHARED: &str = "
block = mmap.mmap(-1, 192 << 20)
for at in range(0, len(block), 4096):
    block[at] = 1
";

#[test]
fn an_ordinary_user_in_a_session_has_memory_held_by_a_cgroup() {
    let user = fs::metadata("/proc/self").unwrap().uid();
    let socket = format!("/run/user/{user}/systemd/private");
    if user == 0 || !fs::exists(&socket).unwrap_or(false) {
        return skip(TestNeed::UserManager, &format!("user {user} has no `{socket}`"));
    }
    for case in test_cases().into_iter().filter(|case| case.user == User::Ordinary) {
        let attack = AttackScript::python(SHARED).limit(json!({ "memory_bytes": 64 << 20 }));
        let answer = attack.run(case);
        let controllers = &answer["enforcement"]["cgroup"]["controllers"];
        assert!(controllers.to_string().contains("memory"), "{case:?}: {answer}");
        assert_eq!(answer["end"], json!({ "stopped": "memory" }), "{case:?}: {answer}");
    }
}
