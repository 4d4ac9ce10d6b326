//! Writes outside of a script's folders, and reads of files that belong to a user or the system.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use crate::support::{
    AttackScript, SECRET, User, Victim, as_user, assert_all_fail_inside,
    assert_all_succeed_outside, public_folder, test_cases, users,
};

const WRITES: &str = r#"
home = given["home"]
victim = os.path.join(home, "victim")
def create(): open(os.path.join(home, "new"), "w").write("x")
def append(): open(victim, "a").write("x")
def truncate(): os.truncate(victim, 0)
def rename(): os.rename(victim, victim + "2"); os.rename(victim + "2", victim)
def link(): os.link(victim, os.path.join(home, "second"))
def symbolic(): os.symlink("/", os.path.join(home, "symbolic"))
def folder(): os.mkdir(os.path.join(home, "folder"))
def fifo(): os.mkfifo(os.path.join(home, "fifo"))
def mode(): os.chmod(victim, 0o777)
def times(): os.utime(victim, (1, 1))
def attribute(): os.setxattr(victim, "user.x", b"y")
def skill(): open(os.path.join(os.environ["SKILL_DIR"], "SKILL.md"), "a").write("x")
def remove(): os.unlink(victim)
names = "create append truncate rename link symbolic folder fifo mode times attribute skill remove"
for name in names.split():
    attempt(name, globals()[name])
"#;

#[test]
fn nothing_outside_is_written() {
    let cases = test_cases();
    let all = [
        "create",
        "append",
        "truncate",
        "rename",
        "link",
        "symbolic",
        "folder",
        "fifo",
        "mode",
        "times",
        "attribute",
        "skill",
        "remove",
    ];
    for user in users() {
        let home = Home::of(user);
        let attack = AttackScript::python(WRITES)
            .argument("home", home.path().to_str().unwrap())
            .argument("outside", home.path().to_str().unwrap());
        fs::write(home.path().join("SKILL.md"), "# A skill\n").unwrap();
        fs::set_permissions(home.path().join("SKILL.md"), mode(0o666)).unwrap();
        assert_all_succeed_outside(&attack, user, &all);
        for case in cases.iter().filter(|case| case.user == user) {
            let home = Home::of(user);
            let before = home.state();
            let answer = attack.clone().argument("home", home.path().to_str().unwrap()).run(*case);
            assert_all_fail_inside(&answer, &all, *case);
            assert_eq!(home.state(), before, "{case:?}");
        }
    }
}

fn mode(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

/// A folder of a user with a secret file in it.
struct Home(tempfile::TempDir);

impl Home {
    fn of(user: User) -> Self {
        let folder = public_folder();
        let mut make = std::process::Command::new("/bin/sh");
        make.args(["-c", "umask 077; printf %s \"$2\" > \"$1/victim\"", "sh"]);
        make.arg(folder.path()).arg(SECRET);
        assert!(as_user(&mut make, user).status().unwrap().success());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The names in the folder, and content, mode and time of the secret file.
    fn state(&self) -> (Vec<std::ffi::OsString>, Vec<u8>, u32, i64) {
        let mut names: Vec<_> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let victim = self.path().join("victim");
        let metadata = victim.metadata().unwrap();
        (names, fs::read(&victim).unwrap(), metadata.mode(), metadata.mtime())
    }
}

const READS: &str = r#"
def read(path):
    with open(path, "rb") as file:
        content = file.read(100000)
        print("content", content, flush=True)
        if not content:
            raise OSError(0, "empty")
attempt("home", lambda: read(os.path.join(given["home"], "victim")))
attempt("environment", lambda: read("/proc/%d/environ" % given["pid"]))
attempt("command", lambda: read("/proc/%d/cmdline" % given["pid"]))
attempt("users", lambda: read("/etc/hostname"))
attempt("machine", lambda: read("/etc/machine-id"))
attempt("kernel", lambda: read("/proc/version"))
attempt("mounts", lambda: read("/proc/%d/mounts" % given["pid"]))
attempt("system", lambda: read("/sys/kernel/notes"))
attempt("listing", lambda: print("content", os.listdir(given["home"])))
attempt("shadow", lambda: read("/etc/shadow"))
"#;

#[test]
fn no_file_of_a_user_is_read() {
    let cases = test_cases();
    for user in users() {
        let home = Home::of(user);
        let victim = Victim::start(user);
        let attack = AttackScript::python(READS)
            .argument("home", home.path().to_str().unwrap())
            .argument("pid", victim.pid());
        let mut possible =
            vec!["home", "environment", "command", "users", "kernel", "mounts", "listing"];
        if user == User::Root {
            possible.push("shadow");
        }
        possible.extend(["machine", "system"]);
        for (name, file) in [
            ("users", "/etc/hostname"),
            ("machine", "/etc/machine-id"),
            ("system", "/sys/kernel/notes"),
        ] {
            possible.retain(|possible| *possible != name || Path::new(file).exists());
        }
        assert_all_succeed_outside(&attack, user, &possible);
        assert!(attack.run_outside(user).contains(SECRET));
        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            assert_all_fail_inside(&answer, &possible, *case);
            assert_all_fail_inside(&answer, &["machine", "system", "shadow"], *case);
            assert!(!answer.to_string().contains(SECRET), "{case:?}: {answer}");
        }
    }
}

#[test]
fn in_full_isolation_nothing_of_any_user_even_exists() {
    let script = r#"
seen = sorted(os.listdir("/"))
print(seen)
print(sorted(os.listdir("/etc")))
print(sorted(int(p) for p in os.listdir("/proc") if p.isdigit()))
print(os.path.exists(given["home"]), os.path.exists("/root"), os.path.exists("/home"))
print(open("/etc/passwd").read().count("\n"))
below = [os.path.join(at, name) for at, names, _ in os.walk("/var") for name in names]
print([path for path in below if path.count("/") == 3])
"#;
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        let home = Home::of(case.user);
        let answer =
            AttackScript::python(script).argument("home", home.path().to_str().unwrap()).run(case);
        let output = answer["stdout"].as_str().unwrap();
        let lines: Vec<_> = output.lines().collect();
        let seen =
            lines[0].trim_matches(['[', ']']).split(", ").map(|name| name.trim_matches('\''));
        let known = [
            "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "output", "proc", "sbin",
            "skill", "tmp", "usr", "var",
        ];
        let others: Vec<_> = seen.filter(|name| !known.contains(name)).collect();
        assert!(others.is_empty(), "{others:?}: {output}");
        assert_eq!(lines[2], "[1, 2]", "{answer}");
        assert_eq!(lines[3], "False False False", "{answer}");
        assert_eq!(lines[4], "1", "{answer}");
        // What packages keep there for fonts and for LibreOffice, where they are installed.
        let kept = lines[5].replace("'/var/cache/fontconfig'", "");
        let kept = kept.replace("'/var/lib/libreoffice'", "");
        assert!(kept.trim_matches(['[', ']', ',', ' ']).is_empty(), "{output}");
    }
}
