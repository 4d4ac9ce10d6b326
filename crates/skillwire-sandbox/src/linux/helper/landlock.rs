//! What may be opened: an allow-list of paths and ports that Landlock enforces.

use std::{io, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetStatus, Scope,
};

/// The kernel must know this version: access to files, truncation and TCP ports.
const REQUIRED_ABI: ABI = ABI::V4;

/// Rights and scopes up to this version are restricted as well where the kernel knows them.
const WANTED_ABI: ABI = ABI::V7;

/// What may be opened, and how. Everything else is refused.
#[derive(Debug, Default)]
pub(super) struct PathRules {
    /// Paths below which files may be read and executed.
    pub(super) execute: Vec<PathBuf>,
    /// Paths below which files may be read.
    pub(super) read: Vec<PathBuf>,
    /// Paths below which everything is allowed but to execute files, and to make or control
    /// devices.
    pub(super) write: Vec<PathBuf>,
    /// Devices that may be read and written.
    pub(super) devices: Vec<PathBuf>,
    /// The only TCP port that may be connected to.
    pub(super) port: Option<u16>,
}

/// Confines this process and its children. Paths that do not exist are left out.
///
/// Rules refer to the files that the paths lead to now. So this is called after the root was
/// changed, and before the script could replace a path.
pub(super) fn confine(rules: &PathRules) -> io::Result<()> {
    let unsupported = |_| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let ruleset = ruleset(rules).map_err(unsupported)?;
    let status = ruleset.restrict_self().map_err(unsupported)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        // "Partially" refers to the rights beyond the required version.
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

/// Whether the kernel keeps signals inside of a confined process and its children (version 6).
pub(super) fn confines_signals() -> bool {
    /// Asks for the version of the interface in place of a ruleset.
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call reads no memory, and answers with a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    version >= 6
}

fn ruleset(rules: &PathRules) -> Result<RulesetCreated, landlock::RulesetError> {
    let write = AccessFs::from_all(WANTED_ABI)
        & !AccessFs::Execute
        & !AccessFs::IoctlDev
        & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED_ABI))?
        .handle_access(AccessNet::from_all(REQUIRED_ABI))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED_ABI))?
        // Scopes keep signals and connections to abstract sockets inside of the run.
        .scope(Scope::from_all(WANTED_ABI))?
        .create()?
        .no_new_privs(true)
        .add_rules(path_rules(&rules.execute, read | AccessFs::Execute))?
        .add_rules(path_rules(&rules.read, read))?
        .add_rules(path_rules(&rules.write, write))?
        .add_rules(path_rules(&rules.devices, device))?
        .add_rules(
            rules.port.into_iter().map(|port| {
                Ok::<_, landlock::RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))
            }),
        )
}

fn path_rules(
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, landlock::RulesetError>> {
    paths.iter().filter_map(move |path| {
        let file = PathFd::new(path).ok()?;
        // The kernel refuses rights about directories on a file.
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(WANTED_ABI) };
        Some(Ok(PathBeneath::new(file, access)))
    })
}
