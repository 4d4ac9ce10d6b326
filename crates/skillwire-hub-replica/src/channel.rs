//! One channel of a hub: a catalogue with the version that it serves of each skill.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use skillwire_hub::{ChannelName, PageRequest, SkillId};
use skillwire_hub_store::{HubStore, ServedVersion, StoreError};
use skillwire_hub_upstreams::MountKind;
use skillwire_server::{BuildError, Skills};
use skillwire_source::{HeldSkills, Skill, SkillLookup, SkillLookups};
use tokio::sync::RwLock;

use crate::{
    freshness::Freshness,
    mount::{self, Mount, MountOffers, MountPresence},
    options::ServingOptions,
    pinned::PinnedVersions,
    reads::ReadLog,
    skill::{ServedAt, SkillMaker},
    upstreams::{AggregateSources, ServedUpstreams},
    views::CallerViews,
};

/// A channel that clients reach.
pub(crate) struct ServedChannel {
    name: ChannelName,
    store: HubStore,
    source: HeldSkills,
    pinned: PinnedVersions,
    mount: Mount,
    /// Where skills of upstreams are shown, if this is the channel that shows them.
    aggregate: Option<AggregateSources>,
    /// The skills that the source has.
    held: Mutex<BTreeSet<SkillId>>,
    maker: SkillMaker,
}

impl ServedChannel {
    /// Makes the server of a channel, without any skill yet.
    pub(crate) fn start(
        name: ChannelName,
        store: HubStore,
        (applying, freshness): (&Arc<RwLock<()>>, &Arc<Freshness>),
        options: &ServingOptions,
        views: &CallerViews,
        reads: &Arc<ReadLog>,
        upstreams: &ServedUpstreams,
    ) -> Result<Self, BuildError> {
        let source = HeldSkills::default();
        let classes = mount::classes(views, store.now(), None);
        let maker = SkillMaker::new(store.clone(), classes.clone(), options);
        let pinned =
            PinnedVersions::new(maker.clone(), Arc::clone(applying), Arc::clone(freshness));
        let mut builder = Skills::builder()
            .config(options.config.clone())
            .metrics(options.metrics_of(&name))
            .source(source.clone())
            .source(pinned.source());
        let mut lookups: Vec<Arc<dyn SkillLookup>> = vec![Arc::new(pinned.clone())];
        let aggregate = (name == ChannelName::latest() && options.upstreams.is_some())
            .then(|| AggregateSources::new(classes.clone(), store.clone()));
        if let Some(aggregate) = &aggregate {
            builder = builder.source(aggregate.stored.clone()).source(aggregate.live.clone());
            lookups.push(upstreams.lookup(MountKind::Aggregate, None));
        }
        let builder = builder.lookup(Arc::new(SkillLookups(lookups)));
        let offers = match &aggregate {
            Some(aggregate) => Some(aggregate.tools.offers(options.offers.clone())),
            None => options
                .offers
                .clone()
                .map(|make| -> MountOffers { Box::new(move |catalog| make(catalog)) }),
        };
        let http = options.http_of(&name);
        let shown = MountPresence::Everyone;
        let mount = Mount::start(builder, http, classes, views, reads, offers, shown)?;
        let held = Mutex::default();
        Ok(Self { name, store, source, pinned, mount, aggregate, held, maker })
    }

    pub(crate) fn mount(&self) -> &Mount {
        &self.mount
    }

    /// Where skills of upstreams are shown, if this is the channel that shows them.
    pub(crate) fn aggregate(&self) -> Option<&AggregateSources> {
        self.aggregate.as_ref()
    }

    /// Loads everything that the channel serves, in place of what it has.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        self.pinned.forget_all();
        let (mut found, mut made) = (BTreeSet::new(), Vec::new());
        let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
        loop {
            let page = self.store.served_page(&self.name, &request).await?;
            let ids = page.items.iter().map(|served| served.id.clone());
            found.extend(ids);
            made.extend(page.items.iter().map(|it| (it.id.to_string(), self.made(it))));
            match page.next {
                Some(next) => request = request.after(Some(next)),
                None => break,
            }
        }
        let before = std::mem::replace(&mut *self.held.lock(), found.clone());
        made.extend(before.difference(&found).map(|id| (id.to_string(), None)));
        // All at once: a follower that looked in between would show each part to all views.
        self.source.set(made);
        self.refresh_without(before.difference(&found)).await;
        Ok(())
    }

    /// Loads what the channel serves of some skills, and shows it.
    pub(crate) async fn update<'a>(
        &self,
        skills: impl IntoIterator<Item = &'a SkillId>,
    ) -> Result<(), StoreError> {
        let mut gone = Vec::new();
        for id in skills {
            let served = self.store.served(&self.name, id).await?;
            let skill = served.as_ref().and_then(|served| self.made(served));
            match &skill {
                Some(_) => self.held.lock().insert(id.clone()),
                None => self.held.lock().remove(id),
            };
            if skill.is_none() {
                gone.push(id);
            }
            self.source.set([(id.to_string(), skill)]);
        }
        self.refresh_without(gone).await;
        Ok(())
    }

    /// Shows what was loaded, and forgets what is known about skills that the catalogue no longer has then.
    ///
    /// Trust boundary: a policy is not asked about a skill that is not known. One that was forgotten while the
    /// catalogue still had it would be shown to callers who must not see it.
    async fn refresh_without<'a>(&self, gone: impl IntoIterator<Item = &'a SkillId>) {
        self.mount.refresh().await;
        gone.into_iter().for_each(|id| self.mount.classes().forget_named(id));
    }

    /// Takes out versions of a skill that clients asked for by number.
    pub(crate) fn forget_pinned(&self, skill: &SkillId) {
        self.pinned.forget(skill);
    }

    fn made(&self, served: &ServedVersion) -> Option<Arc<Skill>> {
        self.maker.make(served, ServedAt::Channel)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skillwire_core::SkillUri;
    use skillwire_hub_store::{BlobLocation, DatabaseLocation, StoreOptions};
    use skillwire_source::LookupOutcome;

    use super::*;
    use crate::replica::Replica;

    #[tokio::test]
    async fn versions_by_number_fail_at_once_while_the_database_is_away() {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
        let blobs = BlobLocation::Folder(folder.path().join("blobs"));
        let store = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
        let options = ServingOptions::default().poll(Duration::from_hours(1));
        let replica = Replica::start(store, options).await.unwrap();
        let latest = replica.latest();
        let uri = SkillUri::parse("skill://acme/_v/1.0.0/refunds/SKILL.md").unwrap();
        let look_up = async || latest.pinned.look_up(&uri).unwrap().await;
        assert_eq!(look_up().await, LookupOutcome::NotFound);
        replica.freshness().lost();
        // A lookup that waits for this lock, as one that asks the database does, never ends.
        let _applying = replica.applying().write().await;
        assert_eq!(look_up().await, LookupOutcome::Failed);
    }
}
