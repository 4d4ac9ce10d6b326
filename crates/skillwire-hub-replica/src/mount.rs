//! One address that clients reach: a catalogue, who sees what of it, and its HTTP service.

use std::sync::Arc;

use parking_lot::Mutex;
use skillwire_core::SkillUri;
use skillwire_hub::{NamespaceName, Timestamp};
use skillwire_server::{
    BuildError, Caller, Catalog, PathPatterns, ReadObserver, ScanRequest, Skills, SkillsBuilder,
    VisibleSkills,
    http::{EndpointPresence, HttpOptions, HttpService, Tokens},
    offer::{DuplicateTool, Offers},
};
use tokio::task::JoinHandle;

use crate::{
    classes::ChannelClasses,
    reads::ReadLog,
    verifier::{ChannelVerifier, visible},
    views::{CallerSight, CallerViews},
};

/// Makes the tools of one mount from its catalogue.
pub(crate) type MountOffers = Box<dyn FnOnce(&Arc<Catalog>) -> Result<Offers, DuplicateTool>>;

/// For whom a mount is there.
pub(crate) enum MountPresence {
    Everyone,
    /// Callers who would see this skill, or see another one.
    WhoSees(SkillUri),
    /// It answers as if it were hidden, for addresses that do not exist.
    Nobody,
}

/// Shows a mount to callers who see skills there.
#[derive(Debug)]
struct SeesSkills {
    catalog: Arc<Catalog>,
    skill: SkillUri,
}

impl EndpointPresence for SeesSkills {
    fn is_there(&self, caller: &Caller) -> bool {
        self.catalog.would_show(caller.view, &self.skill)
            || self.catalog.now(caller.view).is_some_and(|shown| shown.listed_count() > 0)
    }
}

#[derive(Debug)]
pub(crate) struct NobodyIsShown;

impl EndpointPresence for NobodyIsShown {
    fn is_there(&self, _: &Caller) -> bool {
        false
    }
}

/// An address that clients reach.
pub(crate) struct Mount {
    skills: Skills,
    http: HttpService,
    /// What callers without a token see.
    public: Mutex<VisibleSkills>,
    classes: ChannelClasses,
    verifier: Arc<ChannelVerifier>,
    following: JoinHandle<()>,
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// The classes of callers of a mount. One that shows a single namespace is told which.
pub(crate) fn classes(
    views: &CallerViews,
    now: Timestamp,
    namespace: Option<NamespaceName>,
) -> ChannelClasses {
    let access = views.access.now();
    ChannelClasses::new(Arc::clone(&access.policy), access.most_classes, now, namespace)
}

impl Mount {
    /// Makes the server of a mount from its sources.
    pub(crate) fn start(
        builder: SkillsBuilder,
        http: HttpOptions,
        classes: ChannelClasses,
        views: &CallerViews,
        reads: &Arc<ReadLog>,
        offers: Option<MountOffers>,
        shown: MountPresence,
    ) -> Result<Self, BuildError> {
        let verifier = ChannelVerifier::new(classes.clone(), views);
        let verifier = Arc::new(verifier.remembering(!matches!(shown, MountPresence::Nobody)));
        let public = seen(&classes, &views.public);
        let mut builder = builder
            .tokens(tokens(&classes, views))
            .verifier(Arc::clone(&verifier) as Arc<dyn skillwire_server::http::VerifyToken>)
            .public(public.clone());
        if !reads.is_off() {
            builder = builder.reads(Arc::clone(reads) as Arc<dyn ReadObserver>);
        }
        if let Some(make) = offers {
            builder = builder.offers_from(make);
        }
        let skills = builder.prepare()?;
        let http = skills.http_service(match shown {
            MountPresence::Everyone => http,
            MountPresence::WhoSees(skill) => {
                let catalog = Arc::clone(skills.engine().catalog());
                http.presence(Arc::new(SeesSkills { catalog, skill }))
            }
            MountPresence::Nobody => http.presence(Arc::new(NobodyIsShown)),
        });
        let follower = Arc::clone(skills.follower());
        // The replica refreshes by itself; this task notices what sources learn of.
        let (nesting, catalog) = (classes.clone(), Arc::clone(skills.engine().catalog()));
        let following = tokio::spawn(async move {
            let follow = follower.follow(async || std::future::pending().await);
            let ask_again = async {
                loop {
                    nesting.nested().await;
                    catalog.refilter();
                }
            };
            futures_util::future::join(follow, ask_again).await;
        });
        Ok(Self { skills, http, public: Mutex::new(public), classes, verifier, following })
    }

    pub(crate) fn http(&self) -> &HttpService {
        &self.http
    }

    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    pub(crate) fn classes(&self) -> &ChannelClasses {
        &self.classes
    }

    /// The skills that callers with some sight see.
    pub(crate) fn visible(&self, sight: &CallerSight) -> VisibleSkills {
        seen(&self.classes, sight)
    }

    /// Shows clients what was loaded.
    pub(crate) async fn refresh(&self) {
        // A scan of no paths asks every source that has no files for its news.
        if let Err(error) = self.skills.follower().look(ScanRequest::paths([])).await {
            tracing::error!(%error, "showing what changed broke");
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
    pub(crate) fn replace_policy(&self, views: &CallerViews, now: Timestamp) {
        let access = views.access.now();
        self.classes.replace_policy(Arc::clone(&access.policy), access.most_classes, now);
        self.skills.engine().catalog().refilter();
    }

    /// Lets skills grow older, where a policy asks for their age.
    pub(crate) fn grow_older(&self, now: Timestamp) {
        if self.classes.grow_older(now) {
            self.skills.engine().catalog().refilter();
        }
    }
}

/// The tokens of a mount's callers.
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
