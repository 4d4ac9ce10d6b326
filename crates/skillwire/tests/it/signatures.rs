//! `skillwire key new`, `skillwire sign` and `skillwire verify-signature`.

use std::fs;

use skillwire_testkit::{SkillFolder, archives::refunds};

use crate::support::run;

/// A folder with a skill and the key `k.pem`.
async fn folder() -> SkillFolder {
    let folder = SkillFolder::new();
    for (path, text) in refunds() {
        folder.file(&format!("refunds/{path}"), text);
    }
    run(&folder, &["key", "new", "--out", "k.pem"]).await.assert_exit(0);
    folder
}

const SIGN: [&str; 4] = ["sign", "refunds", "--key", "k.pem"];
const VERIFY: [&str; 5] = ["verify-signature", "refunds", "--key", "k.pub", "--json"];

#[tokio::test]
async fn a_skill_is_signed_and_verified_and_a_change_is_noticed() {
    let folder = folder().await;
    // Installed packages are no part of a skill, neither here nor wherever it is checked.
    folder.file("refunds/node_modules/left-pad/index.js", "0\n");
    let signed = run(&folder, &[&SIGN[..], &["--json"]].concat()).await.assert_exit(0).json();
    assert_eq!(signed["files"], 3);
    folder.file("refunds/node_modules/left-pad/index.js", "1\n");
    let verified = run(&folder, &VERIFY).await.assert_exit(0).json();
    assert_eq!(verified[0]["verified"], true);
    assert_eq!(verified[0]["signer"]["key"], signed["key"]);
    assert_eq!(verified[0]["contentId"], signed["contentId"]);
    assert_eq!(verified[0]["signature"], "skill.dsse.sig");

    folder.file("refunds/extra.md", "Not signed.\n");
    let refused = run(&folder, &VERIFY).await.assert_exit(3).json();
    assert_eq!(refused[0]["code"], "content_differs");
    // The signer is named all the same, because the statement is theirs.
    assert_eq!(refused[0]["signer"]["key"], signed["key"]);
    let text = run(&folder, &VERIFY[..4]).await.assert_exit(3).stdout;
    assert!(text.contains("1 not signed (`extra.md`)"), "{text}");
}

#[tokio::test]
async fn signing_again_is_the_same_and_another_signature_is_not_overwritten() {
    let folder = folder().await;
    let file = folder.path().join("refunds/skill.dsse.sig");
    run(&folder, &SIGN).await.assert_exit(0);
    let first = fs::read(&file).unwrap();
    run(&folder, &SIGN).await.assert_exit(0);
    assert_eq!(fs::read(&file).unwrap(), first);

    run(&folder, &["key", "new", "--out", "other.pem"]).await.assert_exit(0);
    let other = ["sign", "refunds", "--key", "other.pem"];
    run(&folder, &other).await.assert_refused(2, "holds another signature.");
    assert_eq!(fs::read(&file).unwrap(), first);
    run(&folder, &[&other[..], &["--add"]].concat()).await.assert_exit(0);
    for key in ["k.pub", "other.pub"] {
        run(&folder, &["verify-signature", "refunds", "--key", key]).await.assert_exit(0);
    }
    // A changed skill needs a new statement.
    folder.file("refunds/extra.md", "More.\n");
    run(&folder, &[&other[..], &["--add"]].concat())
        .await
        .assert_refused(3, "it is for other content.");
    run(&folder, &[&other[..], &["--force"]].concat()).await.assert_exit(0);
    run(&folder, &VERIFY).await.assert_exit(3);
}

#[tokio::test]
async fn a_detached_signature_leaves_the_skill_as_it_is() {
    let folder = folder().await;
    run(&folder, &[&SIGN[..], &["--out", "r.sig"]].concat()).await.assert_exit(0);
    assert!(!folder.path().join("refunds/skill.dsse.sig").exists());
    let unsigned = run(&folder, &VERIFY).await.assert_exit(3).json();
    assert_eq!(unsigned[0]["code"], "unsigned");
    run(&folder, &[&VERIFY[..], &["--signature", "r.sig"]].concat()).await.assert_exit(0);
}

#[tokio::test]
async fn no_signer_is_trusted_unless_the_user_names_one() {
    let folder = folder().await;
    run(&folder, &SIGN).await.assert_exit(0);
    run(&folder, &["verify-signature", "refunds"]).await.assert_refused(2, "No signer is trusted");
    run(&folder, &["key", "new", "--out", "other.pem"]).await.assert_exit(0);
    let other = ["verify-signature", "refunds", "--key", "other.pub", "--json"];
    assert_eq!(run(&folder, &other).await.assert_exit(3).json()[0]["code"], "wrong_key");
}

#[tokio::test]
async fn a_private_key_is_readable_by_its_owner_alone_and_never_overwritten_or_shown() {
    let folder = folder().await;
    let made = run(&folder, &["key", "new", "--json"]).await.assert_exit(0);
    let file = made.json()["private"].as_str().unwrap().to_owned();
    let key = fs::read_to_string(&file).unwrap();
    let secret = key.lines().nth(1).unwrap();
    assert!(!made.stdout.contains(secret) && !made.stderr.contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    run(&folder, &["key", "new"]).await.assert_refused(2, "A key is never overwritten.");
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
    // `sign` uses it unless another key is named.
    run(&folder, &["sign", "refunds"]).await.assert_exit(0);
    let public = made.json()["key"].as_str().unwrap().to_owned();
    run(&folder, &["verify-signature", "refunds", "--key", &public]).await.assert_exit(0);
}

#[tokio::test]
async fn a_dry_run_shows_the_statement_and_writes_nothing() {
    let folder = folder().await;
    let shown = run(&folder, &["sign", "refunds", "--dry-run"]).await.assert_exit(0).json();
    assert_eq!(shown["predicateType"], "https://skillwire.dev/attestation/skill/v1");
    assert_eq!(shown["subject"][0]["name"], "SKILL.md");
    assert!(!folder.path().join("refunds/skill.dsse.sig").exists());
}

#[tokio::test]
async fn keys_and_roots_that_cannot_be_used_say_what_to_name_instead() {
    let folder = folder().await;
    run(&folder, &SIGN).await.assert_exit(0);
    let verify =
        |option: &'static str, value: &'static str| ["verify-signature", "refunds", option, value];
    run(&folder, &verify("--key", "k.pem")).await.assert_refused(2, "Name a public key");
    run(&folder, &verify("--key", "nowhere")).await.assert_refused(2, "cannot be read");
    run(&folder, &verify("--key", "ed25519:AAAA")).await.assert_refused(2, "32 bytes in base64");
    run(&folder, &verify("--root", "k.pub")).await.assert_refused(2, "holds no certificate");
    run(&folder, &["sign", "refunds", "--key", "k.pub"]).await.assert_refused(2, "Ed25519 key");
    run(&folder, &["sign", "nowhere"]).await.assert_exit(2);
}
