//! The same bytes and the same digests, whichever dialect a client uses.

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use skillwire_archive::{ArchiveFormat, ArchiveLimits, unpack};
use skillwire_testkit::{SkillFolder, TestOptions, skill_md};

use super::{Legacy, options};
use crate::support::{content, digest, manifest, percent_decode, text};

/// Path within a skill to digest and size.
type Files = BTreeMap<String, (String, u64)>;

/// The path of a skill, and its other files with their bytes.
type Made = (String, Vec<(String, Vec<u8>)>);

/// Generates folders of skills with names, depths and files of every kind.
fn catalogue() -> impl Strategy<Value = Vec<Made>> {
    let name = "[a-z][a-z0-9]{0,6}";
    let prefix = prop::collection::vec("[a-zA-Z0-9 ü]{1,5}[a-z]", 0..3);
    let path = prop_oneof!["[a-z]{1,6}\\.md", "scripts/[a-z]{1,4}\\.py", "a b/[a-z]{1,3}\\.txt"];
    let bytes = prop_oneof![
        "[ -~\n\"\\\\]{0,40}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let files = prop::collection::btree_map(path, bytes, 0..4);
    let skill = (prefix, name, files).prop_map(|(prefix, name, files)| {
        let mut path = prefix;
        path.push(name);
        (path.join("/"), files.into_iter().collect())
    });
    prop::collection::vec(skill, 1..5)
}

async fn check(folder: &SkillFolder) {
    let switches = ["skilljack=on", "skills-over-mcp=on", "well-known-digests=on"];
    let public = vec!["**".to_owned()];
    let legacy = Legacy::with(folder, TestOptions { public, ..options(&switches) }).await;
    let index = legacy.json("skill://index.json").await;
    let plain = legacy.json("skill://index").await;
    let well_known = http(&legacy, "/.well-known/skills/index.json").await;
    let well_known: Value = serde_json::from_slice(&well_known).expect("JSON");
    let entries = legacy.all("skills/list", json!({}), "skills").await;
    for entry in &entries {
        let (uri, name) = (text(&entry["uri"]), text(&entry["name"]));
        let root = uri.strip_suffix("SKILL.md").expect("what is served has it").to_owned();
        let expected: Files = manifest(entry)
            .into_iter()
            .map(|(file, known)| (percent_decode(&file[root.len()..]), known))
            .collect();
        // D1: the bytes that are read are those that are listed.
        let mut bytes = BTreeMap::new();
        for file in manifest(entry).into_keys() {
            let read = content(&legacy.read(&file).await);
            bytes.insert(percent_decode(&file[root.len()..]), read);
        }
        assert_eq!(hashed(&bytes), expected, "{uri}");
        // D2d, and the archives of D2b.
        let indexed = find(&index["skills"], "uri", &uri);
        if let Some(indexed) = indexed {
            assert_eq!(indexed["resources"], entry["resources"]);
            for archive in indexed["archives"].as_array().into_iter().flatten() {
                let format =
                    ArchiveFormat::of_name(&text(&archive["url"])).expect("what is served has it");
                let packed = content(&legacy.read(&text(&archive["url"])).await);
                let files = unpack(format, &packed, &ArchiveLimits::default()).expect("it opens");
                let files = files.into_iter().map(|file| (file.path.to_string(), file.bytes));
                assert_eq!(files.collect::<BTreeMap<_, _>>(), bytes, "{uri} {format:?}");
            }
        }
        // D7.
        let listed = legacy.json(&format!("{root}_manifest")).await;
        assert_eq!(files_of(&listed["files"], "path", "hash"), expected, "{uri}");
        // D8: the skill and its files by name.
        assert_eq!(content(&legacy.read(&format!("skill://{name}")).await), bytes["SKILL.md"]);
        let collection = legacy.read(&format!("skill://{name}/")).await;
        let found: BTreeMap<String, Vec<u8>> = collection["contents"]
            .as_array()
            .expect("what is served has it")
            .iter()
            .map(|item| {
                let path = text(&item["uri"])[format!("skill://{name}/").len()..].to_owned();
                (percent_decode(&path), content(&json!({ "contents": [item] })))
            })
            .collect();
        let mut others = bytes.clone();
        others.remove("SKILL.md");
        assert_eq!(found, others, "{uri}");
        // D9: sizes, and the documents themselves.
        let plain = find(&plain, "name", &name).expect("every skill has a name");
        assert_eq!(plain["documentCount"], others.len());
        if !others.is_empty() {
            let documents = legacy.json(&format!("skill://{name}/documents")).await;
            for document in documents["documents"].as_array().expect("what is served has it") {
                let path = text(&document["path"]);
                assert_eq!(document["size"], others[&path].len());
                assert_eq!(content(&legacy.read(&text(&document["uri"])).await), others[&path]);
            }
        }
        // D11b, where paths are plain enough for it.
        if let Some(published) = find(&well_known["skills"], "name", &name) {
            let files = published["files"].as_array().expect("what is served has it");
            let digests: BTreeMap<_, _> =
                files.iter().map(|file| (text(&file["path"]), text(&file["digest"]))).collect();
            let expected =
                expected.iter().map(|(path, (digest, _))| (path.clone(), digest.clone()));
            assert_eq!(digests, expected.collect());
            for (path, bytes) in &bytes {
                let path = path.replace(' ', "%20");
                let got = http(&legacy, &format!("/.well-known/skills/{name}/{path}")).await;
                assert_eq!(got, *bytes, "{path}");
            }
        }
    }
}

async fn http(legacy: &Legacy, path: &str) -> Vec<u8> {
    let mut connection = legacy.server.connect().await;
    connection.send("GET", path, &[], b"").await;
    let reply = connection.reply().await;
    assert_eq!(reply.status, 200, "{path}");
    reply.body
}

fn find<'a>(items: &'a Value, key: &str, value: &str) -> Option<&'a Value> {
    items.as_array()?.iter().find(|item| item[key] == value)
}

fn files_of(items: &Value, path: &str, digest: &str) -> Files {
    let items = items.as_array().expect("files").iter();
    items
        .map(|f| {
            (text(&f[path]), (text(&f[digest]), f["size"].as_u64().expect("what is served has it")))
        })
        .collect()
}

fn hashed(bytes: &BTreeMap<String, Vec<u8>>) -> Files {
    bytes.iter().map(|(path, b)| (path.clone(), (digest(b), b.len() as u64))).collect()
}

#[tokio::test]
async fn every_skill_has_the_same_bytes_and_digests_through_every_projection() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..24 {
        let skills = catalogue().new_tree(&mut runner).expect("a catalogue").current();
        let folder = SkillFolder::new();
        for (path, files) in &skills {
            let name = path.rsplit('/').next().unwrap();
            folder.file(&format!("{path}/SKILL.md"), skill_md(name));
            for (file, bytes) in files {
                folder.file(&format!("{path}/{file}"), bytes);
            }
        }
        check(&folder).await;
    }
    check(&skillwire_testkit::reference_skills::folder()).await;
}
