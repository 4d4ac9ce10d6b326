//! The proxy by which a script reaches granted destinations, and nothing else.
//!
//! This crate never knows scripts, skills or namespaces: it is given a listening socket and a list of
//! destinations.
//!
//! A granted name is compared as text, then resolved, and the addresses are looked at: a name gives
//! no way to this machine or to a private network. Such an address is reached only if it was itself
//! granted.
//!
//! ```
//! use skillwire_egress::NetworkDestination;
//!
//! let exact = NetworkDestination::parse("api.example.com:443")?;
//! let wildcard = NetworkDestination::parse("*.example.com:443")?;
//! assert!(wildcard.covers(&exact));
//! assert!(!wildcard.covers(&NetworkDestination::parse("example.com:443")?));
//! # Ok::<_, skillwire_egress::InvalidDestination>(())
//! ```

mod address_rules;
mod destination;
#[cfg(target_os = "linux")]
mod outgoing;
#[cfg(target_os = "linux")]
mod proxy;

pub use self::destination::{
    InvalidDestination, NetworkDestination, RefusalReason, RefusedDestination,
};
#[cfg(target_os = "linux")]
pub use self::proxy::EgressProxy;
