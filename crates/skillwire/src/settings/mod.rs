//! Resolves arguments, configuration file and environment into settings.

#[cfg(feature = "setup")]
mod agents;
#[cfg(feature = "bridge")]
pub(crate) mod bridge;
mod client;
#[cfg(all(feature = "host", feature = "sign"))]
mod decision_keys;
mod dialects;
mod environment;
#[cfg(feature = "execute")]
mod execution;
#[cfg(feature = "host")]
mod host;
mod http;
#[cfg(feature = "hub")]
pub(crate) mod hub;
#[cfg(feature = "hub")]
pub(crate) mod hub_access;
#[cfg(feature = "hub")]
mod hub_signers;
#[cfg(feature = "hub")]
mod hub_upstreams;
mod identity;
mod named;
pub(crate) mod operating;
mod reading;
mod serve;
#[cfg(any(feature = "hub", all(feature = "host", feature = "sign")))]
mod signer_entry;
#[cfg(feature = "otel")]
pub(crate) mod telemetry;
#[cfg(all(feature = "host", feature = "sign"))]
mod trust;
#[cfg(feature = "host")]
mod upstream;
#[cfg(feature = "host")]
mod user;

#[cfg(feature = "setup")]
pub(crate) use self::agents::AgentSettings;
#[cfg(any(feature = "execute", all(feature = "host", feature = "page")))]
pub(crate) use self::environment::find_program;
#[cfg(not(feature = "otel"))]
pub(crate) use self::environment::names_collector;
#[cfg(feature = "scan")]
pub(crate) use self::environment::scan_folder;
#[cfg(feature = "sign")]
pub(crate) use self::environment::signing_key_file;
#[cfg(any(feature = "add", feature = "execute", all(feature = "host", feature = "page")))]
pub(crate) use self::environment::variable;
#[cfg(feature = "execute")]
pub(crate) use self::environment::{isolation_file, package_folder};
#[cfg(feature = "hub")]
pub(crate) use self::hub_signers::HubSigners;
#[cfg(feature = "host")]
pub(crate) use self::{
    environment::pager,
    host::{HostSettings, address, server_address},
    upstream::UpstreamSettings,
};
pub(crate) use self::{
    environment::{colour_on_stderr, known_skills_file, log_filter},
    http::{HttpSettings, ServeTransport, TokenFile},
    named::NamedSkills,
    reading::{FolderReading, folder_of, unavailable},
    serve::{ServeSettings, config_table, http_settings},
};
