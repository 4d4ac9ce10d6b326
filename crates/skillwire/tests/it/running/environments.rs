//! Virtual environments and packages.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use skillwire_testkit::SkillFolder;

use super::ScriptUser;
use crate::support::StdioServer;

const IMPORT: &str = "import mine, sys\nprint(mine.WORD, sys.prefix)\n";

/// Lets every user enter the test's folders: as root, scripts run as another user. Packages are then
/// kept in these folders, and not where all users of the machine share them.
pub(super) fn open_folders(user: &ScriptUser) {
    let home = user.user.home.path();
    fs::create_dir_all(home.join("sw/cache")).unwrap();
    for folder in [home.to_owned(), home.join("sw"), home.join("sw/cache")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
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
fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    let required = format!("SKILLWIRE_REQUIRE_{}", program.to_uppercase());
    assert!(
        found || std::env::var_os(&required).is_none(),
        "{program} is not installed, and {required} is set"
    );
    if !found {
        println!("skipped: {program} is not installed ({required}=1 makes this a failure)");
    }
    found
}

#[tokio::test]
async fn packages_of_a_skill_are_installed_only_with_consent_and_then_kept() {
    if !is_installed("uv") {
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

/// The parts of `uv` that are called, with one package and no index.
pub(super) const UV: &str = "#!/bin/sh\n\
    case \"$1 $2\" in\n\
    \"pip compile\")\n\
    \x20   while [ $# -gt 1 ]; do [ \"$1\" = --output-file ] && out=$2; shift; done\n\
    \x20   echo 'mine==1.2.3' > \"$out\" ;;\n\
    \"pip install\")\n\
    \x20   while [ $# -gt 1 ]; do [ \"$1\" = --python ] && python=$2; shift; done\n\
    \x20   library=$(\"$python\" -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')\n\
    \x20   echo 'WORD = \"from a package\"' > \"$library/mine.py\" ;;\n\
    \"venv \"*)\n\
    \x20   for folder; do :; done\n\
    \x20   exec /usr/bin/python3 -m venv --without-pip \"$folder\" ;;\n\
    esac\n";

#[tokio::test]
async fn packages_that_the_user_agreed_to_reach_scripts_of_a_bridge_and_a_server() {
    let inline = "# /// script\n# dependencies = [\"mine>=1\"]\n# ///\n\
                  import mine\nprint(mine.WORD)\n";
    let user = ScriptUser::new(&[("inline.py", inline)]).await;
    open_folders(&user);
    user.user.home.file("bin/uv", UV);
    let uv = user.user.home.join("bin/uv");
    fs::set_permissions(&uv, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = user.skills.path().to_str().unwrap();
    let serve = ["serve", "--execute", "--allow-script", "tools/*", folder];
    let mut bridge = StdioServer::start(user.user.command(&["bridge"]));
    let mut server = StdioServer::start(user.user.command(&serve));
    let of_bridge = json!({ "name": "run_skill_script",
                            "arguments": { "name": "acme:tools", "script": "inline.py" } });
    let of_server = json!({ "name": "run_skill_script",
                            "arguments": { "skill": "tools", "script": "inline.py" } });
    let missing = "`inline.py` lists packages that are not installed.";
    let command = "`skillwire run ";
    let said = bridge.modern("tools/call", of_bridge.clone()).await.result().to_string();
    assert!(said.contains(missing) && said.contains(command), "{said}");
    let said = server.modern("tools/call", of_server.clone()).await.result().to_string();
    assert!(said.contains(missing) && !said.contains(command), "{said}");

    let path = format!("{}:/usr/bin:/bin", uv.parent().unwrap().display());
    user.run_with(&[("PATH", &path)], &["--install"], &["inline.py"]).await.assert_exit(0);
    for (door, call) in [(&mut bridge, of_bridge), (&mut server, of_server)] {
        let said = door.modern("tools/call", call).await.result().to_string();
        assert!(said.contains("from a package") && !said.contains(missing), "{said}");
    }
    bridge.close().await.assert_exit(0);
    server.close().await.assert_exit(0);
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

/// A package of Node, as `npm pack` makes it.
struct NodePackage {
    archive: Vec<u8>,
    integrity: String,
}

/// Packs `mine` 1.2.3, whose script would leave a file if it were run.
fn pack_node(folder: &Path) -> NodePackage {
    let source = folder.join("mine");
    fs::create_dir(&source).unwrap();
    let manifest = r#"{ "name": "mine", "version": "1.2.3", "main": "index.js",
        "scripts": { "install": "echo ran > ran-while-installing" } }"#;
    fs::write(source.join("package.json"), manifest).unwrap();
    fs::write(source.join("index.js"), "exports.word = 'from a registry';\n").unwrap();
    let mut pack = Command::new("npm");
    pack.args(["pack", "--json", "--ignore-scripts"]).current_dir(&source).env("HOME", folder);
    let packed = pack.output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let described: serde_json::Value = serde_json::from_slice(&packed.stdout).unwrap();
    NodePackage {
        archive: fs::read(source.join("mine-1.2.3.tgz")).unwrap(),
        integrity: described[0]["integrity"].as_str().unwrap().to_owned(),
    }
}

/// Answers every request with the bytes of a package, in place of a registry.
fn registry(archive: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            let mut part = [0; 1024];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match connection.read(&mut part) {
                    Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                    _ => break,
                }
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n",
                archive.len()
            );
            let _ = connection.write_all(head.as_bytes());
            let _ = connection.write_all(&archive);
        }
    });
    address
}

#[tokio::test]
async fn npm_installs_what_the_lock_file_names_and_nothing_else() {
    if !is_installed("npm") {
        return;
    }
    let folder = SkillFolder::new();
    let package = pack_node(folder.path());
    let lock = |integrity: &str| {
        let packages = serde_json::json!({
            "": { "dependencies": { "mine": "1.2.3" } },
            "node_modules/mine": {
                "version": "1.2.3", "integrity": integrity, "hasInstallScript": true,
                "resolved": "https://registry.npmjs.org/mine/-/mine-1.2.3.tgz",
            },
        });
        serde_json::json!({ "lockfileVersion": 3, "packages": packages }).to_string()
    };
    let manifest = r#"{ "dependencies": { "mine": "1.2.3" } }"#;
    let script = "const fs = require('fs'), path = require('path');\n\
        const at = path.dirname(require.resolve('mine/package.json'));\n\
        console.log(require('mine').word, fs.readdirSync(at).join(' '));\n";
    let (good, other) = (lock(&package.integrity), lock("sha512-AAAA"));
    let files = [
        ("good/run.js", script),
        ("good/package.json", manifest),
        ("good/package-lock.json", &good),
        ("other/run.js", script),
        ("other/package.json", manifest),
        ("other/package-lock.json", &other),
    ];
    let user = ScriptUser::new(&files).await;
    open_folders(&user);
    let registry = format!("http://{}/", registry(package.archive));
    let cache = folder.join("npm-cache");
    let variables = [
        ("npm_config_registry", registry.as_str()),
        ("npm_config_cache", cache.to_str().unwrap()),
        ("npm_config_fetch_retries", "0"),
    ];
    let refused = user.run_with(&variables, &[], &["good/run.js"]).await.assert_exit(104);
    assert!(refused.stderr.contains("asks for 1 package:\n  mine 1.2.3"), "{}", refused.stderr);
    let ran = user.run_with(&variables, &["--install"], &["good/run.js"]).await.assert_exit(0);
    // The package's own script was not run.
    assert_eq!(ran.stdout, "from a registry index.js package.json\n", "{}", ran.stderr);
    // What was agreed to is found again, without any registry.
    let again = [("npm_config_registry", "http://127.0.0.1:1/")];
    user.run_with(&again, &[], &["good/run.js"]).await.assert_exit(0);
    // A package that is not what the lock file says is not installed.
    let differs = user.run_with(&variables, &["--install"], &["other/run.js"]).await;
    assert_eq!(differs.code, Some(108), "{differs:?}");
    assert!(differs.stderr.contains("EINTEGRITY"), "{}", differs.stderr);
}
