//! Checks tokens of identity providers: signed JSON web tokens, and the keys that their issuers publish.
//!
//! Nothing in a token is believed before its signature was checked with a key of an issuer that the operator
//! chose. The kind of the key decides about the algorithm, and never the token alone.
//!
//! [`IssuerKeys`] fetches the keys of one issuer when they are needed, and not too often. A [`TrustedIssuer`]
//! is one whose tokens admit callers: its rules say which claims name the caller and the caller's groups.
//!
//! This crate never knows what a caller may do, nor how a request arrived.

mod algorithm;
mod code_flow;
mod issuer_keys;
mod token;
mod trusted_issuer;

pub use self::{
    algorithm::{Algorithm, UnknownAlgorithm},
    code_flow::{NotSignedIn, SignInClient, SignInFlow},
    issuer_keys::{IssuerKeys, IssuerPlace, KeysUnavailable, may_be_asked},
    token::{Expected, InvalidJwt, IssuerKey, UnverifiedJwt, read_keys},
    trusted_issuer::{ClaimPath, IssuerRules, NotAdmitted, TokenCaller, TrustedIssuer},
};
