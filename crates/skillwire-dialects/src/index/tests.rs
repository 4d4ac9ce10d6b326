use super::*;
use crate::RefusedBecause;

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";

fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

fn early(url: &str) -> Value {
    json!({ "name": "refunds", "type": "skill-md", "description": "x", "url": url })
}

fn read_one(entry: &Value) -> Result<OfferedSkill, RefusedEntry> {
    let mut index = read(&json!({ "skills": [entry] }).to_string()).unwrap();
    index.skills.pop().expect("one entry")
}

#[test]
fn an_entry_for_both_eras_is_read_as_one_of_the_later_c_11() {
    let frontmatter = raw(&json!({ "name": "refunds", "description": "x", "license": "MIT" }));
    let digest = Digest::of(b"a");
    let resources = raw(&json!([{ "uri": REFUNDS, "digest": digest, "size": 1 }]));
    let document = IndexDocument {
        schema: Some(SCHEMA),
        skills: vec![
            IndexEntry {
                name: Some("refunds".into()),
                kind: Some(SKILL_MD),
                description: Some("x".into()),
                url: Some(REFUNDS.into()),
                digest: Some(digest),
                frontmatter: Some(&frontmatter),
                archives: vec![IndexArchive {
                    url: archive_uri(&SkillUri::parse(REFUNDS).unwrap(), ArchiveFormat::Zip),
                    media_type: ArchiveFormat::Zip.media_type(),
                    digest,
                    size: 1,
                }],
                uri: Some(REFUNDS),
                resources: Some(&resources),
            },
            IndexEntry::template("Docs.", "skill://docs/{product}/SKILL.md"),
        ],
    };
    let index = read(std::str::from_utf8(&document.write()).unwrap()).unwrap();
    assert_eq!(index.dialect, Some(Dialect::Index));
    assert_eq!(index.templates, ["skill://docs/{product}/SKILL.md"]);
    let skill = index.skills[0].as_ref().unwrap();
    assert_eq!(skill.frontmatter.fields()["license"], "MIT");
    let promise = FilePromise { digest: Some(digest), size: Some(1) };
    assert_eq!(skill.offer.promises[skill.uri.file()], promise);
    assert!(skill.offer.complete);
}

#[test]
fn an_archive_alone_is_how_its_skill_is_fetched_d2_d3() {
    let frontmatter = raw(&json!({ "name": "refunds", "description": "x" }));
    let digest = Digest::of(b"a");
    let url = "skill://acme/refunds.tar.gz".to_owned();
    let media_type = ArchiveFormat::TarGz.media_type();
    let later = IndexEntry {
        frontmatter: Some(&frontmatter),
        archives: vec![IndexArchive { url: url.clone(), media_type, digest, size: 1 }],
        ..IndexEntry::default()
    };
    let skill = read_one(&json!(later)).unwrap();
    assert_eq!(skill.uri.as_str(), REFUNDS);
    let format = Some(ArchiveFormat::TarGz);
    let route = FetchRoute::Archive { url: url.clone(), format, digest: Some(digest) };
    assert_eq!(skill.offer.route, route);
    let earlier = IndexEntry {
        name: Some("refunds".into()),
        kind: Some(ARCHIVE),
        url: Some("skill://downloads/7f3.zip".into()),
        ..IndexEntry::default()
    };
    let skill = read_one(&json!(earlier)).unwrap();
    assert!(skill.uri.as_str().starts_with("skill://archive-"), "{}", skill.uri);
    assert!(skill.offer.first_seen, "nothing is promised about the archive");
}

#[test]
fn documents_that_are_no_index_are_refused_whole_d2() {
    let many: Vec<_> = (0..=MAX_ENTRIES).map(|n| early(&format!("skill://s{n}"))).collect();
    for (bad, found) in [
        ("[]", "no JSON object"),
        ("<html>", "no JSON object"),
        (r#"{"skills":{}}"#, "no object with a list"),
        ("{", "no object with a list"),
        (&json!({ "skills": many }).to_string(), "5001 entries"),
    ] {
        assert!(read(bad).unwrap_err().to_string().contains(found), "{found}");
    }
    let marked = format!("\u{feff}{}", json!({ "skills": [early(REFUNDS)] }));
    assert_eq!(read(&marked).unwrap().skills.len(), 1);
}

#[test]
fn entries_that_cannot_be_used_are_refused_one_by_one_d2_d3() {
    let zeros = format!("sha256:{}", "0".repeat(64));
    let frontmatter = json!({ "name": "refunds", "description": "x" });
    let files =
        |files: Value| json!({ "uri": REFUNDS, "frontmatter": frontmatter, "resources": files });
    for (bad, problem) in [
        (json!(5), EntryProblem::Malformed),
        (json!({ "name": "refunds" }), EntryProblem::Malformed),
        (json!({ "type": "skill-md", "url": REFUNDS }), EntryProblem::Malformed),
        (json!({ "frontmatter": frontmatter }), EntryProblem::Malformed),
        (early("file:///etc/passwd"), EntryProblem::Uri),
        (early("https://evil.example/refunds/SKILL.md"), EntryProblem::Uri),
        (early("skill://a/%2e%2e/refunds/SKILL.md"), EntryProblem::Uri),
        (early("skill://a%2Frefunds/SKILL.md"), EntryProblem::Uri),
        (early("skill://refunds/SKILL.md/"), EntryProblem::Uri),
        (early("skill://other/SKILL.md"), EntryProblem::NameMismatch),
        (files(json!([{ "uri": "skill://x/y.md", "digest": zeros }])), EntryProblem::Outside),
        (files(json!([{ "uri": REFUNDS, "digest": "md5:1" }])), EntryProblem::Digest),
        (
            files(json!([{ "uri": "skill://acme/refunds/x.md", "digest": zeros }])),
            EntryProblem::SkillFileNotListed,
        ),
        (files(json!([{ "uri": REFUNDS }, { "uri": REFUNDS }])), EntryProblem::Duplicate),
    ] {
        let document = json!({ "skills": [bad, early(REFUNDS)] }).to_string();
        let index = read(&document).unwrap();
        let refused = index.skills[0].as_ref().unwrap_err();
        assert_eq!(refused.because, RefusedBecause::Entry(problem), "{bad}");
        assert!(index.skills[1].is_ok(), "{bad}");
    }
}

#[test]
fn entries_that_mix_eras_are_each_read_by_themselves_c_11() {
    let document = json!({ "skills": [
        early(REFUNDS),
        { "url": "skill://new/SKILL.md", "frontmatter": { "name": "new", "description": "x" } },
        { "type": "skill-md", "description": "x", "urlTemplate": "skill://{b}/SKILL.md" },
        { "type": "hologram", "name": "x" },
    ] });
    let index = read(&document.to_string()).unwrap();
    let dialects: Vec<_> = index.skills.iter().flatten().map(|skill| skill.offer.dialect).collect();
    assert_eq!(dialects, [Dialect::EarlyIndex, Dialect::Index]);
    assert_eq!(index.dialect, Some(Dialect::Index));
    assert_eq!((index.templates.len(), index.unknown), (1, 1));
}
