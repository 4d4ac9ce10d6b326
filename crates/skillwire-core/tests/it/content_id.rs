//! `ContentId` against vectors that another program made.

use serde_json::Value;
use skillwire_core::{ContentId, Digest, NoContentId, RelPath};

const VECTORS: &str = include_str!("../../../../testdata/content-id/vectors.json");

fn vectors(which: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(VECTORS).expect("the vectors are JSON");
    all[which].as_array().expect("a list").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn content_has_the_identity_that_an_independent_program_computed() {
    let vectors = vectors("accepted");
    assert!(vectors.len() >= 10);
    for vector in vectors {
        let files = vector["files"].as_array().unwrap().iter().map(|file| {
            let content = bytes(text(&file["hex"]));
            let path = RelPath::parse(text(&file["path"])).unwrap();
            (path, Digest::of(&content), content.len() as u64)
        });
        let id = ContentId::of(files).unwrap();
        assert_eq!(id.to_string(), text(&vector["id"]), "{}", vector["about"]);
    }
}

#[test]
fn paths_that_could_be_read_in_two_ways_have_no_identity() {
    for vector in vectors("refused") {
        let paths = vector["paths"].as_array().unwrap();
        let parsed: Result<Vec<_>, _> =
            paths.iter().map(|path| RelPath::parse(text(path))).collect();
        // A NUL is not even part of a path.
        let Ok(paths) = parsed else { continue };
        let files = paths.into_iter().map(|path| (path, Digest::of(b""), 0));
        let refused = ContentId::of(files).unwrap_err();
        assert!(
            matches!(refused, NoContentId::ControlCharacter(_) | NoContentId::RepeatedPath(_)),
            "{}: {refused}",
            vector["about"]
        );
    }
}
