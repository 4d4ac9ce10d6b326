//! One channel of a hub: a catalogue with the version that it serves of each skill.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use skillwire_hub::{ChannelName, PageRequest, SkillId};
use skillwire_hub_store::{HubStore, ServedVersion, StoreError};
use skillwire_server::{BuildError, PathPatterns, ScanRequest, Skills, http::HttpService};
use skillwire_source::{FileStore, Skill};
use tokio::{sync::RwLock, task::JoinHandle};

use super::{
    files::VersionFiles,
    pinned::PinnedVersions,
    replica::ServingOptions,
    skill::{ServedAt, skill_of},
    source::ChannelSource,
    views::CallerViews,
};

/// A channel that clients reach.
pub(crate) struct ServedChannel {
    name: ChannelName,
    store: HubStore,
    source: ChannelSource,
    pinned: PinnedVersions,
    skills: Skills,
    http: HttpService,
    /// The skills that the source has.
    held: Mutex<BTreeSet<SkillId>>,
    /// What callers without a token see.
    public: Mutex<PathPatterns>,
    following: JoinHandle<()>,
}

impl Drop for ServedChannel {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl ServedChannel {
    /// Makes the server of a channel, without any skill yet.
    pub(crate) fn start(
        name: ChannelName,
        store: HubStore,
        applying: &Arc<RwLock<()>>,
        options: &ServingOptions,
        views: &CallerViews,
    ) -> Result<Self, BuildError> {
        let source = ChannelSource::default();
        let pinned = PinnedVersions::new(store.clone(), Arc::clone(applying));
        let mut builder = Skills::builder()
            .config(options.config.clone())
            .source(source.clone())
            .source(pinned.source())
            .lookup(Arc::new(pinned.clone()))
            .tokens(views.tokens.clone())
            .public(views.public.clone());
        if let Some(make) = &options.offers {
            let make = Arc::clone(make);
            builder = builder.offers_from(move |catalog| make(catalog));
        }
        let skills = builder.prepare()?;
        let http = skills.http_service(options.http.clone());
        let follower = Arc::clone(skills.follower());
        // The replica refreshes by itself; this task notices versions that clients ask for by number.
        let following = tokio::spawn(async move {
            follower.follow(async || std::future::pending().await).await;
        });
        let (held, public) = (Mutex::default(), Mutex::new(views.public.clone()));
        Ok(Self { name, store, source, pinned, skills, http, held, public, following })
    }

    pub(crate) fn http(&self) -> &HttpService {
        &self.http
    }

    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Loads everything that the channel serves, in place of what it has.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        self.pinned.forget_all();
        let mut found = BTreeSet::new();
        let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
        loop {
            let page = self.store.served_page(&self.name, &request).await?;
            let ids = page.items.iter().map(|served| served.id.clone());
            found.extend(ids);
            self.source
                .set(page.items.iter().map(|served| (served.id.to_string(), self.made(served))));
            match page.next {
                Some(next) => request = request.after(Some(next)),
                None => break,
            }
        }
        let before = std::mem::replace(&mut *self.held.lock(), found.clone());
        self.source.set(before.difference(&found).map(|id| (id.to_string(), None)));
        self.refresh().await;
        Ok(())
    }

    /// Loads what the channel serves of some skills; the caller refreshes afterwards.
    pub(crate) async fn update<'a>(
        &self,
        skills: impl IntoIterator<Item = &'a SkillId>,
    ) -> Result<(), StoreError> {
        for id in skills {
            let served = self.store.served(&self.name, id).await?;
            let skill = served.as_ref().and_then(|served| self.made(served));
            match &skill {
                Some(_) => self.held.lock().insert(id.clone()),
                None => self.held.lock().remove(id),
            };
            self.source.set([(id.to_string(), skill)]);
        }
        Ok(())
    }

    /// Takes out versions of a skill that clients asked for by number.
    pub(crate) fn forget_pinned(&self, skill: &SkillId) {
        self.pinned.forget(skill);
    }

    /// Shows clients what was loaded.
    pub(crate) async fn refresh(&self) {
        // A scan of no paths asks every source that has no files for its news.
        if let Err(error) = self.skills.follower().look(ScanRequest::paths([])).await {
            tracing::error!(%error, "showing new versions broke");
        }
    }

    /// Admits these callers, and no others.
    pub(crate) fn replace_callers(&self, views: &CallerViews) {
        self.skills.replace_tokens(views.tokens.clone());
        let mut public = self.public.lock();
        if *public != views.public {
            public.clone_from(&views.public);
            self.skills.replace_public(views.public.clone());
        }
    }

    fn made(&self, served: &ServedVersion) -> Option<Arc<Skill>> {
        let files = || -> Arc<dyn FileStore> {
            Arc::new(VersionFiles::new(self.store.clone(), &served.files))
        };
        match skill_of(served, ServedAt::Channel, files) {
            Ok(skill) => Some(Arc::new(skill)),
            Err(error) => {
                tracing::error!(%error, "a version cannot be served");
                None
            }
        }
    }
}
