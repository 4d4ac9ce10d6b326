//! Signatures of every format against the vectors of `testdata`, which another implementation made.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod hostile;
mod keys;
mod model_signing;
mod parsers;
mod rekor2;
mod sigstore;
mod vectors;
