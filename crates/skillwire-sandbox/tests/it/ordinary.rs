//! What ordinary scripts must be able to do.

use serde_json::json;

use crate::{
    support::{AttackScript, test_cases},
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
            ("run.py", python, "python ['--n', '7', 'x'] 7\n"),
            ("run.js", node, "node --n 7 x 7\n"),
            ("run.sh", "read -r line; echo \"sh $* ${#line}\"\n", "sh --n 7 x 17\n"),
            ("run", bash, "bash --n 7 x 17\n"),
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
