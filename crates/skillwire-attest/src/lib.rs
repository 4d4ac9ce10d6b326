//! Signs the content of a skill and checks who vouches for it: in-toto statements in DSSE
//! envelopes, Sigstore bundles and model-signing bundles.
//!
//! This crate never knows where a key, a signature or a skill is kept, or what time it is: it has no
//! file, no network and no clock. The caller passes bytes, the files' digests and the time.
//!
//! A signature goes through three states, and each is a type that only the one before leads to:
//!
//! | state | type |
//! |---|---|
//! | bytes of a known format | [`Signature`] |
//! | signed by a signer that the user trusts | [`Vouched`], the only way to its statement |
//! | the statement lists exactly these files | [`VouchedContent`] |
//!
//! A [`ContentDecision`] is the other kind of statement: that content may be loaded, which
//! [`Vouched::decision`] gives out only for the skill, the content and the time it is about. A further
//! kind needs no change here: make a [`Statement`] with its own predicate type, sign it with
//! [`Envelope::sign`], and read the predicate from [`Vouched::predicate`].
//!
//! ```
//! use std::time::SystemTime;
//! use skillwire_attest::{
//!     Digest, Envelope, RelPath, Signature, SigningKey, SkillFiles, TrustedSigner, skill_statement,
//! };
//!
//! let text = b"---\nname: refunds\ndescription: Pays customers back.\n---\n";
//! let files = SkillFiles::new([(RelPath::skill_file(), Digest::of(text), text.len() as u64)])?;
//! let key = SigningKey::from_seed(&[7; 32]);
//! let envelope = Envelope::sign(&skill_statement(&files)?, &[&key]);
//!
//! let signature = Signature::parse(envelope.to_json().as_bytes())?;
//! let trusted = [TrustedSigner::key(key.public().clone())];
//! let vouched = signature.verify(&trusted, SystemTime::UNIX_EPOCH)?;
//! assert_eq!(vouched.covers(&files)?.content_id(), files.content_id()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// What is signed.
mod decision;
mod files;
mod model_signing;
mod skill;
mod statement;

// How it is signed.
mod bundle;
mod dsse;
mod json;
mod key;

// Who signed it.
mod certificate;
mod log_entry;
mod merkle;
mod not_verified;
mod signature;
mod signer;
mod sigstore_root;
mod timestamp;

pub use skillwire_core::{ContentId, Digest, NoContentId, RelPath, SkillUri};

pub use self::{
    certificate::{InvalidCertificate, RootCertificates},
    decision::{ContentDecision, DECISION_META, DECISION_PREDICATE, NotDecided},
    dsse::{Envelope, IN_TOTO_PAYLOAD},
    files::{ContentDifference, SkillFiles},
    key::{InvalidKey, KeyId, PublicKey, SigningKey},
    model_signing::MODEL_SIGNING_PREDICATE,
    not_verified::NotVerified,
    signature::{
        MAX_SIGNATURE_BYTES, Signature, SignatureFormat, SigningTime, Vouched, VouchedContent,
    },
    signer::{Signer, TrustedSigner},
    sigstore_root::SigstoreRoot,
    skill::{SIGNATURE_FILE, SIGNATURE_FILES, SKILL_PREDICATE, skill_statement},
    statement::{Statement, Subject},
};
