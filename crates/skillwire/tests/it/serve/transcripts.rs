//! Replays every conversation in `testdata/conformance` against the server.

use std::{fs, path::Path};

use skillwire_testkit::{StdioClient, Transcript, reference_skills};

use crate::support::BINARY;

#[tokio::test]
async fn transcripts_of_every_dialect_and_profile_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance");
    let mut held = Vec::new();
    for found in fs::read_dir(folder).expect("the conversations are there") {
        let path = found.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a conversation can be read");
        let transcript = Transcript::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let skills = reference_skills::folder();
        let skills = skills.path().to_str().expect("UTF-8").to_owned();
        // The tools of `serve` itself are no part of any dialect.
        let mut arguments = vec!["serve", &skills, "--no-index", "--no-tools"];
        arguments.extend(transcript.arguments.iter().map(String::as_str));
        let mut client = StdioClient::spawn(Path::new(BINARY), &arguments);
        if let Err(wrong) = transcript.replay(&mut client).await {
            panic!("{name}: {wrong}");
        }
        held.push(name);
    }
    // Every dialect that MCP carries, for clients of either era.
    for dialect in (1..=10).chain([12]) {
        for profile in ["legacy", "strict"] {
            let name = format!("d{dialect}-{profile}");
            assert!(held.contains(&name), "{name} is missing");
        }
    }
}
