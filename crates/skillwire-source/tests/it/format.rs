//! Which content of a `SKILL.md` a source accepts.

use skillwire_core::{Code, Strictness};

use crate::support::{
    Folder, assert_refused, at, bytes, entry, has, listed, options, served, skill, skill_md, tree,
};

fn folder_of(content: impl AsRef<[u8]>) -> Folder {
    let folder = Folder::new();
    folder.write("pdf/SKILL.md", content);
    folder
}

#[test]
fn bytes_are_served_as_they_are_v_46() {
    for content in [
        format!("\u{feff}{}", skill_md("pdf")),
        skill_md("pdf").replace('\n', "\r\n"),
        "---\nname: pdf\ndescription: Use when\n--- \t\nno final newline\r lone".to_owned(),
        "---  \nname: pdf\ndescription: Use when\n---\n\t\u{2028}".to_owned(),
    ] {
        let folder = folder_of(&content);
        let scan = folder.scan();
        let skill = skill(&scan, "pdf");
        assert_eq!(bytes(skill, "SKILL.md"), content.as_bytes());
        let digest = skillwire_core::Digest::of(content.as_bytes());
        assert_eq!(listed(skill)[0].1, digest);
    }
}

#[test]
fn dots_do_not_close_the_frontmatter_v_46() {
    let scan = folder_of("---\nname: pdf\ndescription: Use when\n...\nbody\n").scan();
    assert!(at(&scan, "skills/pdf").skill.is_none());
}

#[test]
fn duplicate_keys_are_refused_v_48() {
    for yaml in [
        "name: pdf\nname: pdf\ndescription: d",
        "name: pdf\n\"name\": other\ndescription: d",
        "name: pdf\ndescription: d\nmetadata:\n  a: '1'\n  a: '2'",
    ] {
        let scan = folder_of(format!("---\n{yaml}\n---\n")).scan();
        assert_refused(&scan, "skills/pdf", &[Code::YamlDuplicateKey]);
    }
}

#[test]
fn name_and_description_are_strings_of_their_lengths_v_50() {
    let long = "\u{1f600}".repeat(1024);
    assert_eq!(
        served(&folder_of(format!("---\nname: pdf\ndescription: {long}\n---\n")).scan()),
        ["pdf"]
    );
    for name in ["123", "null", "[a]", "true"] {
        let scan = folder_of(format!("---\nname: {name}\ndescription: d\n---\n")).scan();
        assert_refused(&scan, "skills/pdf", &[Code::NameInvalid]);
    }
    let scan = folder_of("---\nname: pdf\ndescription: '   '\n---\n").scan();
    assert_refused(&scan, "skills/pdf", &[Code::DescriptionMissing]);
}

#[test]
fn an_overlong_description_is_served_only_leniently_v_50() {
    let folder = folder_of(format!("---\nname: pdf\ndescription: {}\n---\n", "d".repeat(1025)));
    assert_refused(&folder.scan(), "skills/pdf", &[Code::DescriptionTooLong]);
    let lenient = options().strictness(Strictness::Lenient);
    assert_eq!(served(&folder.source_with(lenient).scan().unwrap()), ["pdf"]);
}

#[test]
fn unseen_characters_in_a_description_are_served_and_reported_v_54() {
    let description = "Use when \u{202e}needed\u{200b}.";
    let folder = folder_of(format!("---\nname: pdf\ndescription: \"{description}\"\n---\n"));
    let scan = folder.scan();
    assert_eq!(skill(&scan, "pdf").description(), description);
    assert!(has(&at(&scan, "skills/pdf").findings, Code::DescriptionCharacters));
    let scan = folder_of("---\nname: \"pdf\\u202e\"\ndescription: d\n---\n").scan();
    assert_refused(&scan, "skills/pdf", &[Code::NameInvalid]);
}

#[test]
fn unknown_and_reserved_keys_are_served_verbatim_v_55() {
    let yaml = "name: pdf\ndescription: Use when\nhooks: {a: [1, null]}\nmetadata:\n  io.modelcontextprotocol/x: {deep: 1.5}\n  n: 7";
    let scan = folder_of(format!("---\n{yaml}\n---\n")).scan();
    let fields = &entry(skill(&scan, "pdf"))["frontmatter"];
    assert_eq!(fields["hooks"].to_string(), r#"{"a":[1,null]}"#);
    let metadata = r#"{"io.modelcontextprotocol/x":{"deep":1.5},"n":7}"#;
    assert_eq!(fields["metadata"].to_string(), metadata);
    let findings = &at(&scan, "skills/pdf").findings;
    for code in [Code::ClientKey, Code::MetadataReserved, Code::MetadataValue] {
        assert!(has(findings, code), "{code}");
    }
}

#[test]
fn other_encodings_are_no_skill_file_but_a_supporting_file_v_56() {
    let latin = [b"---\nname: pdf\ndescription: ", &[0xe9][..], b"\n---\n"].concat();
    let utf16: Vec<u8> = skill_md("pdf").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for content in [latin.clone(), utf16.clone()] {
        let scan = folder_of(&content).scan();
        assert!(at(&scan, "skills/pdf").skill.is_none());
    }
    let folder = folder_of(skill_md("pdf"));
    folder.write("pdf/latin.md", &latin).write("pdf/wide.md", &utf16);
    let scan = folder.scan();
    assert_eq!(bytes(skill(&scan, "pdf"), "latin.md"), latin);
    let wide = tree(skill(&scan, "pdf")).files.iter().find(|f| f.path.as_str() == "wide.md");
    assert_eq!(wide.unwrap().media_type, "application/octet-stream");
}

#[test]
fn a_licence_file_that_is_named_should_be_there_fmt_10() {
    let yaml = "---\nname: pdf\ndescription: Use when\nlicense: See LICENSE.txt\n---\n";
    let folder = folder_of(yaml);
    assert!(has(&at(&folder.scan(), "skills/pdf").findings, Code::LicenseFileMissing));
    folder.write("pdf/LICENSE.txt", "MIT");
    assert!(!has(&at(&folder.scan(), "skills/pdf").findings, Code::LicenseFileMissing));
}

#[test]
fn a_skill_file_that_is_no_text_is_refused_v_40() {
    let folder = Folder::new();
    folder.skill("good").write("empty/SKILL.md", "").write("binary/SKILL.md", [0, 159, 146, 150]);
    folder.write("huge/SKILL.md", vec![b'-'; 17 * 1024 * 1024]).directory("folder/SKILL.md");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/empty", &[Code::FrontmatterMissing]);
    assert_refused(&scan, "skills/huge", &[Code::TooManyBytes]);
    assert_refused(&scan, "skills/folder", &[Code::SkillFileNotAFile]);
    assert!(at(&scan, "skills/binary").skill.is_none());
}

#[cfg(unix)]
#[test]
fn a_skill_file_that_is_a_link_is_refused_v_40() {
    let folder = Folder::new();
    folder.write("pdf/real.md", skill_md("pdf")).link("pdf/SKILL.md", "real.md");
    let scan = folder.scan();
    assert_refused(&scan, "skills/pdf", &[Code::SkillFileNotAFile]);
}

#[test]
fn whoever_wants_to_know_everything_is_told_it_at_once() {
    let token = ["ghp_", "Q7kT2mZ9xR4bW8nJ5vL3cH6pF1dGsYqAE123"].concat();
    let folder = Folder::new();
    folder
        .write("pdf/SKILL.md", "---\nname: PDF\ndescription: Use when\n---\n[a](gone.md)\n")
        .write("pdf/.env", "A=1\n")
        .write("pdf/notes.md", token);
    let everything = folder.scan();
    let found = &at(&everything, "skills/pdf").findings;
    for code in [Code::NameInvalid, Code::SecretFile, Code::SecretText, Code::LinkMissing] {
        assert!(has(found, code), "{code}: {found:#?}");
    }
    // With `brief`, a scan skips further checks once the skill is refused: a server needs no other
    // reason.
    let scan = folder.source_with(options().brief(true)).scan().unwrap();
    let found = &at(&scan, "skills/pdf").findings;
    assert!(has(found, Code::NameInvalid) && !has(found, Code::SecretText), "{found:#?}");
    assert!(at(&scan, "skills/pdf").skill.is_none() && served(&everything).is_empty());
}
