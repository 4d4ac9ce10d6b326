//! System calls that need privileges or give some, by every entry, and programs that carry them.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use crate::support::{
    Attack, User, assert_fail_inside, assert_succeed_outside, attempts, cells, public_folder, users,
};

/// Calls that an ordinary user may make outside, and calls that root may. All of them concern the
/// process that makes them and nothing else.
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
attempt("user_namespace", lambda: call(272, NEWUSER | NEWNS | NEWUTS))
attempt("mount", lambda: mount())
attempt("hostname", lambda: call(170, ctypes.c_char_p(b"changed"), 7))
attempt("chroot", lambda: call(161, ctypes.c_char_p(b"/usr")))
attempt("bpf", lambda: call(321, 0, ctypes.create_string_buffer(b"\x02\0\0\0\x04\0\0\0\x04\0\0\0\x01" + bytes(100)), 72))
attempt("tick", lambda: tick())
attempt("setuid", lambda: call(105, 0))
"#;

const HELPERS: &str = r#"
def clone3():
    # Arguments that are too small: the kernel answers EINVAL where the call exists at all.
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
    let attack = Attack::python(&format!("{HELPERS}{CALLS}"));
    let anybody =
        ["personality", "memfd", "traceme", "clone3", "handle", "user_namespace", "mount"];
    let root = ["hostname", "chroot", "tick", "setuid"];
    let cells = cells();
    for user in users() {
        assert_succeed_outside(&attack, user, &anybody);
        if user == User::Root {
            // After `unshare` root is nobody; a second process tries what root can do.
            let alone = Attack::python(&format!(
                "{HELPERS}\nattempt('tick', tick)\nattempt('setuid', lambda: call(105, 0))\n\
                 call(272, 0x04020000)\n\
                 attempt('hostname', lambda: call(170, ctypes.c_char_p(b'x'), 1))\n\
                 attempt('chroot', lambda: call(161, ctypes.c_char_p(b'/usr')))\n"
            ));
            assert_succeed_outside(&alone, user, &root);
        }
        for cell in cells.iter().filter(|cell| cell.user == user) {
            let answer = attack.run(*cell);
            assert_fail_inside(&answer, &anybody, *cell);
            assert_fail_inside(&answer, &root, *cell);
            assert_fail_inside(&answer, &["key", "inheritable", "io_uring", "bpf"], *cell);
        }
    }
}

#[test]
fn the_32_bit_entry_ends_the_process() {
    // mov eax, 20 (getpid); int 0x80; ret
    let script = r#"
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print("before", flush=True)
print("answered" if function() == os.getpid() else "refused")
"#;
    let outside = Attack::python(script).run_outside(users()[0]);
    if !outside.contains("answered") {
        eprintln!("this kernel has no 32-bit entry: only that nothing answers is shown");
    }
    for cell in cells() {
        let answer = Attack::python(script).run(cell);
        assert_eq!(answer["stdout"], "before\n", "{cell:?}: {answer}");
        if outside.contains("answered") {
            assert_eq!(answer["end"], json!({ "signalled": 31 }), "{cell:?}: {answer}");
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
    for cell in cells() {
        let answer = Attack::python(script).run(cell);
        let went = attempts(answer["stdout"].as_str().unwrap());
        assert_eq!(went["own"], None, "{answer}");
        // Not `ENOSYS`, which a kernel without the entry answers: the filter says it first.
        assert_eq!(went["x32"].as_deref(), Some("1"), "{cell:?}: {answer}");
    }
}

#[test]
fn programs_with_a_set_user_id_give_nothing() {
    let script = r#"
attempt("bound", lambda: 1 / 0 if call(157, 39, 0, 0, 0, 0) == 1 else None)
attempt("raised", lambda: os.execv(given["program"], [given["program"], "-u"]))
"#;
    let cells = cells();
    for user in users() {
        let folder = public_folder();
        let program = folder.path().join("who");
        fs::copy("/usr/bin/id", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        let attack = Attack::python(script).give("program", program.to_str().unwrap());
        let outside = attack.run_outside(user);
        assert_eq!(attempts(&outside)["bound"], None, "{outside}");
        if users().contains(&User::Root) && !outside.ends_with("\n0\n") {
            eprintln!("`/tmp` honours no set user ids here: {outside}");
        }
        for cell in cells.iter().filter(|cell| cell.user == user) {
            let answer = attack.run(*cell);
            assert_fail_inside(&answer, &["bound", "raised"], *cell);
        }
    }
}

#[test]
fn the_systems_own_programs_with_a_set_user_id_stay_what_the_caller_is() {
    let names =
        ["su", "passwd", "chsh", "mount", "newgrp", "sudo"].map(|n| format!("/usr/bin/{n}"));
    let is_set = |path: &&String| {
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o4000 != 0)
    };
    let Some(program) = names.iter().find(is_set) else {
        eprintln!("this machine has no program with a set user id");
        return;
    };
    // The kernel tells a program whose user was raised by the `AT_SECURE` entry; with it `ld.so`
    // would refuse to show anything.
    let script = r#"os.execve(given["program"], [given["program"], "--help"], {"LD_TRACE_LOADED_OBJECTS": "1"})"#;
    for cell in cells() {
        let answer = Attack::python(script).give("program", program.as_str()).run(cell);
        // Traced: the loader took the variable seriously, so nothing was raised.
        let output = answer["stdout"].as_str().unwrap();
        assert!(output.contains("libc.so"), "{program}, {cell:?}: {answer}");
    }
}
