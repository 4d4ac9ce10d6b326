//! The host side of the Skills extension: discover, verify, approve, load.
//!
//! There is no terminal, environment or home directory in this crate: storage, prompting and time
//! come in through small traits.

pub mod approved;
pub mod audit;
pub mod cache;
pub mod client;
pub mod clock;
pub mod context;
pub mod dialect;
pub mod grants;
pub mod handle;
pub mod host;
pub mod label;
pub mod listed;
pub mod local;
pub mod lock;
#[cfg(feature = "oauth")]
pub mod login;
pub mod origin;
pub mod policy;
pub mod prompt;
pub mod record;
pub mod refusal;
pub mod registry;
pub mod remote;
pub mod secret;
pub mod standing;
pub mod state;
pub mod tools;
pub mod verification;
pub mod verified;
pub mod web;
pub mod window;

mod contents;
mod page;
mod reference;
