//! The environment and the folders it names: the one file that reads it.

use std::{ffi::OsString, path::PathBuf};

/// Where things are kept that can be made again: `$SKILLWIRE_HOME/cache`, or the place the
/// platform has for them.
pub(super) fn cache_folder() -> Option<PathBuf> {
    own_folder("cache", "Library/Caches", "LOCALAPPDATA", "XDG_CACHE_HOME", ".cache")
}

/// Where it is remembered how scripts can be isolated here.
pub(crate) fn isolation_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("isolation.json"))
}

/// A variable that a script is granted by name.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    // Such names make the system's lookup panic, and no variable has one.
    let usable = !name.is_empty() && !name.contains(['=', '\0']);
    usable.then(|| std::env::var(name).ok()).flatten()
}

/// Where decisions and configured servers are kept: `$SKILLWIRE_HOME/state`, or the place the
/// platform has for them.
pub(super) fn state_folder() -> Option<PathBuf> {
    let mac = "Library/Application Support";
    own_folder("state", mac, "APPDATA", "XDG_DATA_HOME", ".local/share")
}

/// A folder in `$SKILLWIRE_HOME`, or `skillwire` in the one that a platform names.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn own_folder(name: &str, mac: &str, windows: &str, xdg: &str, dot: &str) -> Option<PathBuf> {
    if let Some(home) = own_home() {
        // What is kept must be found from every folder.
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

/// The folder that everything is kept in, if the user named one.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(super) fn own_home() -> Option<OsString> {
    std::env::var_os("SKILLWIRE_HOME").filter(|home| !home.is_empty())
}

/// The user's home.
pub(super) fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The whole environment, of which a started server gets a part.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(super) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What `SKILLWIRE_LOG` asks the log to show.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn log_filter() -> Option<String> {
    std::env::var("SKILLWIRE_LOG").ok()
}

/// Whether standard error wants colours.
pub(crate) fn colour_on_stderr() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}
