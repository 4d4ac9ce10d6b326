//! Entries that servers must not send, and the faults that are reported.

use serde_json::{Value, json};

use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn entry() -> Value {
    json!({
        "uri": "skill://acme/pdf/SKILL.md",
        "frontmatter": { "name": "pdf", "description": "Reads PDF files." },
        "resources": [
            { "uri": "skill://acme/pdf/x.md", "digest": DIGEST, "size": 3 },
            { "uri": "skill://acme/pdf/SKILL.md", "digest": DIGEST, "size": 10 },
        ],
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut entry = entry();
    *entry.pointer_mut(pointer).unwrap() = value;
    entry
}

fn without(parent: &str, key: &str) -> Value {
    let mut entry = entry();
    entry.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
    entry
}

fn problem(entry: &Value) -> EntryProblem {
    let fault = read(&entry.to_string(), EntryLimits::default()).expect_err(&entry.to_string());
    fault.problem
}

#[test]
fn unknown_fields_and_reserved_metadata_are_ignored_hst_24() {
    let mut entry = with(
        "/frontmatter",
        json!({
            "name": "pdf",
            "description": "Reads PDF files.",
            "metadata": { "io.modelcontextprotocol.skills/later": "x" },
            "version": 1.0,
        }),
    );
    entry["later"] = json!({ "a": 1 });
    entry["_meta"] = json!({ "com.evil/verified": true });
    entry["resources"][0]["later"] = json!(true);
    let read = read(&entry.to_string(), EntryLimits::default()).unwrap();
    assert_eq!(read.frontmatter.name().as_str(), "pdf");
    let Resources::Listed(files) = &read.resources else { panic!("not a list") };
    let uris: Vec<_> = files.iter().map(|file| file.uri.as_str()).collect();
    assert_eq!(uris, ["skill://acme/pdf/SKILL.md", "skill://acme/pdf/x.md"], "in URI order");
}

#[test]
fn what_is_not_an_entry_is_malformed_h_10() {
    for text in ["[]", "null", "\"x\"", "5", "", "{", r#"{"uri":"a","uri":"b"}"#] {
        let fault = read(text, EntryLimits::default()).unwrap_err();
        assert_eq!(fault.problem, EntryProblem::Malformed, "{text}");
    }
}

#[test]
fn resources_are_a_list_or_dynamic_and_nothing_else_hst_16_h_17() {
    assert_eq!(problem(&without("", "resources")), EntryProblem::Resources);
    for bad in [
        json!(null),
        json!({}),
        json!("Dynamic"),
        json!("static"),
        json!(""),
        json!(0),
        json!("dynamic "),
    ] {
        assert_eq!(problem(&with("/resources", bad)), EntryProblem::Resources);
    }
    let dynamic = read(&with("/resources", json!("dynamic")).to_string(), EntryLimits::default());
    assert_eq!(dynamic.unwrap().resources, Resources::Dynamic);
    for element in [json!([]), json!("skill://acme/pdf/x.md"), json!({}), json!({"uri": 5})] {
        assert_eq!(problem(&with("/resources/0", element)), EntryProblem::Resources);
    }
}

#[test]
fn the_manifest_lists_the_skill_file_h_18() {
    assert_eq!(problem(&with("/resources", json!([]))), EntryProblem::SkillFileNotListed);
    let only_other = json!([{ "uri": "skill://acme/pdf/x.md", "digest": DIGEST, "size": 3 }]);
    assert_eq!(problem(&with("/resources", only_other)), EntryProblem::SkillFileNotListed);
}

#[test]
fn a_file_is_listed_once_and_in_one_spelling_h_19() {
    assert_eq!(
        problem(&with("/resources/0/uri", json!("skill://acme/pdf/SKILL.md"))),
        EntryProblem::Duplicate
    );
    for other in ["skill://acme/pdf/%53KILL.md", "skill://acme/pdf/./SKILL.md"] {
        assert_eq!(problem(&with("/resources/0/uri", json!(other))), EntryProblem::Outside);
    }
}

#[test]
fn nothing_outside_the_skill_is_listed_h_20() {
    for outside in [
        "skill://acme/pdf-extra/x",
        "skill://acme/pdf",
        "skill://acme/x",
        "skill://acme/pdf/../x",
        "skill://acme/pdf/%2e%2e/x",
        "file:///etc/passwd",
        "https://acme/pdf/x",
        "github://acme/pdf/x",
        "x.md",
        "",
    ] {
        let entry = with("/resources/0/uri", json!(outside));
        let fault = read(&entry.to_string(), EntryLimits::default()).unwrap_err();
        assert_eq!((fault.problem, fault.file.as_deref()), (EntryProblem::Outside, Some(outside)));
    }
}

#[test]
fn digests_have_one_form_h_21() {
    let hex = &DIGEST["sha256:".len()..];
    for bad in [
        json!(DIGEST.to_uppercase()),
        json!(format!("SHA256:{hex}")),
        json!(DIGEST[..DIGEST.len() - 1]),
        json!(format!("sha512:{hex}")),
        json!("md5:d41d8cd98f00b204e9800998ecf8427e"),
        json!("sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        json!(format!("{DIGEST} ")),
        json!(null),
        json!(5),
    ] {
        assert_eq!(problem(&with("/resources/0/digest", bad)), EntryProblem::Digest);
    }
    assert_eq!(problem(&without("/resources/0", "digest")), EntryProblem::Digest);
}

#[test]
fn sizes_are_whole_numbers_and_their_sum_does_not_wrap_h_22() {
    assert_eq!(problem(&without("/resources/0", "size")), EntryProblem::Size);
    for bad in ["-1", "1.5", "\"10\"", "1e3", "9223372036854775808", "null", "10.0", "-20000000"] {
        let text = entry().to_string().replace("\"size\":3", &format!("\"size\":{bad}"));
        let fault = read(&text, EntryLimits::default()).unwrap_err();
        assert_eq!(fault.problem, EntryProblem::Size, "{bad}");
    }
    let huge = with("/resources/0/size", json!(1_u64 << 53));
    assert_eq!(problem(&huge), EntryProblem::TooLarge);
}

#[test]
fn both_limits_are_inclusive_hst_18_h_23() {
    let sized = |count: usize, last: u64| {
        let mut files: Vec<Value> = (1..count)
            .map(|n| json!({ "uri": format!("skill://acme/pdf/{n}"), "digest": DIGEST, "size": 0 }))
            .collect();
        files.push(json!({ "uri": "skill://acme/pdf/SKILL.md", "digest": DIGEST, "size": last }));
        with("/resources", json!(files))
    };
    assert!(read(&sized(512, 16_777_216).to_string(), EntryLimits::default()).is_ok());
    let fault = read(&sized(513, 1).to_string(), EntryLimits::default()).unwrap_err();
    assert_eq!(fault.problem, EntryProblem::TooManyFiles);
    assert_eq!(fault.to_string(), "expected at most 512 files, found 513 files");
    let fault = read(&sized(2, 16_777_217).to_string(), EntryLimits::default()).unwrap_err();
    assert_eq!(fault.to_string(), "expected at most 16777216 bytes, found 16777217 bytes");
    let larger = EntryLimits { files: 513, bytes: 20_000_000 };
    assert!(read(&sized(513, 16_777_217).to_string(), larger).is_ok(), "hst_19: configurable");
}

#[test]
fn names_are_valid_and_the_last_segment_of_the_path_h_24() {
    assert_eq!(problem(&with("/frontmatter/name", json!("pdf2"))), EntryProblem::NameMismatch);
    for bad in ["../x", "a/b", "PDF", "", "🎉", "a\0", "a\nb", &"a".repeat(65)] {
        assert_eq!(problem(&with("/frontmatter/name", json!(bad))), EntryProblem::Name);
    }
    assert_eq!(problem(&with("/frontmatter/name", json!(5))), EntryProblem::Name);
    assert_eq!(problem(&without("/frontmatter", "name")), EntryProblem::Name);
}

#[test]
fn the_uri_is_one_of_a_skill_file_in_normal_form_h_25() {
    for bad in [
        "skill://acme/pdf/skill.md",
        "skill://acme/pdf",
        "skill://u:p@h:1/pdf/SKILL.md",
        "skill://acme/pdf/SKILL.md?y",
        "skill://acme/pdf/SKILL.md#z",
        "skill:pdf/SKILL.md",
        "file:///pdf/SKILL.md",
        "https://acme/pdf/SKILL.md",
    ] {
        assert_eq!(problem(&with("/uri", json!(bad))), EntryProblem::Uri, "{bad}");
    }
    for bad in [json!(5), json!(null), json!(["skill://acme/pdf/SKILL.md"])] {
        assert_eq!(problem(&with("/uri", bad)), EntryProblem::Uri);
    }
    assert_eq!(problem(&without("", "uri")), EntryProblem::Uri);
}

#[test]
fn descriptions_are_present_and_not_too_long_h_26() {
    for bad in
        [json!("x".repeat(1 << 20)), json!("é".repeat(1025)), json!(" \n"), json!(null), json!(5)]
    {
        assert_eq!(problem(&with("/frontmatter/description", bad)), EntryProblem::Frontmatter);
    }
    let longest = with("/frontmatter/description", json!("é".repeat(1024)));
    assert!(read(&longest.to_string(), EntryLimits::default()).is_ok());
    let mut compatible = entry();
    compatible["frontmatter"]["compatibility"] = json!("x".repeat(501));
    assert_eq!(problem(&compatible), EntryProblem::Frontmatter);
}

#[test]
fn frontmatter_is_bounded_and_exact_h_27() {
    for bad in ["\"a\"", "[]", "null"] {
        let text = entry().to_string().replace(&entry()["frontmatter"].to_string(), bad);
        assert_eq!(
            read(&text, EntryLimits::default()).unwrap_err().problem,
            EntryProblem::Frontmatter
        );
    }
    let extra = |json: &str| {
        let text = entry().to_string().replace("\"name\":", &format!("\"x\":{json},\"name\":"));
        read(&text, EntryLimits::default())
    };
    assert!(extra(r#"{"__proto__":{"a":[1]}}"#).is_ok());
    for bad in [
        format!("{}1{}", "[".repeat(40), "]".repeat(40)),
        format!("[{}0]", "0,".repeat(10_001)),
        "9007199254740993".to_owned(),
        r#"{"a":1,"a":2}"#.to_owned(),
        format!("\"{}\"", "x".repeat(300_000)),
    ] {
        assert_eq!(extra(&bad).unwrap_err().problem, EntryProblem::Frontmatter);
    }
}

#[test]
fn faults_repeat_nothing_that_acts_and_not_much_h_26() {
    let hostile = format!("\u{1b}[31m\u{202e}{}", "x".repeat(10_000));
    let fault =
        read(&with("/uri", json!(hostile)).to_string(), EntryLimits::default()).unwrap_err();
    assert!(fault.actual.len() < 2_000, "{}", fault.actual.len());
    assert!(!fault.actual.contains(['\u{1b}', '\u{202e}']), "{}", fault.actual);
}

#[test]
fn a_fault_says_what_was_there_h_10() {
    let actual = |text: &str| read(text, EntryLimits::default()).unwrap_err().actual;
    assert_eq!(actual("[5]"), "`[5]`");
    assert_eq!(actual(&without("", "uri").to_string()), "nothing");
    assert_eq!(actual(&with("/uri", json!(5)).to_string()), "`5`");
    assert_eq!(actual(&with("/resources", json!("static")).to_string()), "`\\\"static\\\"`");
    assert_eq!(actual(&with("/resources/0", json!([1])).to_string()), "`[1]`");
    assert_eq!(actual(&with("/resources/0/size", json!(-1)).to_string()), "`-1`");
}

#[test]
fn an_entry_that_is_refused_still_names_its_skill_h_10() {
    let refused = with("/resources", json!("static")).to_string();
    let uri = read_only_uri(&refused).expect("the URI is good");
    assert_eq!(uri.as_str(), "skill://acme/pdf/SKILL.md");
    assert_eq!(read_only_uri(&with("/uri", json!("x")).to_string()), None);
    assert_eq!(read_only_uri("[]"), None);
}

#[test]
fn the_largest_frontmatter_is_read_h_27() {
    let filled = |length: usize| {
        let mut entry = entry();
        entry["frontmatter"]["x"] = json!("");
        let empty = entry["frontmatter"].to_string().len();
        entry["frontmatter"]["x"] = json!("y".repeat(length - empty));
        read(&entry.to_string(), EntryLimits::default()).map(|_| ())
    };
    assert_eq!(filled(262_144), Ok(()));
    assert_eq!(filled(262_145).unwrap_err().problem, EntryProblem::Frontmatter);
}
