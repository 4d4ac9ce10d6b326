//! Skill entries, which both methods carry: SRV-34 to SRV-51.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::{Code, RelPath};
use skillwire_source::{GenerateError, SkillGenerator};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, skill_md};

use crate::support::{
    assert_absent, content, digest, entry, findings, generated, in_memory, keys, listed, manifest,
    on_disk, percent_decode, read, read_result, root, text,
};

const LIMIT_BYTES: usize = 16_777_216;

/// A tree with neighbours whose names begin alike, nesting, odd names and an empty file.
async fn serve_varied() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&[
        "pdf",
        "pdf-extra",
        "acme/billing/refunds",
        "acme/support/refunds",
        "outer",
        "outer/inner",
        "outer/inner-extra",
    ]);
    folder
        .file("pdf/references/a b.md", "with a space")
        .file("pdf/references/ü.md", "ü")
        .file("pdf/.dotfile", "kept")
        .file("pdf/empty", "")
        .file("pdf-extra/pdf/x.md", "x")
        .file("outer/inner/deep/y.bin", b"\xff\x00\xfe");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn list_and_get_carry_the_same_entry_on_both_eras_srv_34() {
    let (_folder, server) = serve_varied().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let listed = server.legacy(&session, "skills/list", json!({})).await.message();
    let legacy = listed.result()["skills"].as_array().expect("entries").clone();
    let modern = server.skills().await;
    assert_eq!(modern.len(), 7);
    assert_eq!(legacy.len(), 7);
    for listed in modern {
        assert_eq!(keys(&listed), ["frontmatter", "resources", "uri"]);
        assert_eq!(entry(&server, &text(&listed["uri"])).await, listed);
    }
    for listed in legacy {
        let params = json!({ "uri": listed["uri"] });
        let got = server.legacy(&session, "skills/get", params).await.message();
        assert_eq!(got.result()["skill"], listed);
    }
}

#[tokio::test]
async fn the_uri_of_an_entry_is_its_readable_skill_md_srv_35() {
    let (_folder, server) = serve_varied().await;
    for entry in server.skills().await {
        let uri = text(&entry["uri"]);
        assert!(uri.ends_with("/SKILL.md"));
        let name = text(&entry["frontmatter"]["name"]);
        assert_eq!(read(&server, &uri).await, skill_md(&name).into_bytes());
    }
}

const FRONTMATTER: &str = r#"name: corpus
description: >-
  A folded description: with a colon,
  over two lines. Use when testing.

  And a paragraph.
license: "Apache-2.0 \u00e9 \"quoted\" \t tab"
x-null: null
x-tilde: ~
x-nothing:
x-true: true
x-yes: yes
x-int: 42
x-negative: -7
x-hex: 0x1F
x-octal: 0o17
x-float: 1.5
x-exponent: 25e-2
x-quoted-number: "1.0"
x-date: 2026-07-28
x-plain: several plain words # and a comment
x-literal: |
  first
    indented

  last
x-kept: |+
  kept

x-stripped: |-
  stripped
x-single: 'it''s "so"'
x-unicode: "Grüße 🦀 日本語 \U0001F600"
x-flow: [a, 1, null, {b: c}, "d, e"]
x-empty-list: []
x-empty-map: {}
x-empty-string: ""
x-nested:
  one:
    two:
      - three
      - four: 4
        five: [5, 5.5]
      - - six
        - []
metadata:
  author: someone
  com.example/bar: "1"
allowed-tools: Read Bash(git:*)
"quoted key": 1
ключ: значение
"#;

fn expected_frontmatter() -> Value {
    json!({
        "name": "corpus",
        "description":
            "A folded description: with a colon, over two lines. Use when testing.\nAnd a paragraph.",
        "license": "Apache-2.0 é \"quoted\" \t tab",
        "x-null": null,
        "x-tilde": null,
        "x-nothing": null,
        "x-true": true,
        "x-yes": "yes",
        "x-int": 42,
        "x-negative": -7,
        "x-hex": 31,
        "x-octal": 15,
        "x-float": 1.5,
        "x-exponent": 0.25,
        "x-quoted-number": "1.0",
        "x-date": "2026-07-28",
        "x-plain": "several plain words",
        "x-literal": "first\n  indented\n\nlast\n",
        "x-kept": "kept\n\n",
        "x-stripped": "stripped",
        "x-single": "it's \"so\"",
        "x-unicode": "Grüße 🦀 日本語 😀",
        "x-flow": ["a", 1, null, { "b": "c" }, "d, e"],
        "x-empty-list": [],
        "x-empty-map": {},
        "x-empty-string": "",
        "x-nested": {
            "one": { "two": ["three", { "four": 4, "five": [5, 5.5] }, ["six", []]] },
        },
        "metadata": { "author": "someone", "com.example/bar": "1" },
        "allowed-tools": "Read Bash(git:*)",
        "quoted key": 1,
        "ключ": "значение",
    })
}

#[tokio::test]
async fn frontmatter_is_every_field_the_author_wrote_and_nothing_else_srv_36() {
    let folder = SkillFolder::new();
    folder.file("corpus/SKILL.md", format!("---\n{FRONTMATTER}---\n\nname: not a field\n"));
    let server = TestServer::start(folder.path()).await;
    let frontmatter = entry(&server, "skill://corpus/SKILL.md").await["frontmatter"].clone();
    let expected = expected_frontmatter();
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(frontmatter.get(key), Some(value), "{key}");
    }
    assert_eq!(keys(&frontmatter), keys(&expected));
}

#[tokio::test]
async fn bom_and_crlf_do_not_change_the_fields_srv_36() {
    let folder = SkillFolder::new();
    let nfd = "e\u{301}";
    let lines =
        format!("name: crlf\ndescription: D. Use when testing.\nx: |\n  a\n  b\ny: {nfd}\n");
    let file = format!("\u{feff}---\n{lines}---\n\nText.\n").replace('\n', "\r\n");
    folder.file("crlf/SKILL.md", file);
    let server = TestServer::start(folder.path()).await;
    assert_eq!(
        entry(&server, "skill://crlf/SKILL.md").await["frontmatter"],
        json!({
            "name": "crlf",
            "description": "D. Use when testing.",
            "x": "a\nb\n",
            "y": nfd,
        })
    );
}

#[tokio::test]
async fn every_entry_has_a_description_and_the_name_that_ends_its_path_srv_37_srv_38() {
    let (folder, mut server) = serve_varied().await;
    folder.file("other-folder/SKILL.md", skill_md("named"));
    server.refresh();
    let skills = server.skills().await;
    assert_eq!(skills.len(), 8);
    for entry in skills {
        let name = text(&entry["frontmatter"]["name"]);
        assert!(!text(&entry["frontmatter"]["description"]).is_empty());
        let root = root(&entry);
        assert_eq!(root.rsplit('/').next(), Some(name.as_str()));
    }
}

#[tokio::test]
async fn shared_names_are_served_and_the_operator_is_warned_srv_39() {
    let (_folder, mut server) = serve_varied().await;
    let uris = listed(&server).await;
    let told = server.refresh();
    for path in ["acme/billing/refunds", "acme/support/refunds"] {
        assert!(uris.contains(&format!("skill://{path}/SKILL.md")));
        assert!(findings(&told, &format!("{path}/SKILL.md")).contains(&Code::DuplicateName));
    }
    assert!(!findings(&told, "pdf/SKILL.md").contains(&Code::DuplicateName));
}

#[tokio::test]
async fn resources_are_an_array_or_the_word_dynamic_srv_40() {
    let sources = vec![generated("live", Counter::default()), in_memory(["stored"])];
    let server = TestServer::with_sources(sources, TestOptions::default()).await;
    let skills = server.skills().await;
    assert_eq!(skills.len(), 2);
    for entry in skills {
        let expected_array = entry["uri"] == "skill://stored/SKILL.md";
        let resources = &entry["resources"];
        assert_eq!(resources.is_array(), expected_array, "{entry}");
        assert!(expected_array || resources == "dynamic", "{entry}");
    }
}

#[tokio::test]
async fn manifests_are_complete_and_true_to_the_disk_srv_41_srv_45_srv_46() {
    let (folder, server) = serve_varied().await;
    for entry in server.skills().await {
        let root = root(&entry);
        let directory = percent_decode(root.strip_prefix("skill://").expect("the scheme"));
        let expected: BTreeMap<_, _> = on_disk(&folder.join(&directory))
            .into_iter()
            .map(|(path, bytes)| (path, (digest(&bytes), bytes.len() as u64)))
            .collect();
        let found: BTreeMap<_, _> = manifest(&entry)
            .into_iter()
            .map(|(uri, file)| (percent_decode(&uri[root.len() + 1..]), file))
            .collect();
        assert_eq!(found, expected, "{root}");
    }
}

#[tokio::test]
async fn each_file_appears_once_whichever_way_uris_are_compared_srv_42() {
    let (_folder, server) = serve_varied().await;
    for entry in server.skills().await {
        let files = entry["resources"].as_array().expect("files").clone();
        let exact: BTreeSet<_> = files.iter().map(|file| text(&file["uri"])).collect();
        let decoded: BTreeSet<_> =
            exact.iter().map(|uri| percent_decode(uri).to_lowercase()).collect();
        assert_eq!(exact.len(), files.len());
        assert_eq!(decoded.len(), files.len());
    }
}

#[tokio::test]
async fn manifests_hold_the_skill_md_and_nothing_from_outside_srv_43_srv_44() {
    let (_folder, server) = serve_varied().await;
    for entry in server.skills().await {
        let files = manifest(&entry);
        assert!(files.contains_key(&text(&entry["uri"])), "{entry}");
        let below = format!("{}/", root(&entry));
        assert!(files.keys().all(|uri| uri.starts_with(&below)), "{entry}");
    }
}

#[tokio::test]
async fn digests_are_lower_case_sha_256_srv_45() {
    let folder = SkillFolder::with_skills(&["known"]);
    folder.file("known/abc", "abc").file("known/empty", "");
    let server = TestServer::start(folder.path()).await;
    let files = manifest(&entry(&server, "skill://known/SKILL.md").await);
    // Published test vectors, so that test and server cannot share a mistake.
    assert_eq!(
        files["skill://known/abc"].0,
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_eq!(
        files["skill://known/empty"].0,
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[tokio::test]
async fn sizes_are_written_as_whole_numbers_srv_46() {
    let folder = SkillFolder::with_skills(&["known"]);
    folder.file("known/five", "12345").file("known/empty", "").file("known/wide", "ü🦀");
    let server = TestServer::start(folder.path()).await;
    let params = json!({ "uri": "skill://known/SKILL.md" });
    let body = server.modern_with(&[], "skills/get", params).await.text();
    let sizes: Vec<&str> = body
        .split("\"size\":")
        .skip(1)
        .map(|rest| rest.split([',', '}']).next().unwrap_or_default())
        .collect();
    assert_eq!(sizes.len(), 4, "{body}");
    for size in &sizes {
        assert!(size.bytes().all(|byte| byte.is_ascii_digit()), "{size}");
    }
    for expected in ["5", "0", "6"] {
        assert!(sizes.contains(&expected), "{sizes:?}");
    }
}

#[tokio::test]
async fn what_is_read_is_what_was_hashed_srv_47() {
    let corpus: [(&str, &[u8]); 11] = [
        ("crlf.txt", b"a\r\nb\r\n"),
        ("bom.txt", b"\xef\xbb\xbftext"),
        ("utf-16.txt", b"\xff\xfea\0"),
        ("lone-cr.txt", b"a\rb\r"),
        ("nul.txt", b"a\0b"),
        ("separators.txt", "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f".as_bytes()),
        ("nfd.txt", "e\u{301} \u{1100}\u{1161}".as_bytes()),
        ("nfc.txt", "\u{e9} \u{ac00}".as_bytes()),
        ("invalid.txt", b"caf\xe9 \xed\xa0\x80 \xc0\xaf"),
        ("no-newline.txt", b"last line"),
        ("escapes.txt", b"\\u0041 \"quoted\" \x1b[31m \x7f"),
    ];
    let folder = SkillFolder::with_skills(&["exact"]);
    for (name, bytes) in corpus {
        folder.file(&format!("exact/{name}"), bytes);
    }
    let server = TestServer::start(folder.path()).await;
    let files = manifest(&entry(&server, "skill://exact/SKILL.md").await);
    assert_eq!(files.len(), corpus.len() + 1);
    for (name, bytes) in corpus {
        let uri = format!("skill://exact/{name}");
        let read = read(&server, &uri).await;
        assert_eq!(read, bytes, "{name}");
        assert_eq!(files[&uri], (digest(&read), read.len() as u64), "{name}");
    }
}

/// A skill that counts how often its one supporting file was made.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl SkillGenerator for Counter {
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        Ok(match path.as_str() {
            "SKILL.md" => Some(skill_md("live").into()),
            "data/count.txt" => Some(self.0.fetch_add(1, Ordering::Relaxed).to_string().into()),
            _ => None,
        })
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        let paths = ["SKILL.md", "data/count.txt"].map(RelPath::parse);
        Ok(paths.map(|path| path.expect("a relative path")).into())
    }
}

#[tokio::test]
async fn generated_content_is_dynamic_in_list_and_get_srv_48() {
    let sources = vec![generated("reports/live", Counter::default())];
    let server = TestServer::with_sources(sources, TestOptions::default()).await;
    let uri = "skill://reports/live/SKILL.md";
    let listed = server.skills().await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["resources"], "dynamic");
    assert_eq!(entry(&server, uri).await, listed[0]);
    assert_eq!(read(&server, uri).await, skill_md("live").into_bytes());
    let count = "skill://reports/live/data/count.txt";
    let (first, second) = (read(&server, count).await, read(&server, count).await);
    assert_eq!((first.as_slice(), second.as_slice()), (b"0".as_slice(), b"1".as_slice()));
}

#[tokio::test]
async fn authors_of_generated_skills_are_warned_srv_49() {
    let sources = vec![generated("live", Counter::default()), in_memory(["stored"])];
    let mut server = TestServer::with_sources(sources, TestOptions::default()).await;
    let told = server.refresh();
    let warned = |origin: &str| {
        let found = told.inspected().find(|inspected| inspected.origin.ends_with(origin));
        let findings = &found.expect("it was looked at").findings;
        findings.iter().any(|finding| finding.code == Code::DynamicSkill)
    };
    assert!(warned("live"));
    assert!(!warned("stored"));
}

#[tokio::test]
async fn limits_are_inclusive_and_excess_is_refused_whole_srv_50() {
    let folder = SkillFolder::with_skills(&["most-files", "too-many", "most-bytes", "too-large"]);
    for (name, files) in [("most-files", 511), ("too-many", 512)] {
        for index in 0..files {
            folder.file(&format!("{name}/f{index}"), "");
        }
    }
    let room = LIMIT_BYTES - skill_md("most-bytes").len();
    folder.file("most-bytes/data", vec![b'x'; room]);
    let room = LIMIT_BYTES - skill_md("too-large").len();
    folder.file("too-large/data", vec![b'x'; room + 1]);
    let mut server = TestServer::start(folder.path()).await;
    assert_eq!(
        listed(&server).await,
        ["skill://most-bytes/SKILL.md", "skill://most-files/SKILL.md"]
    );
    let most = manifest(&entry(&server, "skill://most-files/SKILL.md").await);
    assert_eq!(most.len(), 512);
    let bytes = manifest(&entry(&server, "skill://most-bytes/SKILL.md").await);
    assert_eq!(bytes.values().map(|(_, size)| *size).sum::<u64>(), LIMIT_BYTES as u64);
    assert_absent(&server, "skill://too-many/SKILL.md").await;
    assert_absent(&server, "skill://too-large/SKILL.md").await;
    let told = server.refresh();
    assert!(findings(&told, "too-many").contains(&Code::TooManyFiles));
    assert!(findings(&told, "too-large").contains(&Code::TooManyBytes));
}

#[tokio::test]
async fn reserved_metadata_passes_through_without_meaning_srv_51() {
    let folder = SkillFolder::new();
    let lines = "name: reserved\ndescription: D. Use when testing.\nmetadata:\n  \
                 io.modelcontextprotocol/foo: kept\n  io.modelcontextprotocol/resources: dynamic\n  \
                 io.modelcontextprotocol.skills/uri: skill://other/SKILL.md\n";
    let file = format!("---\n{lines}---\n");
    folder.file("reserved/SKILL.md", &file);
    let server = TestServer::start(folder.path()).await;
    let uri = "skill://reserved/SKILL.md";
    let entry = entry(&server, uri).await;
    assert_eq!(
        entry["frontmatter"]["metadata"],
        json!({
            "io.modelcontextprotocol/foo": "kept",
            "io.modelcontextprotocol/resources": "dynamic",
            "io.modelcontextprotocol.skills/uri": "skill://other/SKILL.md",
        })
    );
    assert_eq!(manifest(&entry)[uri], (digest(file.as_bytes()), file.len() as u64));
    let read = read_result(&server, uri).await;
    assert_eq!(content(&read), file.into_bytes());
    assert!(read["contents"][0].get("_meta").is_none());
}
