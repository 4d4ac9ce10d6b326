//! What may be opened: an allow-list of paths, and of ports.

use std::{io, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetStatus, Scope,
};

/// The kernel must know files, truncation and TCP ports.
const FLOOR: ABI = ABI::V4;

/// What else is used where the kernel knows it.
const WANTED: ABI = ABI::V7;

/// What may be done where.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    /// Read, and execute what is there.
    pub(super) execute: Vec<PathBuf>,
    /// Read.
    pub(super) read: Vec<PathBuf>,
    /// Everything but execute.
    pub(super) write: Vec<PathBuf>,
    /// Read and write as devices.
    pub(super) devices: Vec<PathBuf>,
    /// The only port that may be connected to.
    pub(super) port: Option<u16>,
}

/// Confines this process and its children. Paths that do not exist are left out.
pub(super) fn confine(allowed: &Allowed) -> io::Result<()> {
    let unsupported = |_| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let rules = rules(allowed).map_err(unsupported)?;
    let status = rules.restrict_self().map_err(unsupported)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

fn rules(allowed: &Allowed) -> Result<RulesetCreated, landlock::RulesetError> {
    let write = AccessFs::from_all(WANTED)
        & !AccessFs::Execute
        & !AccessFs::IoctlDev
        & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FLOOR))?
        .handle_access(AccessNet::from_all(FLOOR))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?
        .no_new_privs(true)
        .add_rules(paths(&allowed.execute, read | AccessFs::Execute))?
        .add_rules(paths(&allowed.read, read))?
        .add_rules(paths(&allowed.write, write))?
        .add_rules(paths(&allowed.devices, device))?
        .add_rules(
            allowed.port.into_iter().map(|port| {
                Ok::<_, landlock::RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))
            }),
        )
}

fn paths(
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, landlock::RulesetError>> {
    paths.iter().filter_map(move |path| {
        let file = PathFd::new(path).ok()?;
        let directory = path.is_dir();
        // Rights about directories mean nothing on a file, and are refused there.
        let access = if directory { access } else { access & AccessFs::from_file(WANTED) };
        Some(Ok(PathBeneath::new(file, access)))
    })
}
