//! System calls that need or give privileges, through every entry to the kernel, and set-user-id
//! programs.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use crate::{
    support::{
        AttackScript, User, assert_all_fail_inside, assert_all_succeed_outside, attempts,
        public_folder, public_folder_in, test_cases, users,
    },
    test_skip::{TestNeed, skip},
};

/// Calls that an ordinary user can make outside of the sandbox, and calls that root can make. All
/// of them affect only the process that makes them.
const CALLS: &str = r#"
NEWUSER, NEWNS, NEWUTS = 0x10000000, 0x00020000, 0x04000000
attempt("personality", lambda: call(135, 0x0040000))
attempt("memfd", lambda: call(319, ctypes.c_char_p(b"x"), 0))
attempt("traceme", lambda: call(101, 0, 0, 0, 0))
attempt("key", lambda: call(250, 0, 0xfffffffd & 0xffffffffffffffff, 0))
attempt("inheritable", lambda: call(157, 36, 1, 0, 0, 0))
attempt("clone3", lambda: call(435, 0, 0) if False else clone3())
attempt("io_uring", lambda: call(425, 1, ctypes.create_string_buffer(256)))
attempt("handle", lambda: name_handle())
attempt("bpf", lambda: call(321, 0, ctypes.create_string_buffer(b"\x02\0\0\0\x04\0\0\0\x04\0\0\0\x01" + bytes(100)), 72))
attempt("tick", lambda: tick())
attempt("setuid", lambda: call(105, 0))
attempt("user_namespace", lambda: call(272, NEWUSER | NEWNS | NEWUTS))
attempt("mount", lambda: mount())
attempt("hostname", lambda: call(170, ctypes.c_char_p(b"changed"), 7))
attempt("chroot", lambda: call(161, ctypes.c_char_p(b"/usr")))
"#;

const HELPERS: &str = r#"
def clone3():
    # ScriptArguments that are too small: the kernel answers EINVAL where the call exists at all.
    try:
        call(435, ctypes.create_string_buffer(8), 8)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
def mount():
    call(165, ctypes.c_char_p(b"none"), ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"tmpfs"), 0, 0)
def name_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    call(303, (-100) & 0xffffffffffffffff, ctypes.c_char_p(b"/usr"), handle, ctypes.create_string_buffer(8), 0)
def tick():
    # Sets the length of a tick to what it is: a change of the clock that changes nothing.
    now = ctypes.create_string_buffer(struct.pack("I", 0) + bytes(204))
    call(159, now)
    length = struct.unpack_from("q", now.raw, 88)[0]
    call(159, ctypes.create_string_buffer(struct.pack("I", 0x4000) + bytes(84) + struct.pack("q", length) + bytes(112)))
"#;

#[test]
fn privileged_calls_and_clock_changes_fail() {
    let attack = AttackScript::python(&format!("{HELPERS}{CALLS}"));
    // The last four need the user namespace that the first of them makes.
    let for_every_user = [
        "personality",
        "memfd",
        "traceme",
        "clone3",
        "handle",
        "inheritable",
        "user_namespace",
        "mount",
        "hostname",
        "chroot",
    ];
    let for_root = ["tick", "setuid", "bpf"];
    // A file says whether the kernel has these and lets users make them.
    let built_in = [("key", "/proc/keys", ""), ("io_uring", IO_URING, "0")];
    let cases = test_cases();
    for user in users() {
        let mut possible = for_every_user.to_vec();
        possible.extend(for_root.iter().filter(|_| user == User::Root));
        possible.extend(built_in.iter().filter_map(|(name, file, says)| {
            let text = fs::read_to_string(file).ok()?;
            (says.is_empty() || text.trim() == *says).then_some(*name)
        }));
        assert_all_succeed_outside(&attack, user, &possible);
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            assert_all_fail_inside(&answer, &for_every_user, *case);
            assert_all_fail_inside(&answer, &for_root, *case);
            assert_all_fail_inside(&answer, &["key", "io_uring"], *case);
        }
    }
}

/// Contains 0 where every user may use `io_uring`.
const IO_URING: &str = "/proc/sys/kernel/io_uring_disabled";

#[test]
fn the_32_bit_entry_ends_the_process() {
    // mov eax, 20 (getpid); int 0x80; ret
    let script = r#"
memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print("before", flush=True)
print("answered" if function() == os.getpid() else "refused")
"#;
    let outside = AttackScript::python(script).run_outside(users()[0]);
    if !outside.contains("answered") {
        let why = "this kernel has no 32-bit entry: only that nothing answers is shown";
        skip(TestNeed::Entry32Bit, why);
    }
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["stdout"], "before\n", "{case:?}: {answer}");
        if outside.contains("answered") {
            assert_eq!(answer["end"], json!({ "signalled": 31 }), "{case:?}: {answer}");
        }
    }
}

#[test]
fn the_x32_entry_is_closed_by_the_filter() {
    // `getpid` is allowed by its own number and not by that of the other entry.
    let script = r#"
attempt("own", lambda: call(39))
attempt("x32", lambda: call(0x40000000 | 39))
"#;
    for user in users() {
        // Either the kernel has the entry, or it fails with `ENOSYS`.
        let went = attempts(&AttackScript::python(script).run_outside(user));
        assert!(went["x32"].as_deref().is_none_or(|error| error == "38"), "{went:?}");
    }
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        let went = attempts(answer["stdout"].as_str().unwrap());
        assert_eq!(went["own"], None, "{answer}");
        // The filter answers with `EPERM` before the kernel could.
        assert_eq!(went["x32"].as_deref(), Some("1"), "{case:?}: {answer}");
    }
}

/// A folder on a file system that honours set user ids and that every user can write to, if this
/// machine has one.
fn folder_that_honours_set_user_ids() -> Option<tempfile::TempDir> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let honours = |place: &str| {
        // The longest mount point above the place counts, and of several there the last.
        let above = mounts.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let point = words.next()?;
            let options = words.nth(1)?;
            place.starts_with(point).then_some((point.len(), options))
        });
        let options = above.max_by_key(|(length, _)| *length).map(|(_, options)| options);
        options.is_some_and(|options| !options.split(',').any(|option| option == "nosuid"))
    };
    let place = ["/tmp", "/var/tmp"].into_iter().find(|place| honours(place))?;
    Some(public_folder_in(place))
}

#[test]
fn set_user_id_programs_give_no_rights() {
    let script = r#"
attempt("bound", lambda: 1 / 0 if call(157, 39, 0, 0, 0, 0) == 1 else None)
attempt("raised", lambda: os.execv(given["program"], [given["program"], "-u"]))
"#;
    let cases = test_cases();
    for user in users() {
        let honouring = folder_that_honours_set_user_ids();
        let raises = honouring.is_some() && users().contains(&User::Root);
        if !raises {
            let why = "no set user id takes effect outside: only that none does inside is shown";
            skip(TestNeed::SetUserId, why);
        }
        let folder = honouring.unwrap_or_else(public_folder);
        let program = folder.path().join("who");
        fs::copy("/usr/bin/id", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        let attack = AttackScript::python(script).argument("program", program.to_str().unwrap());
        let outside = attack.run_outside(user);
        assert_eq!(attempts(&outside)["bound"], None, "{outside}");
        // A program of root raises every user to root; a program of another user only to that user.
        assert!(!raises || outside.ends_with("\n0\n"), "{user:?}: {outside}");
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            assert_all_fail_inside(&answer, &["bound", "raised"], *case);
        }
    }
}

#[test]
fn set_user_id_programs_of_the_system_run_with_the_rights_of_their_caller() {
    let names =
        ["su", "passwd", "chsh", "mount", "newgrp", "sudo"].map(|n| format!("/usr/bin/{n}"));
    let is_set = |path: &&String| {
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o4000 != 0)
    };
    let Some(program) = names.iter().find(is_set) else {
        skip(TestNeed::SetUserId, "this machine has no program with a set user id");
        return;
    };
    // The kernel sets `AT_SECURE` for a program that gained rights, and then `ld.so` ignores the
    // variable that makes it list libraries.
    let script = r#"os.execve(given["program"], [given["program"], "--help"], {"LD_TRACE_LOADED_OBJECTS": "1"})"#;
    let attack = AttackScript::python(script).argument("program", program.as_str());
    let outside = attack.run_outside(User::Ordinary);
    assert!(!outside.contains("libc.so"), "{program} gains no rights outside: {outside}");
    for case in test_cases() {
        let answer = attack.run(case);
        // The loader listed libraries, so the program gained no rights.
        let output = answer["stdout"].as_str().unwrap();
        assert!(output.contains("libc.so"), "{program}, {case:?}: {answer}");
    }
}
