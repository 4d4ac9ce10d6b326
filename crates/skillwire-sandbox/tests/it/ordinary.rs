//! What ordinary scripts must be able to do.

use serde_json::json;

use crate::{
    support::{AttackScript, User, driver, test_cases},
    test_skip::{TestNeed, skip},
};

#[test]
fn every_language_runs_with_its_arguments_and_input() {
    let python = "import json, sys\nprint('python', sys.argv[1:], json.load(sys.stdin)['n'])\n";
    let node = "const n = JSON.parse(require('fs').readFileSync(0)).n;\n\
                console.log('node', process.argv.slice(2).join(' '), n);\n";
    let bash = "#!/usr/bin/env bash\nread -r line; a=(bash \"$@\"); echo \"${a[*]} ${#line}\"\n";
    for case in test_cases() {
        for (name, text, expected) in [
            ("run.py", python, "python ['-n', '7', 'x'] 7\n"),
            ("run.js", node, "node -n 7 x 7\n"),
            ("run.sh", "read -r line; echo \"sh $* ${#line}\"\n", "sh -n 7 x 17\n"),
            ("run", bash, "bash -n 7 x 17\n"),
        ] {
            let attack = AttackScript::file(name, text.as_bytes())
                .argument("n", 7)
                .argument("_", json!(["x"]));
            let answer = attack.run(case);
            if answer["invalid"].as_str().is_some_and(|why| why.contains("is not installed")) {
                skip(TestNeed::Interpreters, &format!("{name}: {}", answer["invalid"]));
                continue;
            }
            assert_eq!(answer["stdout"], expected, "{name}, {case:?}: {answer}");
            assert_eq!(answer["end"], json!({ "exited": 0 }), "{answer}");
        }
    }
}

/// An x86-64 program, made by hand, that writes `static` and exits with 3.
fn static_program() -> Vec<u8> {
    let code: &[u8] = &[
        0xb8, 1, 0, 0, 0, // mov eax, 1 (write)
        0xbf, 1, 0, 0, 0, // mov edi, 1
        0x48, 0x8d, 0x35, 0x15, 0, 0, 0, // lea rsi, [rip + 21]
        0xba, 7, 0, 0, 0, // mov edx, 7
        0x0f, 0x05, // syscall
        0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
        0xbf, 3, 0, 0, 0, // mov edi, 3
        0x0f, 0x05, // syscall
        0x90, 0x90, // nop
    ];
    let header = 64_u64;
    let program = 56_u64;
    let start = 0x40_0000 + header + program;
    let size = header + program + code.len() as u64 + 7;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    elf.extend([start, header, 0].iter().flat_map(|word| word.to_le_bytes()));
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let words = [0, 0x40_0000, 0x40_0000, size, size, 0x1000];
    elf.extend(words.iter().flat_map(|word: &u64| word.to_le_bytes()));
    elf.extend_from_slice(code);
    elf.extend_from_slice(b"static\n");
    elf
}

#[test]
fn a_static_program_runs_by_itself() {
    for case in test_cases() {
        let answer = AttackScript::file("tool", &static_program()).run(case);
        assert_eq!(answer["stdout"], "static\n", "{case:?}: {answer}");
        assert_eq!(answer["end"], json!({ "exited": 3 }), "{answer}");
    }
}

#[test]
fn threads_temporary_files_and_modules_work() {
    let script = r#"
import subprocess, tempfile, threading, random, hashlib, ssl, sqlite3
results = []
threads = [threading.Thread(target=lambda: results.append(1)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
with tempfile.TemporaryFile() as file:
    file.write(b"x" * 1000)
print(len(results), hashlib.sha256(os.urandom(8)).digest_size, os.getcwd() == os.environ["OUTPUT_DIR"])
open("deep.txt", "w").write("left")
os.mkdir("folder"); open("folder/other.bin", "wb").write(bytes(range(256)))
"#;
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["stdout"], "8 32 True\n", "{case:?}: {answer}");
        assert_eq!(answer["files"]["deep.txt"], "bGVmdA==", "{answer}");
        assert_eq!(answer["files"].as_object().unwrap().len(), 2, "{answer}");
    }
}

#[test]
fn in_full_isolation_pipelines_and_other_programs_work() {
    let script = "seq 1 100 | grep 7 | wc -l\ncat <(echo substituted)\nls -d /skill\n";
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        let answer = AttackScript::file("run.bash", script.as_bytes()).run(case);
        assert_eq!(answer["stdout"], "19\nsubstituted\n/skill\n", "{case:?}: {answer}");
    }
}

#[test]
fn a_failure_is_the_scripts_own_and_its_text_is_clean() {
    let script = "print('\\x1b[31mred\\x1b[0m'); print('oops', file=sys.stderr); sys.exit(4)";
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["end"], json!({ "exited": 4 }), "{answer}");
        assert_eq!((&answer["stdout"], &answer["stderr"]), (&json!("red\n"), &json!("oops\n")));
    }
}

#[test]
fn standard_streams_can_be_opened_by_their_names() {
    let script = "cat /dev/stdin > /dev/stdout\necho oops > /dev/stderr\n";
    for case in test_cases() {
        let answer = AttackScript::file("run.bash", script.as_bytes()).run(case);
        assert_eq!(
            (&answer["stdout"], &answer["stderr"]),
            (&json!("{}"), &json!("oops\n")),
            "{case:?}: {answer}"
        );
    }
}

#[test]
fn ordinary_commands_work_in_full_isolation() {
    let script = r#"
set -e
echo kept > a && cp -p a b && cat b
mkfifo pipe && { echo through > pipe & cat pipe; }
"$SKILL_DIR/other.sh" called
ps > listed && grep -c bash listed && rm listed
head -c 3 /dev/zero | wc -c
chown "$(id -u)" a && touch -d '2020-01-01' a && chmod 600 a
"#;
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        use base64::Engine as _;
        let encode = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
        let files = json!({
            "run.bash": encode(script),
            "other.sh": encode("#!/bin/sh\necho \"other $1\"\n"),
        });
        let answer = AttackScript::file("run.bash", b"").request_field("files", files).run(case);
        assert_eq!(answer["stdout"], "kept\nthrough\nother called\n1\n3\n", "{case:?}: {answer}");
        assert_eq!(answer["end"], json!({ "exited": 0 }), "{case:?}: {answer}");
    }
}

#[test]
fn in_restricted_isolation_scripts_start_other_programs_within_their_bounds() {
    let script = "seq 1 100 | grep 7 | wc -l\n(sleep 0.1; echo later) & wait; echo $(echo inner)\n";
    for case in test_cases().into_iter().filter(|case| case.tier == "restricted") {
        let answer = AttackScript::file("run.bash", script.as_bytes()).run(case);
        if answer["notes"].to_string().contains("cannot start other programs") {
            skip(TestNeed::Isolation, "this kernel does not confine signals");
            continue;
        }
        assert_eq!(answer["stdout"], "19\nlater\ninner\n", "{case:?}: {answer}");
    }
}

#[test]
fn the_list_of_file_types_can_be_read_where_there_is_one() {
    let script = "import mimetypes; mimetypes.init(); print(mimetypes.guess_type('a.html')[0])";
    for case in test_cases() {
        let answer = AttackScript::python(script).run(case);
        assert_eq!(answer["stdout"], "text/html\n", "{case:?}: {answer}");
    }
}

#[test]
fn documents_are_converted_by_libreoffice_in_full_isolation() {
    if !std::path::Path::new("/usr/bin/soffice").exists() {
        skip(TestNeed::Office, "LibreOffice is not installed");
        return;
    }
    // As skills for documents do it. Fonts are needed for the pages, the home for its profile.
    let script = r"
echo '<html><body><p>text</p></body></html>' > page.html
soffice --headless --convert-to 'pdf:writer_web_pdf_Export' page.html > said 2>&1 || cat said
head -c 5 page.pdf
";
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        let answer = AttackScript::file("run.bash", script.as_bytes()).run(case);
        assert_eq!(answer["stdout"], "%PDF-", "{case:?}: {answer}");
        assert_eq!(answer["end"], json!({ "exited": 0 }), "{case:?}: {answer}");
    }
}

/// Runs a command as root of a user namespace with 65,536 ids, as containers without root have it.
const CONTAINER: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
asked, done = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    if libc.unshare(0x10000000) != 0:
        os._exit(111)
    os.write(asked[1], b"x")
    os.read(done[0], 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(asked[0], 1)
for name in ("uid_map", "gid_map"):
    open("/proc/%d/%s" % (pid, name), "w").write("0 100000 65536")
os.write(done[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn in_a_container_with_65536_ids_scripts_run() {
    for case in test_cases().into_iter().filter(|case| case.user == User::Root) {
        let mut command = std::process::Command::new("/usr/bin/python3");
        command.args(["-c", CONTAINER]).arg(driver());
        let answer = AttackScript::python("print('ran', os.getuid())").run_by(case, command);
        let output = answer["stdout"].as_str().unwrap_or_else(|| panic!("{case:?}: {answer}"));
        assert!(output.starts_with("ran ") && output != "ran 0\n", "{case:?}: {answer}");
    }
}
