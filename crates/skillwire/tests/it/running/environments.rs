//! Virtual environments and packages.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::ScriptUser;

const IMPORT: &str = "import mine, sys\nprint(mine.WORD, sys.prefix)\n";

/// Lets every user enter the test's folders: as root, scripts run as another user.
fn open_folders(user: &ScriptUser) {
    fs::set_permissions(user.user.home.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a virtual environment of the system's Python with one module in it.
fn make_venv(folder: &Path) {
    let made = Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let library = fs::read_dir(folder.join("lib")).unwrap().next().unwrap().unwrap().path();
    fs::write(library.join("site-packages/mine.py"), "WORD = 'from the environment'\n").unwrap();
}

#[tokio::test]
async fn a_virtual_environment_is_used_and_named() {
    let user = ScriptUser::new(&[("import.py", IMPORT)]).await;
    open_folders(&user);
    user.run(&[], &["import.py"]).await.assert_exit(1);
    make_venv(&user.user.home.join("elsewhere"));
    let ran = user.run(&["--venv", "../elsewhere"], &["import.py"]).await.assert_exit(0);
    assert!(ran.stdout.starts_with("from the environment /"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("/elsewhere\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("it can read `/"), "{}", ran.stderr);
    make_venv(&user.user.home.join("work/.venv"));
    let ran = user.run(&[], &["import.py"]).await.assert_exit(0);
    assert!(ran.stdout.ends_with("/.venv\n"), "{}", ran.stdout);
    user.run(&["--no-packages"], &["import.py"]).await.assert_exit(1);
    let refused = user.run(&["--venv", "."], &["import.py"]).await.assert_exit(102);
    assert!(refused.stderr.contains("pyvenv.cfg"), "{}", refused.stderr);
}

#[tokio::test]
async fn an_environment_behind_a_link_is_not_used_unasked() {
    let user = ScriptUser::new(&[("import.py", IMPORT)]).await;
    open_folders(&user);
    make_venv(&user.user.home.join("elsewhere"));
    let link = user.user.home.join("work/.venv");
    std::os::unix::fs::symlink(user.user.home.join("elsewhere"), link).unwrap();
    let ran = user.run(&[], &["import.py"]).await.assert_exit(1);
    assert!(ran.stderr.contains("No module named 'mine'"), "{}", ran.stderr);
}

/// A folder with one wheel, `mine 1.2.3`, in place of a package index.
fn wheels(folder: &Path) -> PathBuf {
    let wheels = folder.join("wheels");
    fs::create_dir(&wheels).unwrap();
    let program = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1] + '/mine-1.2.3-py3-none-any.whl', 'w') as wheel:\n\
        \x20   wheel.writestr('mine.py', \"WORD = 'from a wheel'\\n\")\n\
        \x20   info = 'mine-1.2.3.dist-info/'\n\
        \x20   wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: mine\\nVersion: 1.2.3\\n')\n\
        \x20   wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        \x20   wheel.writestr(info + 'RECORD', 'mine.py,,\\nmine-1.2.3.dist-info/METADATA,,\\nmine-1.2.3.dist-info/WHEEL,,\\nmine-1.2.3.dist-info/RECORD,,\\n')\n";
    let made = Command::new("/usr/bin/python3").args(["-c", program]).arg(&wheels).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{made:?}");
    wheels
}

#[expect(clippy::disallowed_methods, reason = "a machine says by a variable what it must have")]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn uv_is_installed() -> bool {
    let found = Command::new("uv").arg("--version").output().is_ok();
    assert!(
        found || std::env::var_os("SKILLWIRE_REQUIRE_UV").is_none(),
        "uv is not installed, and SKILLWIRE_REQUIRE_UV is set"
    );
    if !found {
        println!("skipped: uv is not installed (SKILLWIRE_REQUIRE_UV=1 makes this a failure)");
    }
    found
}

#[tokio::test]
async fn packages_of_a_skill_are_installed_only_with_consent_and_then_kept() {
    if !uv_is_installed() {
        return;
    }
    let inline = "#!/usr/bin/env -S uv run --script\n# /// script\n\
                  # dependencies = [\"mine>=1\"]\n# ///\nimport mine\nprint(mine.WORD)\n";
    let files =
        [("import.py", IMPORT), ("requirements.txt", "mine==1.2.3\n"), ("inline.py", inline)];
    let user = ScriptUser::new(&files).await;
    open_folders(&user);
    let wheels = wheels(user.user.home.path());
    let cache = user.user.home.join("uv-cache");
    let variables = [
        ("UV_FIND_LINKS", wheels.to_str().unwrap()),
        ("UV_NO_INDEX", "1"),
        ("UV_OFFLINE", "1"),
        ("UV_CACHE_DIR", cache.to_str().unwrap()),
    ];
    for script in ["import.py", "inline.py"] {
        let refused = user.run_with(&variables, &[], &[script]).await.assert_exit(104);
        assert!(refused.stderr.contains("asks for 1 package:\n  mine 1.2.3"), "{}", refused.stderr);
        assert!(refused.stderr.contains("`--install`"), "{}", refused.stderr);
        let ran = user.run_with(&variables, &["--install"], &[script]).await.assert_exit(0);
        assert!(ran.stdout.starts_with("from a wheel"), "{}", ran.stdout);
    }
    // What was agreed to is found again, without any index and without `uv`.
    let ran = user.run_with(&[("PATH", "/nowhere")], &[], &["import.py"]).await.assert_exit(0);
    assert!(ran.stdout.starts_with("from a wheel"), "{}", ran.stdout);
}

#[tokio::test]
async fn packages_that_come_from_elsewhere_than_an_index_are_never_installed() {
    let files = [
        ("import.py", "print('ran')\n"),
        ("requirements.txt", "mine @ https://evil.example/mine.whl\n"),
    ];
    let user = ScriptUser::new(&files).await;
    let ran = user.run(&["--install"], &["import.py"]).await.assert_exit(0);
    assert!(ran.stderr.contains("only names with versions are installed"), "{}", ran.stderr);
}

#[tokio::test]
async fn packages_of_node_are_listed_from_the_lock_file_before_anything_is_installed() {
    let lock = r#"{ "lockfileVersion": 3, "packages": { "": {}, "node_modules/left-pad": {
        "version": "1.3.0", "resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz",
        "integrity": "sha512-x" } } }"#;
    let files = [
        ("scripts/run.js", "console.log('ran')\n"),
        ("package.json", r#"{ "dependencies": { "left-pad": "1.3.0" } }"#),
        ("package-lock.json", lock),
    ];
    let user = ScriptUser::new(&files).await;
    let refused = user.run(&[], &["scripts/run.js"]).await.assert_exit(104);
    assert!(refused.stderr.contains("left-pad 1.3.0"), "{}", refused.stderr);
    let ran = user.run(&["--no-packages"], &["scripts/run.js"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "ran\n");
}
