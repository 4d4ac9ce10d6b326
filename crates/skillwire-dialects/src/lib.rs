//! The formats in which servers have offered skills, from the released extension back to the first
//! experiments: which there are ([`Dialect`]) and which a server speaks ([`Dialects`]).
//!
//! This crate never knows where bytes come from or go to. It does no I/O, asks no server and keeps
//! no state.
//!
//! ```
//! use skillwire_dialects::{Dialect, Dialects, Switch};
//! use skillwire_protocol::version::Era;
//!
//! let skilljack: Switch = "skilljack=on".parse()?;
//! let spoken = Dialects::default().with(&skilljack);
//! assert!(spoken.on(Dialect::Skilljack, Era::Legacy));
//! assert!(!spoken.on(Dialect::Skilljack, Era::Modern), "it contradicts the extension");
//! assert_eq!(Dialect::parse("D8"), Some(Dialect::Skilljack));
//! # Ok::<(), skillwire_dialects::InvalidSwitch>(())
//! ```

mod dialect;
mod switches;

pub use self::{
    dialect::Dialect,
    switches::{DialectPart, Dialects, InvalidSwitch, Switch, Switchable},
};
