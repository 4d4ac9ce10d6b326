//! Skill format and resource mapping: SRV-11 to SRV-23.

use std::collections::BTreeSet;

use serde_json::json;
use skillwire_core::{Code, Scheme, Strictness};
use skillwire_source::DirectoryOptions;
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, skill_md};

use crate::support::{
    assert_absent, children, crawl, digest, entry, findings, keys, listed, manifest, on_disk,
    percent_decode, read, refused, root, text,
};

/// A file of a skill `name`, with these lines between the fences.
fn with_frontmatter(lines: &str) -> String {
    format!("---\n{lines}---\n\nText.\n")
}

#[tokio::test]
async fn what_breaks_the_format_is_not_served_and_the_operator_is_told_srv_11() {
    let long = "x".repeat(1_025);
    let corpus = [
        ("no-yaml", with_frontmatter("name: [\n"), Code::YamlSyntax),
        ("a-list", with_frontmatter("- name\n"), Code::FrontmatterNotAMapping),
        (
            "twice",
            with_frontmatter("name: twice\nname: twice\ndescription: D.\n"),
            Code::YamlDuplicateKey,
        ),
        (
            "colon",
            with_frontmatter("name: colon\ndescription: Use when: now\n"),
            Code::YamlUnquotedColon,
        ),
        ("number", with_frontmatter("name: 7\ndescription: D.\n"), Code::NameInvalid),
        (
            "too-long",
            with_frontmatter(&format!("name: too-long\ndescription: {long}\n")),
            Code::DescriptionTooLong,
        ),
        (
            "vague",
            with_frontmatter("name: vague\ndescription: D.\ncompatibility: ''\n"),
            Code::CompatibilityInvalid,
        ),
    ];
    let folder = SkillFolder::with_skills(&["good"]);
    for (name, content, _) in &corpus {
        folder.file(&format!("{name}/SKILL.md"), content);
    }
    let mut server = TestServer::start(folder.path()).await;
    assert_eq!(listed(&server).await, ["skill://good/SKILL.md"]);
    let told = server.refresh();
    for (name, _, code) in corpus {
        assert_absent(&server, &format!("skill://{name}/SKILL.md")).await;
        let codes = findings(&told, &format!("{name}/SKILL.md"));
        assert!(codes.contains(&code), "{name}: {codes:?}");
    }
}

#[tokio::test]
async fn a_directory_without_skill_md_is_no_skill_srv_12() {
    let folder = SkillFolder::with_skills(&["good"]);
    folder
        .file("without/README.md", skill_md("without"))
        .file("lower/skill.md", skill_md("lower"))
        .file("mixed/Skill.md", skill_md("mixed"))
        .directory("folder/SKILL.md");
    let mut server = TestServer::start(folder.path()).await;
    for name in ["without", "lower", "mixed", "folder"] {
        assert_absent(&server, &format!("skill://{name}/SKILL.md")).await;
        refused(&server, "resources/read", &format!("skill://{name}/skill.md")).await;
    }
    assert_eq!(listed(&server).await, ["skill://good/SKILL.md"]);
    let told = server.refresh();
    assert_eq!(findings(&told, "lower/skill.md"), [Code::SkillFileCase]);
    assert_eq!(findings(&told, "mixed/Skill.md"), [Code::SkillFileCase]);
    assert_eq!(findings(&told, "folder/SKILL.md"), [Code::SkillFileNotAFile]);
}

#[tokio::test]
async fn skill_md_begins_with_frontmatter_that_has_name_and_description_srv_13() {
    let corpus = [
        ("leading-text", format!("Text.\n{}", skill_md("leading-text")), Code::FrontmatterMissing),
        ("blank-line", format!("\n{}", skill_md("blank-line")), Code::FrontmatterMissing),
        ("no-fence", "# Only Markdown\n".to_owned(), Code::FrontmatterMissing),
        ("nothing", String::new(), Code::FrontmatterMissing),
        (
            "unclosed",
            "---\nname: unclosed\ndescription: D.\n".to_owned(),
            Code::FrontmatterUnclosed,
        ),
        ("no-name", with_frontmatter("description: D.\n"), Code::NameMissing),
        ("no-words", with_frontmatter("name: no-words\n"), Code::DescriptionMissing),
        (
            "empty-words",
            with_frontmatter("name: empty-words\ndescription: ' '\n"),
            Code::DescriptionMissing,
        ),
        (
            "null-words",
            with_frontmatter("name: null-words\ndescription:\n"),
            Code::DescriptionMissing,
        ),
    ];
    let folder = SkillFolder::new();
    for (name, content, _) in &corpus {
        folder.file(&format!("{name}/SKILL.md"), content);
    }
    let mut server = TestServer::start(folder.path()).await;
    assert!(listed(&server).await.is_empty());
    let told = server.refresh();
    for (name, _, code) in corpus {
        assert_absent(&server, &format!("skill://{name}/SKILL.md")).await;
        let codes = findings(&told, &format!("{name}/SKILL.md"));
        assert!(codes.contains(&code), "{name}: {codes:?}");
    }
}

#[tokio::test]
async fn every_file_at_any_depth_is_a_resource_of_its_own_srv_14_srv_15() {
    let folder = SkillFolder::with_skills(&["pdf"]);
    folder
        .file("pdf/references/FORMS.md", "# Forms\n")
        .file("pdf/references/deep/er/still.txt", "still\n")
        .file("pdf/scripts/extract.py", "print()\n")
        .file("pdf/.hidden", "kept\n")
        .file("pdf/bundle.tar.gz", b"\x1f\x8b\x08\x00")
        .file("pdf/empty", "");
    let server = TestServer::start(folder.path()).await;
    let entry = entry(&server, "skill://pdf/SKILL.md").await;
    let files = on_disk(&folder.join("pdf"));
    assert_eq!(manifest(&entry).len(), files.len());
    for (path, bytes) in files {
        assert_eq!(read(&server, &format!("skill://pdf/{path}")).await, bytes, "{path}");
    }
}

#[tokio::test]
async fn no_skill_has_a_packed_form_srv_15() {
    let folder = SkillFolder::with_skills(&["pdf", "acme/refunds"]);
    let server = TestServer::start(folder.path()).await;
    for entry in server.skills().await {
        assert_eq!(keys(&entry), ["frontmatter", "resources", "uri"]);
    }
    let everything = json!(crawl(&server).await).to_string();
    for ending in [".zip", ".tar", ".tgz", ".gz", ".skill", "index.json", "archive"] {
        assert!(!everything.contains(ending), "{ending} in {everything}");
    }
    for packed in ["skill://pdf.zip", "skill://pdf.tar.gz", "skill://pdf"] {
        refused(&server, "resources/read", packed).await;
    }
}

#[tokio::test]
async fn uris_are_the_skill_path_and_the_file_path_with_slashes_srv_16() {
    let folder = SkillFolder::with_skills(&["pdf", "acme/billing/refunds"]);
    folder.file("pdf/references/FORMS.md", "F").file("acme/billing/refunds/examples/e.md", "E");
    let server = TestServer::start(folder.path()).await;
    let uris: BTreeSet<String> =
        server.skills().await.iter().flat_map(|entry| manifest(entry).into_keys()).collect();
    let expected: BTreeSet<String> =
        on_disk(folder.path()).into_keys().map(|path| format!("skill://{path}")).collect();
    assert_eq!(uris, expected);
}

#[tokio::test]
async fn a_skill_path_may_have_any_depth_srv_17() {
    let deep = "a/b/c/d/e/f/g/h/refunds";
    let folder = SkillFolder::with_skills(&["refund", "acme/billing/refunds", deep]);
    let server = TestServer::start(folder.path()).await;
    for path in ["refund", "acme/billing/refunds", deep] {
        let uri = format!("skill://{path}/SKILL.md");
        assert_eq!(entry(&server, &uri).await["uri"], json!(uri));
        let name = path.rsplit('/').next().expect("a name");
        assert_eq!(read(&server, &uri).await, skill_md(name).into_bytes());
    }
}

#[tokio::test]
async fn a_skill_is_served_under_its_name_and_never_as_its_directory_srv_18() {
    let folder = SkillFolder::new();
    folder.file("group/wrong-folder/SKILL.md", skill_md("right"));
    let mut server = TestServer::start(folder.path()).await;
    assert_eq!(listed(&server).await, ["skill://group/wrong-folder/right/SKILL.md"]);
    assert_eq!(
        entry(&server, "skill://group/wrong-folder/right/SKILL.md").await["frontmatter"]["name"],
        "right"
    );
    for method in ["skills/get", "resources/read"] {
        refused(&server, method, "skill://group/wrong-folder/SKILL.md").await;
    }
    let told = server.refresh();
    assert!(findings(&told, "wrong-folder/SKILL.md").contains(&Code::NameNotDirectory));
}

#[tokio::test]
async fn a_strict_server_refuses_a_name_that_is_not_the_directory_srv_18() {
    let folder = SkillFolder::with_skills(&["good"]);
    folder.file("wrong-folder/SKILL.md", skill_md("right"));
    let directory = DirectoryOptions::default().strictness(Strictness::Strict);
    let options = TestOptions { directory, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    assert_eq!(listed(&server).await, ["skill://good/SKILL.md"]);
    assert_absent(&server, "skill://right/SKILL.md").await;
    assert_absent(&server, "skill://wrong-folder/SKILL.md").await;
}

#[tokio::test]
async fn names_that_break_the_rules_are_not_served_srv_19() {
    let too_long = "a".repeat(65);
    let names =
        ["PDF", "a_b", "a b", "-a", "a-", "a--b", "é", "a.b", "a/b", "..", "\u{ff41}", &too_long];
    let folder = SkillFolder::with_skills(&["good"]);
    folder.skill(&"b".repeat(64));
    for (index, name) in names.iter().enumerate() {
        let lines = format!("name: '{name}'\ndescription: D. Use when testing.\n");
        folder.file(&format!("bad-{index}/SKILL.md"), with_frontmatter(&lines));
    }
    let mut server = TestServer::start(folder.path()).await;
    let longest = format!("skill://{}/SKILL.md", "b".repeat(64));
    assert_eq!(listed(&server).await, [longest.as_str(), "skill://good/SKILL.md"]);
    let told = server.refresh();
    for (index, name) in names.iter().enumerate() {
        let codes = findings(&told, &format!("bad-{index}/SKILL.md"));
        assert!(codes.contains(&Code::NameInvalid), "{name}: {codes:?}");
    }
}

/// Asserts that a URI is made of characters RFC 3986 allows, and of triplets in upper case.
fn assert_is_uri(uri: &str) {
    let (_, rest) = uri.split_once("://").expect("a scheme");
    let authority = rest.split('/').next().unwrap_or_default();
    assert!(!authority.contains([':', '@']), "{uri}");
    let bytes = rest.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let triplet = || {
            bytes.get(at + 1..at + 3).is_some_and(|hex| {
                hex.iter().all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(b))
            })
        };
        let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(byte);
        assert!(plain || (*byte == b'%' && triplet()), "{uri}");
    }
}

#[tokio::test]
async fn odd_prefixes_are_percent_encoded_and_round_trip_srv_20() {
    let odd =
        ["a b", "ü", "100%", "%20", "what?", "#1", "a:b", "x@y", "[z]", "back\\slash", "\"q\""];
    let folder = SkillFolder::new();
    for segment in odd {
        folder.skill(&format!("{segment}/{segment} two/refunds"));
    }
    let server = TestServer::start(folder.path()).await;
    let uris = listed(&server).await;
    assert_eq!(uris.len(), odd.len());
    let mut decoded = BTreeSet::new();
    for uri in uris {
        assert_is_uri(&uri);
        assert_eq!(read(&server, &uri).await, skill_md("refunds").into_bytes());
        decoded.insert(percent_decode(&uri));
    }
    let expected =
        odd.map(|segment| format!("skill://{segment}/{segment} two/refunds/SKILL.md")).into();
    assert_eq!(decoded, expected);
}

#[tokio::test]
async fn another_scheme_has_the_same_structure_srv_21() {
    let folder = SkillFolder::with_skills(&["refunds"]);
    folder.file("refunds/examples/email.md", "Dear customer\r\n");
    let directory = DirectoryOptions::default()
        .scheme(Scheme::parse("github").expect("a scheme"))
        .prefix(["owner", "repo", "skills"]);
    let options = TestOptions { directory, ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    let uri = "github://owner/repo/skills/refunds/SKILL.md";
    assert_eq!(listed(&server).await, [uri]);
    let entry = entry(&server, uri).await;
    assert_eq!(root(&entry), "github://owner/repo/skills/refunds");
    for (file, (expected, size)) in manifest(&entry) {
        let bytes = read(&server, &file).await;
        assert_eq!((digest(&bytes), bytes.len() as u64), (expected, size));
    }
    let found = children(&server, "github://owner/repo/skills/refunds/examples").await;
    assert_eq!(found[0]["uri"], "github://owner/repo/skills/refunds/examples/email.md");
    assert_absent(&server, "skill://owner/repo/skills/refunds/SKILL.md").await;
}

#[tokio::test]
async fn directory_uris_have_no_trailing_slash_srv_22() {
    let folder = SkillFolder::with_skills(&["acme/pdf"]);
    folder.file("acme/pdf/a/b/c.md", "C").directory("acme/pdf/empty");
    let server = TestServer::start(folder.path()).await;
    let mut directories = vec![root(&entry(&server, "skill://acme/pdf/SKILL.md").await)];
    assert_eq!(directories, ["skill://acme/pdf"]);
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        seen += 1;
        refused(&server, "resources/directory/read", &format!("{directory}/")).await;
        for child in children(&server, &directory).await {
            let uri = text(&child["uri"]);
            assert!(!uri.ends_with('/'), "{uri}");
            if child["mimeType"] == "inode/directory" {
                directories.push(uri);
            }
        }
    }
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn two_files_never_share_a_uri_and_no_file_has_two_srv_23() {
    let names =
        ["a b", "a%20b", "a+b", "\u{e9}", "e\u{301}", "a%2Fb", "a%2fb", "A b", "%", "a?b#c"];
    let folder = SkillFolder::with_skills(&["pdf"]);
    for name in names {
        folder.file(&format!("pdf/{name}"), format!("content of {name}"));
    }
    let server = TestServer::start(folder.path()).await;
    let files = manifest(&entry(&server, "skill://pdf/SKILL.md").await);
    assert_eq!(files.len(), names.len() + 1);
    let mut found = BTreeSet::new();
    for uri in files.keys().filter(|uri| !uri.ends_with("/SKILL.md")) {
        assert_is_uri(uri);
        let name = percent_decode(uri.strip_prefix("skill://pdf/").expect("in the skill"));
        assert_eq!(read(&server, uri).await, format!("content of {name}").into_bytes());
        found.insert(name);
    }
    assert_eq!(found, names.map(str::to_owned).into());
    for alias in
        ["skill://pdf/a b", "skill://pdf/a%2520B", "skill://pdf/%61+b", "skill://pdf/%c3%a9"]
    {
        refused(&server, "resources/read", alias).await;
    }
}
