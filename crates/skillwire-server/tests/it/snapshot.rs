//! One snapshot under changing files: SRV-52.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, thread};

use serde_json::{Value, json};
use skillwire_catalog::Refresher;
use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer};

use crate::support::{INVALID_PARAMS, content, digest, manifest, text};

const VERSIONS: usize = 60;
const URI: &str = "skill://moving/SKILL.md";

/// Returns the files of one version; a file has the same size in every version.
fn version(number: usize) -> BTreeMap<String, Vec<u8>> {
    let skill = format!(
        "---\nname: moving\ndescription: Moves. Use when testing.\nmetadata:\n  \
         version: \"{number:04}\"\n---\n"
    );
    let mut files = BTreeMap::from([("SKILL.md".to_owned(), skill.into_bytes())]);
    for name in ["a.txt", "b/c.txt", "b/d/e.txt"] {
        files.insert(name.to_owned(), format!("{name} {number:04}").into_bytes());
    }
    files
}

/// Replaces one version after the other, each as a whole by a rename.
fn rewrite(folder: &Path) {
    for number in 1..=VERSIONS {
        let prepared = folder.join(format!("spare/new-{number}"));
        for (path, bytes) in version(number) {
            let path = prepared.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
            fs::write(path, bytes).expect("a file");
        }
        let live = folder.join("served/moving");
        fs::rename(&live, folder.join(format!("spare/old-{number}"))).expect("a rename");
        fs::rename(prepared, &live).expect("a rename");
        // Another file changes in place, as when an editor saves it.
        fs::write(folder.join("served/other/notes.txt"), "n".repeat(number * 10)).expect("a file");
    }
}

/// Returns the version of an entry, after checking that all its files are of that version.
fn version_of(entry: &Value) -> usize {
    let said = text(&entry["frontmatter"]["metadata"]["version"]);
    let number: usize = said.parse().expect("a number");
    let expected: BTreeMap<_, _> = version(number)
        .into_iter()
        .map(|(path, bytes)| {
            (format!("skill://moving/{path}"), (digest(&bytes), bytes.len() as u64))
        })
        .collect();
    assert_eq!(manifest(entry), expected, "an entry mixes versions");
    number
}

/// Returns the entry of a skill, if it is served at the moment.
async fn get(server: &TestServer, uri: &str) -> Option<Value> {
    let reply = server.modern("skills/get", json!({ "uri": uri })).await;
    if reply.0.get("error").is_some() {
        assert_eq!(reply.code(), INVALID_PARAMS);
        return None;
    }
    Some(reply.result()["skill"].clone())
}

/// Reads every file of an entry; returns `None` if the server refused a read.
async fn read_all(server: &TestServer, entry: &Value) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for uri in manifest(entry).into_keys() {
        let reply = server.modern("resources/read", json!({ "uri": uri })).await;
        if reply.0.get("error").is_some() {
            assert_eq!(reply.code(), INVALID_PARAMS);
            return None;
        }
        files.insert(uri, content(reply.result()));
    }
    Some(files)
}

/// Gets an entry, reads its files and compares; returns whether all of it was of one moment.
async fn check_once(server: &TestServer, uri: &str) -> bool {
    let Some(before) = get(server, uri).await else { return false };
    let Some(files) = read_all(server, &before).await else { return false };
    let after = get(server, uri).await;
    if uri == URI {
        let oldest = version_of(&before);
        for (file, bytes) in &files {
            let path = file.strip_prefix("skill://moving/").expect("in the skill");
            let whole = (oldest..=VERSIONS).any(|number| version(number)[path] == *bytes);
            assert!(whole, "{file} is of no version");
        }
        after.as_ref().map(version_of);
    }
    if after.as_ref() != Some(&before) {
        return false;
    }
    for (uri, listed) in manifest(&before) {
        let bytes = &files[&uri];
        assert_eq!((digest(bytes), bytes.len() as u64), listed, "{uri}");
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_never_mixes_two_versions_of_a_changing_tree_srv_52() {
    let folder = SkillFolder::new();
    folder.skill("served/other").directory("spare");
    for (path, bytes) in version(0) {
        folder.file(&format!("served/moving/{path}"), bytes);
    }
    let server = TestServer::with_sources(Vec::new(), TestOptions::default()).await;
    let source = DirectorySource::new(folder.join("served"), DirectoryOptions::default());
    let source = Box::new(source.expect("the folder is there"));
    let mut refresher = Refresher::new(Arc::clone(server.engine().catalog()), vec![source]);
    refresher.refresh(&ScanRequest::everything());

    let root = folder.path().to_owned();
    let writer = thread::spawn(move || rewrite(&root));
    let reader = thread::spawn(move || {
        while !writer.is_finished() {
            refresher.refresh(&ScanRequest::everything());
        }
        writer.join().expect("the writer ends");
        refresher.refresh(&ScanRequest::everything());
    });
    while !reader.is_finished() {
        check_once(&server, URI).await;
        check_once(&server, "skill://other/SKILL.md").await;
    }
    reader.join().expect("the reader ends");
    assert!(check_once(&server, URI).await);
    assert!(check_once(&server, "skill://other/SKILL.md").await);
    assert_eq!(version_of(&get(&server, URI).await.expect("it is served")), VERSIONS);
}
