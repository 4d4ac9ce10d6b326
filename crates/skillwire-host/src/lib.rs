//! The host side of the Skills extension: discover, verify, approve, load.
//!
//! There is no terminal, environment or home directory in this crate: storage, prompting and time
//! come in through small traits.

pub mod audit;
pub mod cache;
pub mod clock;
pub mod grants;
pub mod label;
pub mod lock;
pub mod origin;
pub mod prompt;
pub mod record;
pub mod refusal;
pub mod secret;
pub mod state;
pub mod verified;
