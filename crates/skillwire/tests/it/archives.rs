//! `skillwire pack` and `skillwire unpack`.

use std::{fs, path::Path};

use skillwire_testkit::{
    SkillFolder, archives::ArchiveSample, archives::corpus, archives::refunds,
};

use crate::support::run;

fn folder() -> SkillFolder {
    let folder = SkillFolder::new();
    for (path, text) in refunds() {
        folder.file(&format!("skills/refunds/{path}"), text);
    }
    folder
}

fn sample(folder: &SkillFolder, sample: &ArchiveSample) -> String {
    folder.file(sample.name, sample.bytes.clone());
    sample.name.to_owned()
}

/// Every file below a folder, with its content.
fn contents(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                let bytes = fs::read(entry.path()).unwrap();
                found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn what_is_packed_is_unpacked_again_and_packing_is_reproducible() {
    let folder = folder();
    for name in ["a.tar.gz", "a.zip"] {
        let pack = ["pack", "skills/refunds", "--out", name, "--json"];
        let first = run(&folder, &pack).await.assert_exit(0).json();
        assert_eq!(first["files"], 3);
        // An archive that is there already is kept.
        run(&folder, &pack).await.assert_refused(2, "exists already.");
        let again = [&pack[..], &["--force"]].concat();
        let again = run(&folder, &again).await.assert_exit(0).json();
        assert_eq!(first["digest"], again["digest"]);
        let to = format!("out-{name}");
        run(&folder, &["unpack", name, "--to", &to]).await.assert_exit(0);
        let files = contents(&folder.path().join(&to));
        let files: Vec<_> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(files, refunds());
    }
    assert!(contents(folder.path()).iter().all(|(path, _)| !path.contains(".new")));
}

#[tokio::test]
async fn every_hostile_archive_is_exit_3_with_its_reason_and_writes_nothing_ar_15() {
    let folder = SkillFolder::new();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for hostile in corpus().iter().filter(|sample| sample.refused.is_some()) {
        let archive = sample(&folder, hostile);
        let before = contents(folder.path()).len();
        for to in ["empty", "new"] {
            let ran =
                run(&folder, &["unpack", &archive, "--to", to, "--json"]).await.assert_exit(3);
            assert_eq!(ran.json()["reason"], hostile.refused.unwrap(), "{}", hostile.name);
        }
        assert_eq!(contents(folder.path()).len(), before, "{}", hostile.name);
        assert_eq!(fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);
        assert!(!folder.path().join("new").exists());
        fs::remove_file(folder.path().join(archive)).unwrap();
    }
}

#[tokio::test]
async fn good_archives_are_unpacked_without_their_special_bits_ar_15() {
    let folder = SkillFolder::new();
    for good in corpus().iter().filter(|sample| sample.refused.is_none()) {
        let archive = sample(&folder, good);
        run(&folder, &["unpack", &archive]).await.assert_exit(0);
        let dir = archive.trim_end_matches(".tar.gz").trim_end_matches(".zip").to_owned();
        assert!(folder.path().join(&dir).join("SKILL.md").is_file(), "{archive}");
        fs::remove_dir_all(folder.path().join(dir)).unwrap();
    }
    let inner = corpus().into_iter().find(|sample| sample.name.contains("inner")).unwrap();
    run(&folder, &["unpack", &sample(&folder, &inner), "--to", "in"]).await.assert_exit(0);
    let alias = folder.path().join("in/examples/alias.md");
    assert!(fs::symlink_metadata(&alias).unwrap().is_file());
    assert_eq!(fs::read_to_string(alias).unwrap(), refunds()[0].1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let setuid = corpus().into_iter().find(|sample| sample.name.contains("setuid")).unwrap();
        run(&folder, &["unpack", &sample(&folder, &setuid), "--to", "su"]).await.assert_exit(0);
        let mode = fs::metadata(folder.path().join("su/scripts/x.sh")).unwrap().mode();
        assert_eq!(mode & 0o7100, 0o100);
    }
}

#[tokio::test]
async fn a_target_that_is_not_empty_is_refused_and_stays_as_it_is() {
    let folder = SkillFolder::new();
    folder.file("there/mine.md", "mine");
    let archive = sample(&folder, &corpus()[0]);
    run(&folder, &["unpack", &archive, "--to", "there"]).await.assert_refused(2, "is not empty");
    assert_eq!(contents(&folder.path().join("there")), [("mine.md".to_owned(), "mine".to_owned())]);
    run(&folder, &["unpack", &archive, "--to", &archive])
        .await
        .assert_refused(2, "cannot be written");
    run(&folder, &["unpack", "nothing.zip"]).await.assert_refused(2, "cannot be read");
    folder.file("page.zip", "<html>");
    run(&folder, &["unpack", "page.zip"]).await.assert_refused(3, "archive_format");
}

#[tokio::test]
async fn pack_says_what_it_cannot_pack() {
    let folder = folder();
    folder.file("skills/other/SKILL.md", "---\nname: other\ndescription: Is other.\n---\n");
    run(&folder, &["pack", "skills"]).await.assert_refused(2, "holds 2 skills");
    folder.file("bad/SKILL.md", "# no frontmatter\n");
    run(&folder, &["pack", "bad"]).await.assert_refused(1, "holds no skill");
    let out = ["pack", "skills/refunds", "--out", "x.rar"];
    run(&folder, &out).await.assert_refused(2, "neither `.tar.gz` nor `.zip`");
    folder.file("skills/other/a:b.md", "x");
    run(&folder, &["pack", "skills/other"]).await.assert_refused(1, "cannot be packed");
}
