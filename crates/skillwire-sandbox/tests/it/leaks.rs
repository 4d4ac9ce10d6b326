//! Variables and descriptors of the program that runs a script.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Attack, SECRET, cells, public_folder, users};

const LOOK: &str = r#"
print(dict(os.environ))
for descriptor in range(3, 256):
    try:
        print("open", descriptor, os.pread(descriptor, 100, 0))
    except OSError as error:
        if error.errno != errno.EBADF:
            print("open", descriptor, error)
print("session", os.getsid(0) == int(given.get("session", 0)))
attempt("terminal", lambda: open("/dev/tty"))
"#;

#[test]
fn no_variable_and_no_descriptor_leaks() {
    let folder = public_folder();
    let file = folder.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let attack = Attack::python(LOOK)
        .surround("API_TOKEN", SECRET)
        .surround("PYTHONSTARTUP", "/nonexistent")
        .surround("LD_PRELOAD", "");
    for user in users() {
        let outside = attack.run_outside_with_descriptor(user, &file);
        assert!(outside.contains("API_TOKEN"), "{outside}");
        assert!(outside.contains(&format!("open 9 b'{SECRET}'")), "{outside}");
    }
    for cell in cells() {
        let answer = attack.run_with_descriptor(cell, &file);
        let output = answer["stdout"].as_str().unwrap();
        assert!(!output.contains(SECRET) && !output.contains("API_TOKEN"), "{cell:?}: {output}");
        assert!(!output.contains("open "), "{cell:?}: {output}");
        assert!(output.contains("terminal failed"), "{cell:?}: {output}");
        for name in ["PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "SKILL_DIR", "OUTPUT_DIR"] {
            assert!(output.contains(&format!("'{name}': ")), "{name}, {cell:?}: {output}");
        }
        let variables = output.lines().next().unwrap().matches("': '").count();
        assert_eq!(variables, 7, "{cell:?}: {output}");
    }
}
