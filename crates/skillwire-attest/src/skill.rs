//! The statement about the files of a skill.

use serde_json::{Map, Value, json};
use skillwire_core::{ContentId, NoContentId};

use crate::{
    files::{SignedFiles, SkillFiles},
    json::Members,
    not_verified::NotVerified,
    statement::{Statement, Subject},
};

/// The predicate type of a statement that vouches for the files of a skill.
pub const SKILL_PREDICATE: &str = "https://skillwire.dev/attestation/skill/v1";

/// The file at the root of a skill that holds its signature. No statement lists it.
pub const SIGNATURE_FILE: &str = "skill.dsse.sig";

/// The files at the root of a skill in which a signature over it is looked for, in this order.
pub const SIGNATURE_FILES: [&str; 3] = [SIGNATURE_FILE, "skill.sigstore.json", "skill.oms.sig"];

/// Makes the statement that vouches for the files of a skill: each file as a subject with its path,
/// digest and size, and the identity of all of them.
pub fn skill_statement(files: &SkillFiles) -> Result<Statement, NoContentId> {
    let subject =
        |(path, digest, size): (&skillwire_core::RelPath, &skillwire_core::Digest, u64)| Subject {
            name: path.as_str().to_owned(),
            digest: Some(*digest),
            size: Some(size),
        };
    let Value::Object(predicate) = json!({ "contentId": files.content_id()? }) else {
        return Ok(Statement::new(Vec::new(), SKILL_PREDICATE, Map::new()));
    };
    Ok(Statement::new(files.iter().map(subject).collect(), SKILL_PREDICATE, predicate))
}

/// Reads the files of such a statement; its identity must be the one of its subjects.
pub(crate) fn signed_files(statement: &Statement) -> Result<SignedFiles, NotVerified> {
    let mut files = SignedFiles::default();
    for subject in statement.subjects() {
        let digest = subject
            .digest
            .ok_or_else(|| NotVerified::unsupported("a file with another digest than `sha256`"))?;
        if subject.size.is_none() {
            return Err(NotVerified::malformed("a subject", "needs its size in `annotations`"));
        }
        files.add(&subject.name, digest, subject.size)?;
    }
    let predicate = Members::new(statement.predicate(), "the predicate");
    let stated = predicate.text("contentId")?.parse::<ContentId>();
    let stated =
        stated.map_err(|_| NotVerified::malformed("the predicate", "has no valid `contentId`"))?;
    let sized = files.iter().map(|(path, digest, size)| (path.clone(), *digest, size.unwrap_or(0)));
    if ContentId::of(sized).ok() != Some(stated) {
        return Err(NotVerified::malformed("`contentId`", "is not the identity of the subjects"));
    }
    Ok(files)
}
