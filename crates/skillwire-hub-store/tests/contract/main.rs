//! What a hub's store promises, on SQLite with a folder and on PostgreSQL with an S3 server alike.
//!
//! Every test runs on both. On a machine without PostgreSQL or an S3 server the second half says what it
//! skipped; with `SKILLWIRE_REQUIRE_HUB_ENGINES=1` it fails instead.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "each test is a function that two tests call")]

mod access;
mod changes;
mod engines;
mod faults;
mod lifecycle;
mod listing;
mod model;
mod operating;
mod publishing;
mod schema;
mod support;
mod upstreams;

/// Runs each test of a module on both engines.
macro_rules! contract {
    ($($test:ident),+ $(,)?) => {
        mod sqlite_and_folder {
            $(#[test]
            fn $test() {
                crate::support::run(crate::engines::Engine::Embedded, super::$test);
            })+
        }
        mod postgres_and_s3 {
            $(#[test]
            fn $test() {
                crate::support::run(crate::engines::Engine::Served, super::$test);
            })+
        }
    };
}
pub(crate) use contract;
