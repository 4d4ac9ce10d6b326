//! Files of the user that a script gets, and files that it leaves.

use super::ScriptUser;

const CAT: &str =
    "import sys\nfor path in sys.argv[1:]:\n    print(path, open(path).read().strip())\n";

#[tokio::test]
async fn a_word_that_names_a_file_of_the_user_gives_the_script_a_copy() {
    let user = ScriptUser::new(&[("cat.py", CAT), ("assets/own.txt", "of the skill\n")]).await;
    user.work_file("data.csv", "a,b\n");
    user.work_file("deep/er.txt", "deep\n");
    let elsewhere = user.user.home.join("elsewhere.txt");
    std::fs::write(&elsewhere, "elsewhere\n").unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    let words = ["cat.py", "data.csv", "deep/er.txt", elsewhere, "assets/own.txt"];
    let ran = user.run(&[], &words).await.assert_exit(0);
    let printed = "data.csv a,b\ndeep/er.txt deep\nelsewhere.txt elsewhere\n\
                   assets/own.txt of the skill\n";
    assert_eq!(ran.stdout, printed);
    for said in [
        "`data.csv` (4 B) is copied in read-only",
        "(10 B) is copied in read-only as `elsewhere.txt`",
        "s of processor time and ",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let ran = user.run(&["--no-auto-input"], &["cat.py", "data.csv"]).await.assert_exit(1);
    assert!(ran.stderr.contains("No such file"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_script_changes_only_copies() {
    let script = "import os, sys\n\
        os.chmod('data.csv', 0o600)\n\
        open('data.csv', 'w').write('changed')\n\
        open('new.txt', 'w').write('new')\n\
        os.symlink('/etc/passwd', 'link')\n";
    let user = ScriptUser::new(&[("change.py", script)]).await;
    user.work_file("data.csv", "a,b\n");
    user.work_file("same.csv", "same\n");
    let ran =
        user.run(&["--output", "out"], &["change.py", "data.csv", "same.csv"]).await.assert_exit(0);
    assert_eq!(user.work_text("data.csv"), "a,b\n");
    assert_eq!(user.work_text("out/data.csv"), "changed");
    assert_eq!(user.work_text("out/new.txt"), "new");
    assert!(!user.user.home.join("work/out/same.csv").exists());
    assert!(!user.user.home.join("work/out/link").exists());
    assert!(ran.stderr.contains("It left 2 files in `out`."), "{}", ran.stderr);
    // Without `chmod` the copy is read-only.
    let user = ScriptUser::new(&[("write.py", "open('data.csv', 'a').write('x')\n")]).await;
    user.work_file("data.csv", "a,b\n");
    let ran = user.run(&[], &["write.py", "data.csv"]).await.assert_exit(1);
    assert!(ran.stderr.contains("Permission"), "{}", ran.stderr);
}

#[tokio::test]
async fn an_edited_file_is_replaced_only_when_the_script_succeeds() {
    let script = "import sys\n\
        open(sys.argv[1], 'a').write(sys.argv[2] + '\\n')\n\
        sys.exit(len(sys.argv) > 3)\n";
    let user = ScriptUser::new(&[("log.py", script)]).await;
    let edit = ["--edit", "log.txt"];
    let ran = user.run(&edit, &["log.py", "log.txt", "one"]).await.assert_exit(0);
    assert!(ran.stderr.contains("it may make `"), "{}", ran.stderr);
    user.run(&edit, &["log.py", "log.txt", "two"]).await.assert_exit(0);
    user.run(&edit, &["log.py", "log.txt", "three", "fail"]).await.assert_exit(1);
    assert_eq!(user.work_text("log.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn folders_are_copied_only_by_name_and_links_never_lead_out() {
    let script = "import os, sys\n\
        for top, _, files in sorted(os.walk(sys.argv[1])):\n    print(top, sorted(files))\n";
    let user = ScriptUser::new(&[("walk.py", script)]).await;
    user.work_file("src/a.txt", "a");
    user.work_file("src/deep/b.txt", "b");
    user.user.home.file("secret.txt", "secret");
    let secret = user.user.home.join("secret.txt");
    std::os::unix::fs::symlink(&secret, user.user.home.join("work/src/leak.txt")).unwrap();
    let ran = user.run(&[], &["walk.py", "src"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("`--input src` copies it"), "{}", ran.stderr);
    let ran = user.run(&["--input", "src:in"], &["walk.py", "src"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "in ['a.txt']\nin/deep ['b.txt']\n");
    assert!(ran.stderr.contains("1 left out"), "{}", ran.stderr);
    let ran = user.run(&["--input", "."], &["walk.py", "."]).await.assert_exit(0);
    assert!(ran.stdout.contains("./src ['a.txt']"), "{}", ran.stdout);
    let refused = user.run(&[], &["walk.py", "src/leak.txt"]).await.assert_exit(102);
    assert!(refused.stderr.contains("leads out of its folder"), "{}", refused.stderr);
    user.run(&["--input", "none.txt"], &["walk.py"]).await.assert_exit(102);
}

#[tokio::test]
async fn names_of_files_that_a_script_leaves_are_made_safe_b_12() {
    let script = "for name in ['a\\x1b[2J.txt', 'b\\n.txt', 'c\\u202e.txt', 'd\\U000e0041.txt', \
                  'e\\U000e0100.txt']:\n    open(name, 'w').write('x')\nprint('t\\U000e0100ext')\n";
    let user = ScriptUser::new(&[("names.py", script)]).await;
    let ran = user.run(&["--output", "out"], &["names.py"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "text\n");
    let entries = std::fs::read_dir(user.user.home.join("work/out")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a_[2J.txt", "b_.txt", "c_.txt", "d_.txt", "e_.txt"]);
    let json = user.run(&["--json"], &["names.py"]).await.assert_exit(0).json();
    assert_eq!(json["files"].as_object().unwrap().len(), 5, "{json}");
    assert_eq!(json["files"]["a_[2J.txt"], 1, "{json}");
}
