//! What `--version` says: number, commit, target and features.

use std::sync::LazyLock;

use crate::features::Feature;

/// The number of the version, and the commit if the build knew it: `0.1.0 (0123456789ab)`.
static SHORT: LazyLock<String> = LazyLock::new(|| {
    let number = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.and_then(|commit| commit.get(..12));
    commit.map_or_else(|| number.to_owned(), |commit| format!("{number} ({commit})"))
});

static LONG: LazyLock<String> = LazyLock::new(|| {
    let commit = COMMIT.unwrap_or("unknown");
    let features: Vec<_> = Feature::built_in().map(Feature::name).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    let target = env!("SKILLWIRE_TARGET");
    format!("{}\ncommit: {commit}\ntarget: {target}\nfeatures: {features}", *SHORT)
});

/// The commit, from the checkout or `SKILLWIRE_COMMIT` at the time of the build.
const COMMIT: Option<&str> = option_env!("SKILLWIRE_COMMIT");

/// What `-V` says.
pub(crate) fn short() -> &'static str {
    &SHORT
}

/// What `--version` says.
pub(crate) fn long() -> &'static str {
    &LONG
}
