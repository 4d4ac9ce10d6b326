//! Whole skills as one file.

use serde_json::{Value, json};
use skillwire_archive::{ArchiveFormat, ArchiveLimits, unpack};
use skillwire_testkit::reference_skills;

use super::{LEGACY_NOT_FOUND, Legacy, fixture};
use crate::support::{content, digest, text};

const ROOT: &str = "skill://acme/billing/refunds";

#[tokio::test]
async fn archives_have_the_digest_that_is_listed_and_the_files_that_are_served_d2() {
    let (_folder, legacy) = fixture(&[]).await;
    let index = legacy.json("skill://index.json").await;
    let listed = index["skills"][0]["archives"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    for (archive, format) in listed.iter().zip(ArchiveFormat::ALL) {
        assert_eq!(archive["mimeType"], format.media_type());
        let read = legacy.read(&text(&archive["url"])).await;
        assert_eq!(read["contents"][0]["mimeType"], format.media_type());
        let bytes = content(&read);
        assert_eq!(digest(&bytes), text(&archive["digest"]));
        let files =
            unpack(format, &bytes, &ArchiveLimits::default()).expect("our own archive opens");
        let mut found: Vec<_> =
            files.iter().map(|file| (file.path.as_str().to_owned(), digest(&file.bytes))).collect();
        found.sort();
        let mut expected: Vec<_> = reference_skills::FILES
            .iter()
            .filter_map(|(path, _, digest)| {
                let path = path.strip_prefix("acme/billing/refunds/")?;
                Some((path.to_owned(), (*digest).to_owned()))
            })
            .collect();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn archives_are_the_same_bytes_on_every_server_d2() {
    let (_folder, one) = fixture(&[]).await;
    let (_other, two) = fixture(&[]).await;
    for suffix in [".tar.gz", ".zip"] {
        let uri = format!("{ROOT}{suffix}");
        assert_eq!(content(&one.read(&uri).await), content(&two.read(&uri).await));
    }
}

#[tokio::test]
async fn a_real_file_is_not_taken_for_an_archive_nor_a_name_for_a_skill_d2() {
    let folder = reference_skills::folder();
    folder.file("git-workflow/x.zip", "a file").skill("git-workflow/x");
    let legacy = Legacy::start(&folder, &[]).await;
    assert_eq!(legacy.text("skill://git-workflow/x.zip").await, "a file");
    for uri in ["skill://nope.zip", "skill://.zip", "skill://acme/billing.zip", "skill://x.tar"] {
        let code = legacy.code("resources/read", json!({ "uri": uri })).await;
        assert_eq!(code, LEGACY_NOT_FOUND, "{uri}");
    }
}

#[tokio::test]
async fn a_changed_file_makes_another_archive_d2() {
    let (folder, mut legacy) = fixture(&[]).await;
    let listed = async |legacy: &Legacy| -> Value {
        legacy.json("skill://index.json").await["skills"][0]["archives"].clone()
    };
    let before = listed(&legacy).await;
    folder.file("acme/billing/refunds/examples/email.md", "Hi.\n");
    legacy.server.refresh();
    let after = listed(&legacy).await;
    assert_ne!(before, after);
    let bytes = content(&legacy.read(&text(&after[1]["url"])).await);
    assert_eq!(digest(&bytes), text(&after[1]["digest"]));
}
