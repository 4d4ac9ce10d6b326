//! in-toto statements: what a signature says about which artifacts.

use serde_json::{Map, Value, json};
use skillwire_core::Digest;

use crate::{
    json::{self, Members},
    not_verified::{NotVerified, at_most},
};

/// The type of every statement, which names the version of the format.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The most artifacts of one statement.
pub(crate) const MAX_SUBJECTS: usize = 20_000;

/// An artifact that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its name, such as the relative path of a file.
    pub name: String,
    /// The digest of its bytes; `None` if the signer used another algorithm.
    pub digest: Option<Digest>,
    /// How many bytes it has, if the signer says so.
    pub size: Option<u64>,
}

/// An in-toto statement: artifacts, and what is said about them.
///
/// A statement that was read from a signature says nothing yet: only [`Vouched`](crate::Vouched)
/// gives out a statement that a trusted signer signed.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    subjects: Vec<Subject>,
    predicate_type: String,
    predicate: Map<String, Value>,
}

impl Statement {
    /// Creates a statement. The predicate type is a URI that says how to read the predicate.
    pub fn new(
        subjects: Vec<Subject>,
        predicate_type: impl Into<String>,
        predicate: Map<String, Value>,
    ) -> Self {
        Self { subjects, predicate_type: predicate_type.into(), predicate }
    }

    /// Reads the payload of an envelope.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, NotVerified> {
        let map = json::object(payload, "the statement")?;
        let members = Members::new(&map, "the statement");
        let kind = members.text("_type")?;
        if kind != STATEMENT {
            return Err(NotVerified::unsupported(format!("the statement type `{kind}`")));
        }
        let subjects = members.array("subject")?;
        at_most("subjects", subjects.len(), MAX_SUBJECTS)?;
        Ok(Self {
            subjects: subjects.iter().map(subject).collect::<Result<_, _>>()?,
            predicate_type: members.text("predicateType")?.to_owned(),
            predicate: members.object("predicate").cloned()?,
        })
    }

    /// Returns the artifacts.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// Returns the URI that says how to read the predicate.
    pub fn predicate_type(&self) -> &str {
        &self.predicate_type
    }

    /// Returns what is said about the artifacts.
    pub fn predicate(&self) -> &Map<String, Value> {
        &self.predicate
    }

    /// Writes the statement; the same statement always becomes the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let subjects: Vec<Value> = self.subjects.iter().map(subject_json).collect();
        let statement = json!({
            "_type": STATEMENT,
            "subject": subjects,
            "predicateType": self.predicate_type,
            "predicate": self.predicate,
        });
        statement.to_string().into_bytes()
    }
}

fn subject(value: &Value) -> Result<Subject, NotVerified> {
    let members = Members::of(value, "a subject")?;
    let digests = Members::new(members.object("digest")?, "the digest of a subject");
    let has_sha256 = digests.get("sha256").is_some();
    let digest = if has_sha256 { Some(digests.hex_digest("sha256")?) } else { None };
    let size = match members.get("annotations") {
        Some(annotations) => {
            let annotations = Members::of(annotations, "the annotations of a subject")?;
            annotations.get("size").map(|_| annotations.number("size")).transpose()?
        }
        None => None,
    };
    Ok(Subject { name: members.text("name")?.to_owned(), digest, size })
}

fn subject_json(subject: &Subject) -> Value {
    let mut written = json!({ "name": subject.name, "digest": {} });
    if let Some(digest) = &subject.digest {
        written["digest"]["sha256"] = json!(digest.hex());
    }
    if let Some(size) = subject.size {
        written["annotations"] = json!({ "size": size });
    }
    written
}
