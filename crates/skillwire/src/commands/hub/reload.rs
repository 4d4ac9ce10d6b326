//! Looks at a hub's configuration while it is served: issuers, roles, policies, signers and keys.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_hub::{Caller, Upstream};
use skillwire_hub_server::{AccessHandle, DecisionSigner, HubService};
use skillwire_hub_store::HubStore;
use skillwire_server::http::HttpHandler as _;
use tokio::sync::watch;

use super::{client::store_failure, upstream_variables::UpstreamVariables};
use crate::{
    args::HubServeArgs,
    commands::{
        file_stamps::{FileStamps, LOOK},
        restart_keys::RestartKeys,
        serve::signals::ReloadSignal,
    },
    failure::Failure,
    operating::Operating,
    report::printable,
    settings::{
        HubSigners,
        hub::{HUB_FILE, HubFile},
        hub_access::{key_files, signing_keys},
    },
};

/// The keys of `hub.toml` that count without a restart.
const RELOADED: &[&str] = &["access", "hosts", "limits", "log", "origins", "signers", "upstreams"];

/// What is replaced while the hub runs.
pub(super) struct Reloaded {
    pub(super) access: AccessHandle,
    pub(super) signer: DecisionSigner,
    /// Whose signatures over content of upstreams are told.
    pub(super) signers: watch::Sender<HubSigners>,
    pub(super) operating: Operating,
    pub(super) variables: Arc<UpstreamVariables>,
    dir: PathBuf,
    /// The configuration that the rest of the hub was started with.
    fixed: RestartKeys,
    /// Host names that the operator typed.
    hosts: Vec<String>,
    store: HubStore,
}

impl Reloaded {
    /// Reads everything for the first time; a configuration that cannot be used is an error then.
    pub(super) async fn read(
        file: &HubFile,
        args: &HubServeArgs,
        store: HubStore,
    ) -> Result<Self, Failure> {
        let access = AccessHandle::new(file.access()?);
        let upstreams = file.upstreams()?;
        let signer = DecisionSigner::new(signing_keys(&file.key_folder())?, file.valid_for()?);
        let signers = watch::Sender::new(file.signers()?);
        let rules = file.access_rules(&args.host);
        let operating = Operating::start(file.operating()?, rules, args.log_format)?;
        let fixed = RestartKeys::new(file.keys().clone(), RELOADED);
        let variables = UpstreamVariables::new(file.upstream_variables.clone(), &upstreams);
        let variables = Arc::new(variables);
        configure_upstreams(&store, &upstreams).await?;
        let (dir, hosts) = (args.dir.clone(), args.host.clone());
        Ok(Self { access, signer, signers, operating, variables, dir, fixed, hosts, store })
    }

    /// Follows the files for ever, and replaces what changed. A file that cannot be used changes nothing.
    pub(super) async fn follow(&self, service: &HubService, reload: &mut ReloadSignal) {
        let mut seen = stamps(&self.dir);
        loop {
            let asked = tokio::select! {
                () = reload.requested() => true,
                () = tokio::time::sleep(LOOK) => false,
            };
            let now = stamps(&self.dir);
            if !asked && now == seen {
                continue;
            }
            seen = now;
            let replaced = self.replace(service).await;
            service.metrics().reloaded("configuration", replaced.is_ok());
            if let Err(failure) = replaced {
                let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
                tracing::error!("The configuration stays as it was: {}", printable(&text));
            }
        }
    }

    async fn replace(&self, service: &HubService) -> Result<(), Failure> {
        let file = HubFile::read(&self.dir)?;
        // Everything is read and checked before anything is replaced.
        let (access, keys) = (file.access()?, signing_keys(&file.key_folder())?);
        let (valid_for, upstreams) = (file.valid_for()?, file.upstreams()?);
        let signers = file.signers()?;
        let operating = Operating::check(file.operating()?, file.access_rules(&self.hosts))?;
        // Signers come first, so that content of a new upstream is looked at with them. What is in the database
        // can still refuse the upstreams.
        let before = self.signers.send_replace(signers);
        if let Err(failure) = configure_upstreams(&self.store, &upstreams).await {
            self.signers.send_replace(before);
            return Err(failure);
        }
        self.variables.configure(&upstreams);
        let internal = |error| Failure::caused(crate::exit::Exit::Internal, error);
        self.operating.apply(operating);
        self.access.replace(access);
        let started = std::time::Instant::now();
        service.reload_access().await.map_err(internal)?;
        if self.signer.replace(keys, valid_for) {
            service.reload_keys().await.map_err(internal)?;
        }
        self.fixed.warn(file.keys());
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

/// Returns the times and sizes of the files that are looked at.
fn stamps(dir: &Path) -> FileStamps {
    let mut files = vec![dir.join(HUB_FILE)];
    // A configuration that cannot be read is reported when it is replaced.
    if let Ok(file) = HubFile::read(dir) {
        files.extend(file.policy_file());
        files.extend(file.signer_files());
        files.extend(key_files(&file.key_folder()).unwrap_or_default());
    }
    FileStamps::of(files)
}
