//! Statements of the model-signing format, which vendors use for skills as well.

use serde_json::Value;
use skillwire_core::Digest;

use crate::{
    files::SignedFiles,
    json::Members,
    not_verified::{NotVerified, at_most},
    statement::{MAX_SUBJECTS, Statement},
};

/// The predicate type of version 1.0 of model signing.
pub const MODEL_SIGNING_PREDICATE: &str = "https://model_signing/signature/v1.0";

/// Reads the files of such a statement. Each has its own entry in the predicate, and the subject is
/// a digest over the digests of all of them.
///
/// `ignore_paths` is not followed: a file that the signer ignored is a file that no one signed.
pub(crate) fn signed_files(statement: &Statement) -> Result<SignedFiles, NotVerified> {
    let predicate = Members::new(statement.predicate(), "the predicate");
    let serialization = Members::new(predicate.object("serialization")?, "`serialization`");
    let method = serialization.text("method")?;
    if method != "files" {
        return Err(NotVerified::unsupported(format!("the method `{}`", method.escape_debug())));
    }
    check_algorithm(serialization.text("hash_type")?)?;
    let resources = predicate.array("resources")?;
    at_most("files", resources.len(), MAX_SUBJECTS)?;
    let mut files = SignedFiles::default();
    let mut all_digests = Vec::with_capacity(resources.len() * 32);
    for resource in resources {
        let (name, digest) = file(resource)?;
        all_digests.extend_from_slice(digest.as_bytes());
        files.add(name, digest, None)?;
    }
    let [subject] = statement.subjects() else {
        return Err(NotVerified::malformed("the statement", "needs exactly one subject"));
    };
    if subject.digest != Some(Digest::of(&all_digests)) {
        return Err(NotVerified::malformed(
            "the subject's digest",
            "is not the one over the digests of the files",
        ));
    }
    Ok(files)
}

fn file(resource: &Value) -> Result<(&str, Digest), NotVerified> {
    let members = Members::of(resource, "a file")?;
    check_algorithm(members.text("algorithm")?)?;
    Ok((members.text("name")?, members.hex_digest("digest")?))
}

fn check_algorithm(name: &str) -> Result<(), NotVerified> {
    if name == "sha256" {
        return Ok(());
    }
    Err(NotVerified::unsupported(format!("the hash algorithm `{}`", name.escape_debug())))
}
