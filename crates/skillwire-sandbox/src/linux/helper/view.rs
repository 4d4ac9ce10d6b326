//! What a script sees of the system: programs, libraries, a few devices, and nothing of anybody.

use std::path::{Path, PathBuf};

/// Directories of the system, read-only. Links among them are made again as links.
pub(super) const SYSTEM: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];

/// Those that are no links into `/usr`, which allows what lies in it.
pub(super) fn system() -> Vec<PathBuf> {
    let leads_into_usr = |path: &&Path| {
        path.read_link().is_ok_and(|target| Path::new("/").join(target).starts_with("/usr"))
    };
    let paths = SYSTEM.iter().map(Path::new);
    paths.filter(|path| !leads_into_usr(path)).map(Path::to_owned).collect()
}

/// What of `/etc` loaders, commands and Node need to find libraries and each other.
pub(super) const CONFIGURATION: [&str; 3] =
    ["/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/openssl.cnf"];

/// Certificates, for scripts that may connect.
pub(super) const CERTIFICATES: [&str; 3] =
    ["/etc/ssl/certs", "/etc/pki/tls", "/etc/ca-certificates"];

/// Devices without state.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The user that a script believes to be.
pub(super) const USER: u32 = 1000;

/// The files of `/etc` that are made up.
pub(super) const MADE_UP: [(&str, &str); 3] = [
    ("etc/passwd", "skill:x:1000:1000:skill:/tmp:/bin/sh\n"),
    ("etc/group", "skill:x:1000:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
];
