//! Looks at a hub's configuration while it is served: issuers, roles, policies and keys.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use skillwire_hub::{Caller, Upstream};
use skillwire_hub_server::{AccessHandle, DecisionSigner, HubService};
use skillwire_hub_store::HubStore;

use super::client::store_failure;
use crate::{
    commands::serve::signals::ReloadSignal,
    failure::Failure,
    settings::{hub::HubFile, hub_access::signing_keys},
};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What is replaced while the hub runs.
pub(super) struct Reloaded {
    pub(super) access: AccessHandle,
    pub(super) signer: DecisionSigner,
    store: HubStore,
}

impl Reloaded {
    /// Reads everything for the first time; a configuration that cannot be used is an error then.
    pub(super) async fn read(file: &HubFile, store: HubStore) -> Result<Self, Failure> {
        let (access, upstreams) = (AccessHandle::new(file.access()?), file.upstreams()?);
        let signer = DecisionSigner::new(signing_keys(&file.key_folder())?, file.valid_for()?);
        configure_upstreams(&store, &upstreams).await?;
        Ok(Self { access, signer, store })
    }

    /// Follows the files for ever, and replaces what changed. A file that cannot be used changes nothing.
    pub(super) async fn follow(&self, dir: &Path, service: &HubService, reload: &mut ReloadSignal) {
        let mut seen = Stamp::of(dir);
        loop {
            let asked = tokio::select! {
                () = reload.requested() => true,
                () = tokio::time::sleep(LOOK) => false,
            };
            let stamp = Stamp::of(dir);
            if !asked && stamp == seen {
                continue;
            }
            seen = stamp;
            if let Err(failure) = self.replace(dir, service).await {
                let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
                tracing::error!("The configuration stays as it was: {text}");
            }
        }
    }

    async fn replace(&self, dir: &Path, service: &HubService) -> Result<(), Failure> {
        let file = HubFile::read(dir)?;
        // Everything is read and checked before anything is replaced.
        let (access, keys) = (file.access()?, signing_keys(&file.key_folder())?);
        let (valid_for, upstreams) = (file.valid_for()?, file.upstreams()?);
        // This one can still be refused, by what is in the database.
        configure_upstreams(&self.store, &upstreams).await?;
        let internal = |error| Failure::caused(crate::exit::Exit::Internal, error);
        self.access.replace(access);
        let started = std::time::Instant::now();
        service.reload_access().await.map_err(internal)?;
        if self.signer.replace(keys, valid_for) {
            service.reload_keys().await.map_err(internal)?;
        }
        let took = started.elapsed().as_millis();
        tracing::info!(took_ms = %took, "the configuration was read again");
        Ok(())
    }
}

/// Makes the upstreams of the configuration those of the hub, and says what could not be done.
async fn configure_upstreams(store: &HubStore, upstreams: &[Upstream]) -> Result<(), Failure> {
    let name = "operator".parse().map_err(|error: skillwire_hub::InvalidHubName| {
        Failure::caused(crate::exit::Exit::Internal, error)
    })?;
    let operator = Caller::administrator(name);
    let done = store.configure_upstreams(&operator, upstreams).await.map_err(store_failure)?;
    for (labels, what) in
        [(&done.added, "added"), (&done.changed, "changed"), (&done.removed, "removed")]
    {
        for label in labels {
            tracing::info!(%label, "an upstream was {what}");
        }
    }
    for label in &done.pinned {
        tracing::warn!(
            %label,
            "The upstream is pinned and stays as it is. `skillwire hub upstream set` and `remove` take `--leave-pin`."
        );
    }
    Ok(())
}

/// Times and sizes of the files that are looked at.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl Stamp {
    fn of(dir: &Path) -> Self {
        let mut files = vec![dir.join(crate::settings::hub::HUB_FILE)];
        // A configuration that cannot be read is reported when it is replaced.
        if let Ok(file) = HubFile::read(dir) {
            files.extend(file.policy_file());
            let keys = crate::settings::hub_access::key_files(&file.key_folder());
            files.extend(keys.unwrap_or_default());
        }
        let stamp = |file: PathBuf| {
            let found = std::fs::metadata(&file).ok();
            let found = found.and_then(|found| Some((found.modified().ok()?, found.len())));
            (file, found)
        };
        Self(files.into_iter().map(stamp).collect())
    }
}
