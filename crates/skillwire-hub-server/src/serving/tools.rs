//! Tools and prompts of upstreams on one mount: which upstreams have them there, and who sees them.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
};

use arc_swap::ArcSwap;
use futures_util::{FutureExt as _, future::BoxFuture};
use skillwire_core::SkillUri;
use skillwire_gateway::{
    AllowedTools, CallAudit, NamePrefix, ToolAdmission, UpstreamOffer, UpstreamOfferOptions,
};
use skillwire_hub::NamespaceName;
use skillwire_hub_upstreams::{FollowedUpstream, MountKind};
use skillwire_server::{
    Caller, Catalog,
    offer::{
        Interrupt, Invocation, Items, ListChanges, Offer, Offers, PromptReply, ToolReply, Typing,
        unknown,
    },
};

use super::{mount::MountOffers, options::MakeOffers};

/// A skill by which it is asked who sees skills of an upstream. Were there one, a policy would decide about
/// that skill, and tools are shown to fewer callers.
const ANY_SKILL: &str = "any-skill-of-this-upstream";

/// The tools and prompts of upstreams that one mount passes on. Upstreams come and go while it is served.
///
/// Which tools these are is decided for each upstream. Here it is decided who sees them: callers whose view
/// of the mount shows skills of that upstream, and no others.
pub(crate) struct MountTools {
    kind: MountKind,
    /// Known once the mount is started.
    place: OnceLock<MountPlace>,
    upstreams: ArcSwap<BTreeMap<NamespaceName, OfferedTools>>,
}

struct MountPlace {
    catalog: Arc<Catalog>,
    changes: ListChanges,
}

#[derive(Clone)]
struct OfferedTools {
    offer: UpstreamOffer,
    /// What the offer was made of; an upstream that is followed anew needs another.
    followed: Weak<FollowedUpstream>,
    /// The URI of a skill of this upstream that is not known.
    any_skill: SkillUri,
}

/// What of an upstream's tools is passed on, on every mount.
pub(crate) struct ToolTerms<'a> {
    pub(crate) followed: &'a Arc<FollowedUpstream>,
    pub(crate) allowed: &'a Arc<AllowedTools>,
    pub(crate) audit: &'a Arc<dyn CallAudit>,
}

impl MountTools {
    pub(crate) fn new(kind: MountKind) -> Arc<Self> {
        Arc::new(Self { kind, place: OnceLock::new(), upstreams: ArcSwap::default() })
    }

    /// The tools of a mount: those that every mount has, and those of upstreams.
    pub(crate) fn offers(self: &Arc<Self>, make: Option<MakeOffers>) -> MountOffers {
        let tools = Arc::clone(self);
        Box::new(move |catalog| {
            let offers = make.map_or_else(|| Ok(Offers::default()), |make| make(catalog))?;
            let changes = offers.changes().clone();
            tools.place.get_or_init(|| MountPlace { catalog: Arc::clone(catalog), changes });
            Ok(offers.and(tools))
        })
    }

    /// Passes on what is allowed of an upstream's tools now. The runtime of the caller follows them.
    pub(crate) fn show(&self, label: &NamespaceName, terms: &ToolTerms<'_>) {
        if let Some(known) = self.upstreams.load().get(label)
            && known.followed.ptr_eq(&Arc::downgrade(terms.followed))
        {
            known.offer.reconsider();
            return;
        }
        match self.started(label, terms) {
            Some(offered) => self.replace(label, Some(&offered)),
            None => self.hide(label),
        }
    }

    fn started(&self, label: &NamespaceName, terms: &ToolTerms<'_>) -> Option<OfferedTools> {
        let place = self.place.get()?;
        let prefix = match self.kind {
            MountKind::Own => NamePrefix::none(),
            MountKind::Aggregate => NamePrefix::of(&terms.followed.label()?),
        };
        let admission = Arc::clone(terms.allowed) as Arc<dyn ToolAdmission>;
        let options = UpstreamOfferOptions::new(prefix, admission)
            .audit(Arc::clone(terms.audit))
            .changes(place.changes.clone());
        let offer = terms.followed.offer(options)?;
        let any_skill = SkillUri::parse(&format!("skill://{label}/{ANY_SKILL}/SKILL.md")).ok()?;
        Some(OfferedTools { offer, followed: Arc::downgrade(terms.followed), any_skill })
    }

    /// Takes the tools of an upstream away.
    pub(crate) fn hide(&self, label: &NamespaceName) {
        if self.upstreams.load().contains_key(label) {
            self.replace(label, None);
            if let Some(place) = self.place.get() {
                place.changes.tools();
                place.changes.prompts();
            }
        }
    }

    fn replace(&self, label: &NamespaceName, offered: Option<&OfferedTools>) {
        self.upstreams.rcu(|upstreams| {
            let mut upstreams = BTreeMap::clone(upstreams);
            match offered {
                Some(offered) => upstreams.insert(label.clone(), offered.clone()),
                None => upstreams.remove(label),
            };
            upstreams
        });
    }

    /// The offers that a caller sees.
    fn seen_by(&self, caller: &Caller) -> Vec<UpstreamOffer> {
        let Some(place) = self.place.get() else { return Vec::new() };
        let upstreams = self.upstreams.load();
        let seen = upstreams
            .values()
            .filter(|offered| place.catalog.would_show(caller.view, &offered.any_skill));
        seen.map(|offered| offered.offer.clone()).collect()
    }

    fn find(&self, caller: &Caller, has: impl Fn(&UpstreamOffer) -> bool) -> Option<UpstreamOffer> {
        self.seen_by(caller).into_iter().find(has)
    }
}

/// Joins lists; the usual list of one upstream is not copied.
fn joined(mut lists: Vec<Arc<Items>>) -> Arc<Items> {
    match lists.len() {
        0 | 1 => lists.pop().unwrap_or_default(),
        _ => Arc::new(lists.iter().flat_map(|list| list.iter().cloned()).collect()),
    }
}

impl Offer for MountTools {
    fn tools(&self, caller: &Caller) -> Arc<Items> {
        joined(self.seen_by(caller).iter().map(|offer| offer.tools(caller)).collect())
    }

    fn prompts(&self, caller: &Caller) -> Arc<Items> {
        joined(self.seen_by(caller).iter().map(|offer| offer.prompts(caller)).collect())
    }

    fn has_tool(&self, caller: &Caller, name: &str) -> bool {
        self.find(caller, |offer| offer.has_tool(caller, name)).is_some()
    }

    fn has_prompt(&self, caller: &Caller, name: &str) -> bool {
        self.find(caller, |offer| offer.has_prompt(caller, name)).is_some()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let caller = invocation.client.caller();
        match self.find(caller, |offer| offer.has_tool(caller, &invocation.name)) {
            Some(offer) => offer.call(invocation),
            None => std::future::ready(Err(unknown("tool", &invocation.name).into())).boxed(),
        }
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        let caller = invocation.client.caller();
        match self.find(caller, |offer| offer.has_prompt(caller, &invocation.name)) {
            Some(offer) => offer.prompt(invocation),
            None => std::future::ready(Err(unknown("prompt", &invocation.name).into())).boxed(),
        }
    }

    fn complete(&self, caller: &Caller, typing: &Typing<'_>) -> Vec<String> {
        let found = self.find(caller, |offer| offer.has_prompt(caller, typing.prompt));
        found.map(|offer| offer.complete(caller, typing)).unwrap_or_default()
    }

    fn session_ended(&self, session: &str) {
        self.upstreams.load().values().for_each(|offered| offered.offer.session_ended(session));
    }
}
