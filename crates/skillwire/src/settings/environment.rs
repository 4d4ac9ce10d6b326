//! Reads the environment and the folders that it names. No other file does.

use std::{ffi::OsString, path::PathBuf};

/// The folder of data that can be made again: `$SKILLWIRE_HOME/cache`, or the platform's cache
/// folder.
pub(super) fn cache_folder() -> Option<PathBuf> {
    own_folder("cache", "Library/Caches", "LOCALAPPDATA", "XDG_CACHE_HOME", ".cache")
}

/// The file that keeps the handles of the last listings, for completions.
pub(crate) fn known_skills_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("known-skills.json"))
}

/// The file that caches how scripts can be isolated on this machine.
pub(crate) fn isolation_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("isolation.json"))
}

/// The folder of packages that were installed for scripts. Where this process is root, scripts run as
/// another user, who must be able to enter it.
#[cfg(feature = "execute")]
pub(crate) fn package_folder() -> Option<PathBuf> {
    let own = cache_folder().map(|folder| folder.join("packages"));
    match own {
        Some(folder) if skillwire_scripts::first_closed_folder(&folder).is_none() => Some(folder),
        Some(_) => Some(PathBuf::from("/var/cache/skillwire/packages")),
        None => None,
    }
}

/// Finds a program by its name, as a shell does.
#[cfg(any(feature = "execute", feature = "setup", all(feature = "host", feature = "page")))]
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|program| program.is_file())
}

/// The folder that keeps results of scans.
#[cfg(feature = "scan")]
pub(crate) fn scan_folder() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("scans"))
}

/// The endpoint of a collector, if the variables of OpenTelemetry name one and do not switch it off.
pub(super) fn collector(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    set("OTEL_EXPORTER_OTLP_ENDPOINT").filter(|_| !is_off)
}

/// Tells whether the environment names a collector, to which this build sends nothing.
#[cfg(not(feature = "otel"))]
pub(crate) fn names_collector() -> bool {
    collector(variable).is_some()
}

/// The value of a variable that a script is granted.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    // `std::env::var` may panic for other names, which no variable can have.
    let usable = !name.is_empty() && !name.contains(['=', '\0']);
    usable.then(|| std::env::var(name).ok()).flatten()
}

/// The folder of decisions and configured servers: `$SKILLWIRE_HOME/state`, or the platform's
/// folder for state.
pub(super) fn state_folder() -> Option<PathBuf> {
    let mac = "Library/Application Support";
    own_folder("state", mac, "APPDATA", "XDG_DATA_HOME", ".local/share")
}

/// The private key that `key new` makes and `sign` uses.
pub(crate) fn signing_key_file() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("keys").join("signing.pem"))
}

/// A folder in `$SKILLWIRE_HOME`, or the folder `skillwire` in one of the platform's.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn own_folder(name: &str, mac: &str, windows: &str, xdg: &str, dot: &str) -> Option<PathBuf> {
    if let Some(home) = own_home() {
        // A relative path would name another folder in each working directory.
        return std::path::absolute(PathBuf::from(home).join(name)).ok();
    }
    let platform = if cfg!(target_os = "macos") {
        home_folder().map(|home| home.join(mac))
    } else if cfg!(windows) {
        std::env::var_os(windows).map(PathBuf::from)
    } else {
        let xdg = std::env::var_os(xdg).map(PathBuf::from);
        xdg.filter(|path| path.is_absolute()).or_else(|| home_folder().map(|home| home.join(dot)))
    };
    platform.map(|folder| folder.join("skillwire"))
}

/// The value of `$SKILLWIRE_HOME`, if the user set it.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(super) fn own_home() -> Option<OsString> {
    std::env::var_os("SKILLWIRE_HOME").filter(|home| !home.is_empty())
}

/// The user's home.
pub(super) fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The folder in which other programs keep their configuration.
#[cfg(feature = "setup")]
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(super) fn config_folder() -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        home_folder().map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        std::env::var_os("APPDATA").map(PathBuf::from)
    } else {
        let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        xdg.filter(|path| path.is_absolute())
            .or_else(|| home_folder().map(|home| home.join(".config")))
    }
}

/// The whole environment, of which a server process gets a part.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(super) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The filter of the log in `SKILLWIRE_LOG`.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn log_filter() -> Option<String> {
    std::env::var("SKILLWIRE_LOG").ok()
}

/// The program that shows long texts: `$PAGER`, or `less`.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn pager() -> String {
    std::env::var("PAGER")
        .ok()
        .filter(|pager| !pager.is_empty())
        .unwrap_or_else(|| "less".to_owned())
}

/// Whether standard error shows colours.
pub(crate) fn colour_on_stderr() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_its_endpoint_unless_it_is_switched_off() {
        let named = |set: &[(&str, &str)]| {
            collector(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        assert_eq!(named(&[endpoint]).as_deref(), Some("http://127.0.0.1:4318"));
        assert_eq!(named(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(named(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        assert_eq!(named(&[]), None);
    }
}
