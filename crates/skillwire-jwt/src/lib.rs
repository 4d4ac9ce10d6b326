//! Checks tokens of identity providers: signed JSON web tokens, and the keys that their issuers publish.
//!
//! Nothing in a token is believed before its signature was checked with a key of an issuer that the operator
//! chose. The kind of the key decides about the algorithm, and never the token alone.
//!
//! [`IssuerKeys`] fetches the keys of one issuer when they are needed, and not too often. A [`TrustedIssuer`]
//! is one whose tokens admit callers: its rules say which claims name the caller and the caller's groups.
//!
//! This crate never knows what a caller may do, nor how a request arrived.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//!
//! use skillwire_jwt::{Algorithm, Expected, InvalidJwt, UnverifiedJwt, read_keys};
//!
//! let keys = read_keys(br#"{"keys": [{
//!     "kty": "EC", "crv": "P-256",
//!     "x": "eOAydPPsxVlK0DMAwoYVvQSEWhiNI9YAs9Kyx8fPTqY",
//!     "y": "6csrlGAYe4RQntmy7BlkB1PhriSLwRTtbhLAlINRbIo"
//! }]}"#).expect("the keys of an issuer");
//! let token = "eyJhbGciOiJFUzI1NiJ9.\
//!     eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOiJodWIiLCJzdWIiOiJhbmEiLCJleHAiOjEzMDB9.\
//!     wFBHAIUfE76kC5KxJ3vz_vV9vfgKzZJxtnpP3R6Fqi1OCkvQJMpCPA78KC_1xpvhKlOEHJPGhcsN01QIH2TNKw";
//! let algorithms = [Algorithm::Es256].into();
//! let now = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
//! let expected = |now| Expected::new("https://id.example", &["hub"], &algorithms, now);
//!
//! let claims = UnverifiedJwt::read(token)?.verify(&keys, expected(now(1_000)))?;
//! assert_eq!(claims["sub"], "ana");
//! let late = UnverifiedJwt::read(token)?.verify(&keys, expected(now(2_000)));
//! assert_eq!(late, Err(InvalidJwt::Time));
//! # Ok::<(), InvalidJwt>(())
//! ```

mod algorithm;
mod code_flow;
mod issuer_keys;
mod token;
mod trusted_issuer;

pub use skillwire_client::{ClientError, Secret};

pub use self::{
    algorithm::{Algorithm, UnknownAlgorithm},
    code_flow::{NotSignedIn, SignInClient, SignInFlow},
    issuer_keys::{IssuerKeys, IssuerPlace, KeysUnavailable, may_be_asked},
    token::{Expected, InvalidJwt, IssuerKey, UnverifiedJwt, read_keys},
    trusted_issuer::{ClaimPath, IssuerRules, NotAdmitted, TokenCaller, TrustedIssuer},
};
