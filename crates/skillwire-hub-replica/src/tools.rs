//! Tools, prompts and resources of upstreams on one mount: which upstreams have them there, and who sees them.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
};

use arc_swap::ArcSwap;
use futures_util::{FutureExt as _, future::BoxFuture};
use skillwire_core::{SkillName, SkillUri};
use skillwire_gateway::{
    CallAudit, NamePrefix, ToolAdmission, UpstreamOffer, UpstreamOfferOptions,
};
use skillwire_hub::{NamespaceName, SkillFacts, SkillId, Timestamp, Upstream};
use skillwire_hub_upstreams::{FollowedUpstream, MountKind, UNREVIEWED};
use skillwire_server::{
    Caller, Catalog,
    offer::{
        FollowedResource, Interrupt, Invocation, Items, ListChanges, Offer, Offers, PromptReply,
        ResourceReply, ToolReply, Typing, unknown,
    },
};

use crate::{
    allowed::{AllowedOffers, MountAdmission},
    classes::KnownSkill,
    mount::MountOffers,
    options::MakeOffers,
};

/// A skill by which it is asked who sees skills of an upstream, and which does not exist.
const ANY_SKILL: &str = "any-skill-of-this-upstream";

/// The URI of a skill by which it is asked who sees skills of an upstream.
pub(crate) fn any_skill_of(label: &NamespaceName) -> Option<SkillUri> {
    SkillUri::parse(&format!("skill://{label}/{ANY_SKILL}/SKILL.md")).ok()
}

/// What a policy is asked about that skill: nothing speaks against it but what holds for every skill of the
/// upstream.
pub(crate) fn any_skill(upstream: &Upstream) -> Option<KnownSkill> {
    let name = SkillName::parse(ANY_SKILL).ok()?;
    let mut facts = SkillFacts::new(SkillId::new(upstream.label.clone(), name));
    facts.origin = upstream.label.to_string();
    "none".clone_into(&mut facts.worst_finding);
    if !upstream.mode.is_reviewed() {
        UNREVIEWED.clone_into(&mut facts.state);
    }
    Some(KnownSkill { facts, since: Timestamp::from_millis(0) })
}

/// The tools, prompts and resources of upstreams that one mount passes on. Upstreams come and go while it is
/// served.
///
/// Which these are, and who sees them, [`MountAdmission`] decides.
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
    admission: Arc<MountAdmission>,
}

/// What of an upstream's tools, prompts and resources is passed on, on every mount.
pub(crate) struct ToolTerms<'a> {
    pub(crate) followed: &'a Arc<FollowedUpstream>,
    pub(crate) allowed: &'a Arc<AllowedOffers>,
    /// Whether other skills name tools than before.
    pub(crate) renamed: bool,
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
            if let Some(place) = self.place.get().filter(|_| terms.renamed) {
                place.changes.tools();
            }
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
        let any_skill = any_skill_of(label)?;
        let admission = Arc::new(MountAdmission {
            allowed: Arc::clone(terms.allowed),
            followed: Arc::downgrade(terms.followed),
            mount: self.kind,
            catalog: Arc::clone(&place.catalog),
            any_skill,
        });
        let admits = Arc::clone(&admission) as Arc<dyn ToolAdmission>;
        let options = UpstreamOfferOptions::new(prefix, admits)
            .audit(Arc::clone(terms.audit))
            .changes(place.changes.clone());
        let offer = terms.followed.offer(options)?;
        Some(OfferedTools { offer, followed: Arc::downgrade(terms.followed), admission })
    }

    /// Takes the tools of an upstream away.
    pub(crate) fn hide(&self, label: &NamespaceName) {
        if self.upstreams.load().contains_key(label) {
            self.replace(label, None);
            if let Some(place) = self.place.get() {
                place.changes.tools();
                place.changes.prompts();
                place.changes.resources();
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

    /// The offers of which a caller may see tools. Where skills name tools, each offer decides about each.
    fn seen_by(&self, caller: &Caller) -> Vec<UpstreamOffer> {
        let upstreams = self.upstreams.load();
        let seen = upstreams.values().filter(|offered| {
            let admission = &offered.admission;
            admission.allowed.names_in_skills() || admission.shows_upstream(caller)
        });
        seen.map(|offered| offered.offer.clone()).collect()
    }

    /// The offers of which a caller sees resources.
    fn with_resources(&self, caller: &Caller) -> Vec<UpstreamOffer> {
        let upstreams = self.upstreams.load();
        let seen = upstreams.values().filter(|offered| offered.admission.shows_upstream(caller));
        seen.map(|offered| offered.offer.clone()).collect()
    }

    fn resource_offer(&self, caller: &Caller, uri: &str) -> Option<UpstreamOffer> {
        self.with_resources(caller).into_iter().find(|offer| offer.has_resource(caller, uri))
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

    fn resources(&self, caller: &Caller) -> Arc<Items> {
        joined(self.with_resources(caller).iter().map(|offer| offer.resources(caller)).collect())
    }

    fn resource_templates(&self, caller: &Caller) -> Arc<Items> {
        let offers = self.with_resources(caller);
        joined(offers.iter().map(|offer| offer.resource_templates(caller)).collect())
    }

    fn has_resource(&self, caller: &Caller, uri: &str) -> bool {
        self.resource_offer(caller, uri).is_some()
    }

    fn read_resource(
        &self,
        invocation: Invocation,
    ) -> BoxFuture<'static, Result<ResourceReply, Interrupt>> {
        match self.resource_offer(invocation.client.caller(), &invocation.name) {
            Some(offer) => offer.read_resource(invocation),
            None => std::future::ready(Err(unknown("resource", &invocation.name).into())).boxed(),
        }
    }

    fn follow_resource(&self, caller: &Caller, uri: &str) -> Option<FollowedResource> {
        self.resource_offer(caller, uri)?.follow_resource(caller, uri)
    }

    fn session_ended(&self, session: &str) {
        self.upstreams.load().values().for_each(|offered| offered.offer.session_ended(session));
    }
}
