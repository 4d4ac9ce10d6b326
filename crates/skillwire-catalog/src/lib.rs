//! Everything a server serves, as immutable snapshots that are swapped whole.
//!
//! A [`Snapshot`](snapshot::Snapshot) answers by exact lookup and by binary search; no request
//! costs work that grows with the number of skills. A [`Catalog`](catalog::Catalog) holds the
//! current snapshot behind an atomic pointer and tells listeners what each swap changed.

mod asked;
mod by_uri;
pub mod catalog;
pub mod change;
pub mod cursor;
pub mod directories;
mod instructions;
pub mod listing;
pub mod refresh;
pub mod snapshot;
mod sorted;
