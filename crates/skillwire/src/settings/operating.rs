//! Settings that `serve` and `hub serve` share, and that change while a server runs.

use std::path::{Path, PathBuf};

use skillwire_server::http::RateLimit;

use crate::failure::Failure;

/// The word that switches something off.
const OFF: &str = "off";

/// What an operator limits and records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatingSettings {
    /// How often one caller may ask.
    pub(crate) rate: Option<RateLimit>,
    pub(crate) access_log: AccessLogSettings,
}

/// Which requests are recorded, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessLogSettings {
    pub(crate) place: LogPlace,
    /// One of so many requests is recorded.
    pub(crate) one_in: u32,
}

/// Where a log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogPlace {
    Off,
    Stderr,
    File(PathBuf),
}

/// The words of an operator, with the names under which each was written.
pub(super) struct OperatingWords<'a> {
    pub(super) rate: (&'static str, Option<&'a str>),
    pub(super) access_log: Option<&'a str>,
    pub(super) sample: (&'static str, Option<&'a str>),
}

impl OperatingSettings {
    /// Reads what an operator wrote; relative files are in `folder`.
    pub(super) fn resolve(words: &OperatingWords<'_>, folder: &Path) -> Result<Self, Failure> {
        let (option, text) = words.rate;
        let rate = text.filter(|text| *text != OFF).map(|text| {
            text.parse().map_err(|error| {
                Failure::usage(format!("`{option} {text}` cannot be used.")).because(error)
            })
        });
        let place = match words.access_log {
            None | Some(OFF) => LogPlace::Off,
            Some("-") => LogPlace::Stderr,
            Some(file) => LogPlace::File(folder.join(file)),
        };
        let (option, text) = words.sample;
        let one_in = text.map_or(Ok(1), |text| {
            let share = text.strip_prefix("1/").and_then(|share| share.parse().ok());
            share.filter(|share| *share > 0).ok_or_else(|| {
                Failure::usage(format!("`{option} {text}` cannot be used."))
                    .hint("Write it like `1/100`, which records one of a hundred requests.")
            })
        })?;
        Ok(Self { rate: rate.transpose()?, access_log: AccessLogSettings { place, one_in } })
    }
}
