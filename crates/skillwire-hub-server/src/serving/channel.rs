//! One channel of a hub: a catalogue with the version that it serves of each skill.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use skillwire_hub::{ChannelName, PageRequest, SkillId};
use skillwire_hub_store::{HubStore, ServedVersion, StoreError};
use skillwire_server::{
    BuildError, PathPatterns, ReadObserver, ScanRequest, Skills, VisibleSkills,
    http::{HttpService, Tokens},
};
use skillwire_source::{HeldSkills, Skill};
use tokio::{sync::RwLock, task::JoinHandle};

use super::{
    classes::ChannelClasses,
    pinned::PinnedVersions,
    reads::ReadLog,
    replica::ServingOptions,
    skill::{ServedAt, SkillMaker},
    verifier::{ChannelVerifier, visible},
    views::{CallerSight, CallerViews},
};

/// A channel that clients reach.
pub(crate) struct ServedChannel {
    name: ChannelName,
    store: HubStore,
    source: HeldSkills,
    pinned: PinnedVersions,
    skills: Skills,
    http: HttpService,
    /// The skills that the source has.
    held: Mutex<BTreeSet<SkillId>>,
    /// What callers without a token see.
    public: Mutex<VisibleSkills>,
    classes: ChannelClasses,
    verifier: Arc<ChannelVerifier>,
    maker: SkillMaker,
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
        reads: &Arc<ReadLog>,
    ) -> Result<Self, BuildError> {
        let source = HeldSkills::default();
        let access = views.access.now();
        let classes =
            ChannelClasses::new(Arc::clone(&access.policy), access.most_classes, store.now());
        let maker = SkillMaker::new(store.clone(), classes.clone(), options);
        let pinned = PinnedVersions::new(maker.clone(), Arc::clone(applying));
        let verifier = Arc::new(ChannelVerifier::new(classes.clone(), views));
        let public = seen(&classes, &views.public);
        let mut builder = Skills::builder()
            .config(options.config.clone())
            .source(source.clone())
            .source(pinned.source())
            .lookup(Arc::new(pinned.clone()))
            .tokens(tokens(&classes, views))
            .verifier(Arc::clone(&verifier) as Arc<dyn skillwire_server::http::VerifyToken>)
            .public(public.clone());
        if !reads.is_off() {
            builder = builder.reads(Arc::clone(reads) as Arc<dyn ReadObserver>);
        }
        if let Some(make) = &options.offers {
            let make = Arc::clone(make);
            builder = builder.offers_from(move |catalog| make(catalog));
        }
        let skills = builder.prepare()?;
        let http = skills.http_service(options.http_of(&name));
        let follower = Arc::clone(skills.follower());
        // The replica refreshes by itself; this task notices versions that clients ask for by number.
        let following = tokio::spawn(async move {
            follower.follow(async || std::future::pending().await).await;
        });
        let (held, public) = (Mutex::default(), Mutex::new(public));
        Ok(Self {
            name,
            store,
            source,
            pinned,
            skills,
            http,
            held,
            public,
            classes,
            verifier,
            maker,
            following,
        })
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
        before.difference(&found).for_each(|id| self.classes.forget_named(id));
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
            if skill.is_none() {
                self.classes.forget_named(id);
            }
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
        self.verifier.update(views);
        self.skills.replace_tokens(tokens(&self.classes, views));
        self.skills.recheck_verified(|name| visible(&self.classes, &views.verified(name)?));
        let now = seen(&self.classes, &views.public);
        let mut public = self.public.lock();
        if *public != now {
            *public = now.clone();
            self.skills.replace_public(now);
        }
    }

    /// Decides by the policy of now who sees what, and shows it at once.
    pub(crate) fn replace_policy(&self, views: &CallerViews) {
        let access = views.access.now();
        self.classes.replace_policy(
            Arc::clone(&access.policy),
            access.most_classes,
            self.store.now(),
        );
        self.skills.engine().catalog().refilter();
    }

    /// Lets skills grow older, where a policy asks for their age.
    pub(crate) fn grow_older(&self) {
        if self.classes.grow_older(self.store.now()) {
            self.skills.engine().catalog().refilter();
        }
    }

    fn made(&self, served: &ServedVersion) -> Option<Arc<Skill>> {
        self.maker.make(served, ServedAt::Channel)
    }
}

/// The tokens of a channel's callers.
fn tokens(classes: &ChannelClasses, views: &CallerViews) -> Tokens {
    let token = |(name, digest, sight): &(String, _, CallerSight)| {
        (name.clone(), *digest, seen(classes, sight))
    };
    Tokens::from_digests(views.tokens.iter().map(token))
}

/// The skills that a caller sees: none, if there are too many classes of callers.
fn seen(classes: &ChannelClasses, sight: &CallerSight) -> VisibleSkills {
    visible(classes, sight).unwrap_or_else(|| {
        tracing::error!("a caller sees nothing, as there are too many classes of callers");
        VisibleSkills::Matching(PathPatterns::default())
    })
}
