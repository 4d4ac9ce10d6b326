//! Readers of a face that keeps sessions of its own, such as the page: who they are, and what they see.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use semver::Version;
use skillwire_attest::{ContentDecision, Signature, TrustedSigner};
use skillwire_core::RelPath;
use skillwire_hub::{
    Action, Caller, ChannelName, NamespaceName, PageRequest, Refusal, SkillId, TokenHash,
    TokenSecret, VersionRecord, VersionRef,
};
use skillwire_hub_replica::{
    AccessHandle, CallerSight, DecisionSigner, Replica, ServedAt, UpstreamStatus, facts_at, sign,
    uri_of,
};
use skillwire_hub_store::{HubStore, ServedVersion, StoreError};
use skillwire_jwt::TokenCaller;
use skillwire_server::{Catalog, ViewId};
use tokio::sync::watch;

/// How long a reader stays signed in whom an issuer vouched for. A user whom the issuer no longer knows
/// is a reader for so long at most.
const ISSUER_SESSION: Duration = Duration::from_hours(1);

/// The most views of the catalogue that are kept for readers; each class of callers has one.
const MAX_VIEWS: usize = 64;

/// A reader who signed in. It says nothing about rights: these are looked up for each request.
#[derive(Debug, Clone)]
pub struct SignedReader(Credential);

#[derive(Debug, Clone)]
enum Credential {
    /// A token of the hub. Only its hash is kept.
    Token(TokenHash),
    /// What an issuer said, and until when it counts.
    Issuer { says: TokenCaller, until: SystemTime },
}

/// Signs readers in, and decides what each of them sees; clones share everything.
#[derive(Clone)]
pub struct HubReaders {
    store: HubStore,
    replica: Arc<Replica>,
    access: AccessHandle,
    /// What tokens of issuers must be meant for, if the hub knows its own address.
    resource: Option<String>,
    /// What signs the decisions of the hub, and the name of the hub in them.
    signer: DecisionSigner,
    name: String,
    views: Arc<Mutex<Vec<(CallerSight, ViewId)>>>,
}

/// A decision that the hub signs and hands out with a version.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SignedDecision {
    /// What is signed.
    pub decision: ContentDecision,
    /// The keys of the hub, by identifier.
    pub keys: Vec<String>,
}

impl std::fmt::Debug for HubReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubReaders").finish_non_exhaustive()
    }
}

impl HubReaders {
    pub(crate) fn new(
        store: HubStore,
        replica: Arc<Replica>,
        access: AccessHandle,
        resource: Option<String>,
        (signer, name): (DecisionSigner, String),
    ) -> Self {
        Self { store, replica, access, resource, signer, name, views: Arc::default() }
    }

    /// The records of the hub.
    pub fn store(&self) -> &HubStore {
        &self.store
    }

    /// Who is admitted and what decides, as it is configured now.
    pub fn access(&self) -> &AccessHandle {
        &self.access
    }

    /// Signs a reader in with a token of the hub, or of an issuer for the hub's API.
    #[tracing::instrument(skip_all)]
    pub async fn sign_in(&self, token: &str) -> Option<SignedReader> {
        let reader = if let Ok(secret) = token.parse::<TokenSecret>() {
            SignedReader(Credential::Token(secret.hash()))
        } else {
            let resource = self.resource.as_deref().unwrap_or_default();
            let says = self.access.verify(token, resource).await.ok()?;
            let until = says.expires;
            SignedReader(Credential::Issuer { says, until })
        };
        self.caller(&reader).await.map(|_| reader)
    }

    /// Signs in a reader whom an issuer named in answer to a sign-in that this hub began.
    pub async fn sign_in_as(&self, says: TokenCaller) -> Option<SignedReader> {
        let until = SystemTime::now() + ISSUER_SESSION;
        let reader = SignedReader(Credential::Issuer { says, until });
        self.caller(&reader).await.map(|_| reader)
    }

    /// Returns the rights of a reader as they are now; `None` if the reader is no longer admitted.
    pub async fn caller(&self, reader: &SignedReader) -> Option<Caller> {
        match &reader.0 {
            Credential::Token(hash) => {
                let record = self.store.token_with(hash).await.ok()??;
                let access = self.access.now();
                let is_blocked = access.blocked.contains(&record.subject);
                (!is_blocked).then(|| access.apply(record.caller()))
            }
            Credential::Issuer { until, .. } if *until <= SystemTime::now() => None,
            Credential::Issuer { says, .. } => self.access.now().caller(says),
        }
    }

    /// Shows a change to clients of this replica before it is acknowledged.
    pub async fn settle(&self) {
        if let Err(error) = self.replica.catch_up().await {
            tracing::warn!(%error, "a change is committed but cannot be shown yet");
        }
    }

    /// Follows the number of the last change that this replica applied.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.replica.changes()
    }

    /// Returns the catalogue of the channel `latest`, and the view of it that a caller has.
    pub async fn catalogue(&self, caller: &Caller) -> Result<(Arc<Catalog>, ViewId), StoreError> {
        let sight = self.sight(caller).await?;
        let catalog = self.replica.catalogue();
        if sight == CallerSight::Everything {
            return Ok((catalog, ViewId::EVERYTHING));
        }
        let mut views = self.views.lock();
        let known = views.iter().position(|(of, view)| *of == sight && catalog.has_view(*view));
        let view = match known {
            Some(at) => views.remove(at).1,
            None => catalog.restrict(self.replica.visible(&sight)),
        };
        // The view that was unused longest is given up.
        views.push((sight, view));
        if views.len() > MAX_VIEWS {
            catalog.retire(views.remove(0).1);
        }
        Ok((catalog, view))
    }

    /// Returns a version that a caller may see: the one with this number, else the one that `latest`
    /// serves, else the last that was published. What is hidden is unknown.
    #[tracing::instrument(skip_all, fields(%skill))]
    pub async fn version(
        &self,
        caller: &Caller,
        skill: &SkillId,
        number: Option<&Version>,
    ) -> Result<VersionRecord, StoreError> {
        let hub = everything()?;
        let unknown = || Refusal::UnknownSkill(skill.clone());
        if let Some(number) = number {
            let version = VersionRef::new(skill.clone(), number.clone());
            let record = self.store.version(&hub, &version).await?;
            return if self.shows(caller, &record).await? {
                Ok(record)
            } else {
                Err(unknown().into())
            };
        }
        if let Some(served) = self.store.served(&ChannelName::latest(), skill).await? {
            let version = VersionRef::new(skill.clone(), served.version);
            let record = self.store.version(&hub, &version).await?;
            if self.shows(caller, &record).await? {
                return Ok(record);
            }
        }
        let last = self.versions(caller, skill).await?.into_iter().next();
        last.ok_or_else(|| unknown().into())
    }

    /// Lists the newest versions of a skill that a caller may see, at most a hundred.
    pub async fn versions(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<Vec<VersionRecord>, StoreError> {
        let page = PageRequest::first(100);
        let all = self.store.versions(&everything()?, skill, &page).await?;
        let mut seen = Vec::new();
        for record in all.items {
            if self.shows(caller, &record).await? {
                seen.push(record);
            }
        }
        Ok(seen)
    }

    /// Tells whether a caller may see a version.
    ///
    /// Trust boundary: this is the one place that decides it for readers. Who reviews or publishes in a
    /// namespace sees everything there; of the others, those whom roles and policy let see it.
    async fn shows(&self, caller: &Caller, record: &VersionRecord) -> Result<bool, StoreError> {
        let namespaces = self.store.all_namespaces().await?;
        let home = namespaces.iter().find(|known| known.name == record.skill.namespace);
        let Some(home) = home else { return Ok(false) };
        if caller.may(Action::Review, home) || caller.may(Action::Publish, home) {
            return Ok(true);
        }
        let access = self.access.now();
        Ok(match CallerSight::of(caller, &namespaces, &access) {
            CallerSight::Everything => true,
            CallerSight::Nothing => false,
            CallerSight::Class(class) => {
                let facts = facts_at(&served(record), self.store.now());
                (caller.may(Action::Read, home) || record.state.is_readable())
                    && class.covers(&home.name)
                    && access.policy.decide(&class, &facts).allowed
            }
        })
    }

    /// Returns what this replica knows about an upstream, if it follows it.
    pub fn upstream_status(&self, label: &NamespaceName) -> Option<UpstreamStatus> {
        self.replica.upstream_statuses().status(label)
    }

    /// Tells whether the hub has a key that signs its decisions.
    pub fn signs(&self) -> bool {
        self.signer.signs()
    }

    /// Returns the decision that clients get with a version, checked with the keys of the hub as they
    /// check it; `None` if the hub signs none.
    pub fn signed_decision(&self, record: &VersionRecord) -> Option<SignedDecision> {
        let now = SystemTime::now();
        let version = served(record);
        let envelope = sign(&self.signer, &version, &self.name)?.to_string();
        let keys = self.signer.public_keys();
        let ids = keys.iter().map(|key| key.id().to_string()).collect();
        let trusted: Vec<_> = keys.into_iter().map(TrustedSigner::key).collect();
        let vouched = Signature::parse(envelope.as_bytes()).ok()?.verify(&trusted, now).ok()?;
        let uri = uri_of(&version, ServedAt::Channel)?;
        let decision = vouched.decision(&uri, record.content, now).ok()?;
        Some(SignedDecision { decision, keys: ids })
    }

    async fn sight(&self, caller: &Caller) -> Result<CallerSight, StoreError> {
        let namespaces = self.store.all_namespaces().await?;
        Ok(CallerSight::of(caller, &namespaces, &self.access.now()))
    }

    /// Records that a reader read a file of a version.
    pub fn note_read(&self, caller: &Caller, record: &VersionRecord, path: &RelPath) {
        let version = VersionRef::new(record.skill.clone(), record.version.clone());
        self.replica.note_read(caller, &version, record.content, path);
    }
}

/// The hub itself, which reads what it then decides about.
fn everything() -> Result<Caller, StoreError> {
    Ok(Caller::administrator(skillwire_hub_store::hub_subject()?))
}

/// A version as a replica would serve it.
fn served(record: &VersionRecord) -> ServedVersion {
    ServedVersion {
        id: record.skill.clone(),
        version: record.version.clone(),
        content: record.content,
        state: record.state,
        files: record.files.clone(),
        entry: String::new(),
        published_at: record.published_at,
        publisher: record.publisher.clone(),
    }
}
