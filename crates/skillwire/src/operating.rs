//! What an operator limits and records of a running server, and changes while it runs.

use std::sync::Arc;

use skillwire_server::http::{AccessLog, AccessRules, HttpOptions, LiveAccessRules, RateLimiter};

use crate::{
    access_log::{AccessLogWriter, OpenedLog},
    args::LogFormat,
    failure::Failure,
    settings::operating::OperatingSettings,
};

/// The parts of a running server that are replaced without a restart.
#[derive(Debug)]
pub(crate) struct Operating {
    access: LiveAccessRules,
    limiter: RateLimiter,
    log: Arc<AccessLogWriter>,
}

/// Settings that were checked, with their files open; applying them cannot fail.
pub(crate) struct CheckedSettings {
    settings: OperatingSettings,
    access: AccessRules,
    log: OpenedLog,
}

impl Operating {
    /// Applies the settings of the start.
    pub(crate) fn start(
        settings: OperatingSettings,
        access: AccessRules,
        format: LogFormat,
    ) -> Result<Self, Failure> {
        let log = AccessLogWriter::start(format)?;
        let operating =
            Self { access: LiveAccessRules::default(), limiter: RateLimiter::default(), log };
        operating.apply(Self::check(settings, access)?);
        Ok(operating)
    }

    /// Checks settings, and opens their files.
    pub(crate) fn check(
        settings: OperatingSettings,
        access: AccessRules,
    ) -> Result<CheckedSettings, Failure> {
        let log = AccessLogWriter::open(&settings.access_log)?;
        Ok(CheckedSettings { settings, access, log })
    }

    /// Applies checked settings from the next request on. A log file that was moved away begins anew.
    pub(crate) fn apply(&self, checked: CheckedSettings) {
        self.access.replace(checked.access);
        self.limiter.replace(checked.settings.rate);
        self.log.replace(checked.log);
    }

    /// Makes a server use what may be replaced.
    pub(crate) fn add_to(&self, options: HttpOptions) -> HttpOptions {
        options
            .access(self.access.clone())
            .rate(self.limiter.clone())
            .access_log(Arc::clone(&self.log) as Arc<dyn AccessLog>)
    }

    /// Waits until the log is written.
    pub(crate) fn finish(&self) {
        self.log.finish();
    }
}
