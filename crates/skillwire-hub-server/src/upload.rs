//! Uploads: read within bounds, hashed while they arrive, and checked before anything is stored.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use skillwire_archive::{ArchiveFormat, ArchiveLimits, unpack};
use skillwire_core::{Digest, Frontmatter, RelPath, SkillName, limits};
use skillwire_hub::SkillId;
use skillwire_hub_replica::StoredEntry;
use skillwire_hub_store::{Upload, UploadedFile};
use skillwire_hub_upstreams::InspectContent;
use skillwire_source::inspect_files;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use crate::api::{Problem, ProblemKind};

/// The most bytes of an upload: a skill that cannot be compressed, and the headers of its archive.
pub(crate) const MAX_UPLOAD_BYTES: u64 = limits::MAX_BYTES + 2 * 1024 * 1024;

/// How long an upload may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_mins(2);

/// The most uploads that are received and checked at once, which bounds the memory of slow senders and of
/// scans.
const UPLOADS_AT_ONCE: usize = 8;

/// The header in which a client may say what the hash of the body is (RFC 9530).
const CONTENT_DIGEST: &str = "content-digest";

/// Places for uploads that are being received and checked.
#[derive(Debug)]
pub(crate) struct Uploads(Arc<Semaphore>);

impl Default for Uploads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(UPLOADS_AT_ONCE)))
    }
}

/// An upload that arrived as a whole.
#[derive(Debug)]
pub(crate) struct ReceivedUpload {
    pub(crate) archive: Bytes,
    /// Held until the upload is checked: a client that hangs up leaves a scan that goes on.
    pub(crate) place: OwnedSemaphorePermit,
}

impl Uploads {
    /// Reads a body, and compares it with the digest that its sender announced.
    pub(crate) async fn receive(
        &self,
        headers: &HeaderMap,
        body: axum::body::Body,
    ) -> Result<ReceivedUpload, Problem> {
        let too_large = || {
            ProblemKind::TooLarge.because(format!(
                "An upload may have at most {MAX_UPLOAD_BYTES} bytes. A skill may have at most {} bytes.",
                limits::MAX_BYTES
            ))
        };
        let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = announced.and_then(|text| text.parse::<u64>().ok());
        // Refuse before reading: a client that waits for `100 Continue` then need not send the body.
        if announced.is_some_and(|length| length > MAX_UPLOAD_BYTES) {
            return Err(too_large());
        }
        let claimed = claimed_digest(headers)?;
        let deadline = Instant::now() + UPLOAD_TIME;
        let late = |_| ProblemKind::Incomplete.because("The upload took too long to arrive.");
        let place =
            timeout_at(deadline, Arc::clone(&self.0).acquire_owned()).await.map_err(late)?;
        let place = place.map_err(|_| ProblemKind::Unavailable.because("The hub is stopping."))?;
        let mut pieces = body.into_data_stream();
        let mut hash = Sha256::new();
        let mut received = Vec::new();
        while let Some(piece) = timeout_at(deadline, pieces.next()).await.map_err(late)? {
            let piece = piece.map_err(|_| {
                ProblemKind::Incomplete
                    .because("The connection ended before the upload was complete.")
            })?;
            if (received.len() + piece.len()) as u64 > MAX_UPLOAD_BYTES {
                return Err(too_large());
            }
            hash.update(&piece);
            received.extend_from_slice(&piece);
        }
        let actual = Digest::from_bytes(hash.finalize().into());
        match claimed {
            Some(claimed) if claimed != actual => Err(ProblemKind::DigestMismatch
                .because("The upload does not have the digest of its `Content-Digest` header.")
                .compared(claimed.to_string(), actual.to_string())),
            _ => Ok(ReceivedUpload { archive: received.into(), place }),
        }
    }
}

/// The digest of the body that the sender announced, if it did.
fn claimed_digest(headers: &HeaderMap) -> Result<Option<Digest>, Problem> {
    let malformed = || {
        ProblemKind::Malformed
            .because("`Content-Digest` must be `sha-256=:BASE64:` with the hash of the body.")
    };
    let Some(value) = headers.get(CONTENT_DIGEST) else { return Ok(None) };
    let value = value.to_str().map_err(|_| malformed())?;
    let text = value
        .split(',')
        .map(str::trim)
        .find_map(|member| member.strip_prefix("sha-256=:")?.strip_suffix(':'));
    let bytes = STANDARD.decode(text.ok_or_else(malformed)?).map_err(|_| malformed())?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| malformed())?;
    Ok(Some(Digest::from_bytes(bytes)))
}

/// A skill of an upload that can be served.
#[derive(Debug)]
pub(crate) struct CheckedSkill {
    pub(crate) files: Vec<(RelPath, Bytes)>,
    pub(crate) entry: StoredEntry,
    /// `metadata.version` of the skill.
    pub(crate) declared: Option<String>,
}

impl CheckedSkill {
    /// Adds what inspecting the files shows. Trust boundary: nothing of this is taken from the publisher.
    pub(crate) fn inspected(mut self, inspector: &dyn InspectContent) -> Self {
        self.entry = self.entry.inspected(inspector, &self.files);
        self
    }
}

/// Makes an upload from the files of a skill, checked as the API checks them.
///
/// It is for programs that publish into the store themselves, such as many skills at once. Nothing looks for
/// findings and signatures.
pub fn upload_of(skill: SkillId, files: Vec<(RelPath, Bytes)>) -> Result<Upload, Problem> {
    let CheckedSkill { files, entry, declared } = check_files(files, &skill.name)?;
    let uploaded =
        files.into_iter().map(|(path, bytes)| UploadedFile { path, bytes, claimed: None });
    Ok(Upload::new(skill, uploaded.collect())
        .with_declared_version(declared)
        .with_entry(entry.to_text()))
}

/// Opens an archive and checks that it holds one skill with this name.
pub(crate) fn check(archive: &[u8], name: &SkillName) -> Result<CheckedSkill, Problem> {
    let format = ArchiveFormat::sniff(archive).ok_or_else(|| {
        ProblemKind::Malformed.because("The upload is neither a `.tar.gz` nor a `.zip` archive.")
    })?;
    let unpacked = unpack(format, archive, &ArchiveLimits::default()).map_err(|refused| {
        ProblemKind::InvalidSkill
            .because(format!("The archive cannot be used: {refused}."))
            .coded(refused.reason().code())
    })?;
    check_files(unpacked.into_iter().map(|file| (file.path, file.bytes.into())).collect(), name)
}

fn check_files(
    mut files: Vec<(RelPath, Bytes)>,
    name: &SkillName,
) -> Result<CheckedSkill, Problem> {
    files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let frontmatter = checked_frontmatter(&files, name)?;
    let metadata = frontmatter.fields().get("metadata");
    let declared = metadata.and_then(|metadata| metadata.get("version"));
    let declared = declared.map(|version| match version.as_str() {
        Some(text) => text.to_owned(),
        None => version.to_string(),
    });
    let entry = StoredEntry::new(&frontmatter, &files);
    Ok(CheckedSkill { files, entry, declared })
}

/// Checks the files with the rules by which every server of this program reads skills.
fn checked_frontmatter(
    files: &[(RelPath, Bytes)],
    name: &SkillName,
) -> Result<Frontmatter, Problem> {
    let invalid =
        |detail: String, code: &str| ProblemKind::InvalidSkill.because(detail).coded(code);
    let named = files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
    let inspected = inspect_files("upload", name.as_str(), named);
    if inspected.len() > 1 {
        let detail = "The archive holds a skill inside another one. Publish each by itself.";
        return Err(invalid(detail.to_owned(), "nested-skill"));
    }
    let Some(inspected) = inspected.into_iter().next() else {
        return Err(invalid("The archive holds no skill.".to_owned(), "no-skill-file"));
    };
    let Some(skill) = &inspected.skill else {
        let reasons = inspected.reasons(skillwire_core::Strictness::default());
        let reasons: Vec<String> =
            reasons.map(|finding| format!("{}: {}", finding.code, finding.message)).collect();
        return Err(invalid(reasons.join(" "), "invalid-skill"));
    };
    if skill.name() != name.as_str() {
        let detail =
            "The skill is published under another name than its `SKILL.md` has.".to_owned();
        return Err(invalid(detail, "name-differs").compared(name.as_str(), skill.name()));
    }
    let served = match &skill.content {
        skillwire_source::SkillContent::Files(tree) => tree.files.len(),
        skillwire_source::SkillContent::Generated(_) => 0,
    };
    if served != files.len() {
        let detail = "The archive holds files that no server serves, such as `.git`. Pack the skill \
                      again without them.";
        return Err(invalid(detail.to_owned(), "unserved-files"));
    }
    Frontmatter::from_fields(skill.frontmatter())
        .map_err(|_| invalid("The frontmatter is invalid.".to_owned(), "invalid-skill"))
}
