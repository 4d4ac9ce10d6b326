//! What a script sees of the system: programs, libraries and a few devices, and nothing of any
//! user.

use std::path::{Path, PathBuf};

/// The user id that a script sees itself as in the full tier.
pub(super) const SCRIPT_UID: u32 = 1000;

/// Directories of the system, which are visible read-only. Those that are links stay links.
pub(super) const SYSTEM_DIRECTORIES: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];

/// The system's directories without those that are links into `/usr`, which a rule for `/usr`
/// covers.
pub(super) fn real_system_directories() -> Vec<PathBuf> {
    let leads_into_usr = |path: &&Path| {
        path.read_link().is_ok_and(|target| Path::new("/").join(target).starts_with("/usr"))
    };
    let paths = SYSTEM_DIRECTORIES.iter().map(Path::new);
    paths.filter(|path| !leads_into_usr(path)).map(Path::to_owned).collect()
}

/// What loaders, commands, Node and programs for documents need to find libraries, fonts and each
/// other. Packages of the system wrote it; nothing in it is of a user.
pub(super) const CONFIGURATION: [&str; 10] = [
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/openssl.cnf",
    // Python's `mimetypes` reads both wherever they exist, and fails where it may not.
    "/etc/mime.types",
    "/etc/apache2/mime.types",
    "/etc/fonts",
    "/var/cache/fontconfig",
    // Debian keeps the registry of LibreOffice and its extensions here; it does not start without.
    "/etc/libreoffice",
    "/var/lib/libreoffice",
    "/etc/ImageMagick-6",
];

/// The starters of `LibreOffice`. They insist on `/proc/version`, which no run has, so the full tier puts
/// [`OFFICE_STARTER`] in the place of each.
pub(super) const OFFICE_STARTERS: [&str; 2] =
    ["/usr/lib/libreoffice/program/oosplash", "/usr/lib64/libreoffice/program/oosplash"];

/// Starts `LibreOffice`, and once more when it asks for that, as its own starter does.
pub(super) const OFFICE_STARTER: (&str, &str) =
    ("etc/skillwire-office-starter", include_str!("office-starter.sh"));

/// Certificates, for scripts with a network grant.
pub(super) const CERTIFICATES: [&str; 3] =
    ["/etc/ssl/certs", "/etc/pki/tls", "/etc/ca-certificates"];

/// Devices without any state that a script could read or change.
pub(super) const DEVICES: [&str; 4] = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"];

/// Gives zeros without end. A mapping of it is memory that processes share and that no file system
/// bounds, so the full tier has a file in its place.
pub(super) const ZERO_DEVICE: &str = "/dev/zero";

/// Files of `/etc` that the full tier makes up, so that programs which look up their user find one.
/// The real files name the users of the machine.
pub(super) const GENERATED_FILES: [(&str, &str); 4] = [
    ("etc/skillwire-node-proxy.cjs", include_str!("node-proxy.cjs")),
    ("etc/passwd", "skill:x:1000:1000:skill:/tmp:/bin/sh\n"),
    ("etc/group", "skill:x:1000:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
];

/// Makes Node load the module above, which makes its requests go through the proxy.
pub(super) const NODE_PROXY_OPTION: &str = "--require=/etc/skillwire-node-proxy.cjs";
