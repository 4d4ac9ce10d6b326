//! Variables and open files of the program that runs a script.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{AttackScript, SECRET, public_folder, test_cases, users};

const LOOK: &str = r#"
print(dict(os.environ))
for descriptor in range(3, 256):
    try:
        print("open", descriptor, os.pread(descriptor, 100, 0))
    except OSError as error:
        if error.errno != errno.EBADF:
            print("open", descriptor, error)
attempt("terminal", lambda: open("/dev/tty"))
"#;

#[test]
fn no_variable_and_no_descriptor_leaks() {
    let folder = public_folder();
    let file = folder.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let attack = AttackScript::python(LOOK)
        .caller_variable("API_TOKEN", SECRET)
        .caller_variable("PYTHONSTARTUP", "/nonexistent")
        .caller_variable("LD_PRELOAD", "");
    for user in users() {
        let outside = attack.run_outside_with_descriptor(user, &file);
        assert!(outside.contains("API_TOKEN"), "{outside}");
        assert!(outside.contains(&format!("open 9 b'{SECRET}'")), "{outside}");
    }
    for case in test_cases() {
        let answer = attack.run_with_descriptor(case, &file);
        let output = answer["stdout"].as_str().unwrap();
        assert!(!output.contains(SECRET) && !output.contains("API_TOKEN"), "{case:?}: {output}");
        assert!(!output.contains("open "), "{case:?}: {output}");
        assert!(output.contains("terminal failed"), "{case:?}: {output}");
        for name in
            ["PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "SKILL_DIR", "OUTPUT_DIR", "PYTHONPATH"]
        {
            assert!(output.contains(&format!("'{name}': ")), "{name}, {case:?}: {output}");
        }
        let variables = output.lines().next().unwrap().matches("': '").count();
        assert_eq!(variables, 8, "{case:?}: {output}");
    }
}
