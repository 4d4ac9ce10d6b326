//! A view: the skills that are known at one moment, what the user decided about them, and the lists
//! that clients get.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use skillwire_core::SkillEntry;
use skillwire_host::{Host, context::text::one_line_within};
use skillwire_search::SkillText;
use skillwire_trust::{
    Approval, Handle, KnownSkill, ListedSkill, Refusal, Registry, RegistryItem, ServerLabel,
    SkillId, Standing,
};

use super::{
    client_kind::ClientKind,
    lazy_index::{BuiltIndex, LazyIndex},
    lists::ClientLists,
    options::BridgeOptions,
};

/// Whether a server could be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerStatus {
    /// The first listing is under way.
    Pending,
    /// The last listing succeeded.
    Listed,
    /// The last listing failed for this reason; the skills of the one before stay known.
    Failed(String),
}

/// Whether the skill folders of this machine were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum FoldersStatus {
    /// They are being read for the first time.
    Pending,
    /// They were read, or there are none to read.
    #[default]
    Read,
    /// They hold more than is read; the sentence says what.
    Incomplete(String),
}

/// Whether each origin could be listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginStatuses {
    pub(crate) servers: BTreeMap<ServerLabel, ServerStatus>,
    pub(crate) folders: FoldersStatus,
}

/// The user's decision about a skill, as listings show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillStatus {
    /// The bridge loads it without asking the user.
    Approved,
    /// The user has not decided.
    New,
    /// Its content is not the one that the user approved.
    Changed,
    /// The user answered no when asked to approve it.
    Declined,
    /// The user switched it off, so clients do not see it at all.
    Disabled,
}

impl SkillStatus {
    /// What a listing shows after the handle; nothing for a skill that can be loaded at once.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Approved => "",
            Self::New => " (needs the user's approval)",
            Self::Changed => " (changed, needs the user's approval again)",
            Self::Declined => " (declined by the user)",
            Self::Disabled => " (disabled by the user)",
        }
    }
}

/// The result of a search.
pub(crate) struct FoundSkills<'a> {
    /// The best matches, with the user's decision about each.
    pub(crate) best: Vec<(&'a RegistryItem, SkillStatus)>,
    /// How many skills match in all.
    pub(crate) all: usize,
}

/// The skills, the user's decisions and the lists for clients at one moment. A view never changes,
/// so the lists of one view always agree with each other.
#[derive(Debug, Default)]
pub(crate) struct BridgeView {
    registry: Registry,
    shown: Vec<SkillStatus>,
    /// The approvals of skills of older servers, by place: their listings do not say whether an
    /// approval covers them.
    approvals: BTreeMap<usize, Approval>,
    statuses: OriginStatuses,
    /// The paths of skills in folders, below the user's home or the project; more than one for a
    /// skill of which there are copies.
    paths: BTreeMap<SkillId, Vec<String>>,
    index: Arc<LazyIndex>,
    /// The lists of each kind of client, by its index, made when a client of the kind first asks.
    lists: [OnceLock<ClientLists>; ClientKind::ALL.len()],
}

impl BridgeView {
    /// Makes a view of the skills in a registry. It shares the index of the view before if
    /// nothing that the index depends on has changed.
    pub(crate) fn new(
        host: &Host,
        before: &Self,
        registry: Registry,
        statuses: OriginStatuses,
        options: &BridgeOptions,
    ) -> Self {
        let listed: Vec<&KnownSkill> = registry.items().iter().map(|item| &item.skill).collect();
        let decisions = host.decisions(&listed);
        let shown: Vec<SkillStatus> = listed
            .iter()
            .zip(&decisions)
            .map(|(listed, decision)| shown(host, listed, &decision.standing))
            .collect();
        let places = decisions.into_iter().enumerate();
        let approvals = places.filter_map(|(place, decided)| Some((place, decided.approval?)));
        let approvals = approvals.collect();
        let paths = host.folder_paths();
        let mut view = Self { registry, shown, approvals, statuses, paths, ..Self::default() };
        if view.reads_like(before) {
            view.index = Arc::clone(&before.index);
        }
        // Changes of these lists are announced, so they are made at once.
        view.lists(ClientKind::Other, options);
        view
    }

    /// The lists of one kind of client.
    pub(crate) fn lists(&self, kind: ClientKind, options: &BridgeOptions) -> &ClientLists {
        self.lists[kind.index()].get_or_init(|| ClientLists::new(self, kind, options))
    }

    /// Tells whether clients would get other tools or prompts from another view.
    pub(crate) fn list_changes(&self, other: &Self, options: &BridgeOptions) -> (bool, bool) {
        let changes = |kind: ClientKind| {
            let asked = |view: &Self| view.lists[kind.index()].get().is_some();
            if !asked(self) && !asked(other) {
                return (false, false);
            }
            let (ours, theirs) = (self.lists(kind, options), other.lists(kind, options));
            (ours.tools != theirs.tools, ours.prompts != theirs.prompts)
        };
        let all = ClientKind::ALL.into_iter().map(changes);
        all.fold((false, false), |sum, one| (sum.0 || one.0, sum.1 || one.1))
    }

    /// Every skill that is shown to one kind of client: not those that it has without a bridge.
    pub(crate) fn items_for(
        &self,
        kind: ClientKind,
    ) -> impl Iterator<Item = (&RegistryItem, SkillStatus)> {
        self.items().filter(move |(item, _)| !self.is_native(item, kind))
    }

    /// Tells whether a client has a skill without a bridge.
    pub(crate) fn is_native(&self, item: &RegistryItem, kind: ClientKind) -> bool {
        let paths = self.paths.get(item.skill.id());
        paths.is_some_and(|paths| paths.iter().any(|path| kind.reads(path)))
    }

    /// Tells whether there are servers besides the folders.
    pub(crate) fn has_servers(&self) -> bool {
        !self.statuses.servers.is_empty()
    }

    /// Tells whether an origin is being listed for the first time.
    pub(crate) fn is_pending(&self) -> bool {
        self.statuses.folders == FoldersStatus::Pending
            || self.statuses.servers.values().any(|status| *status == ServerStatus::Pending)
    }

    /// Every skill that is shown, with the user's decision about it.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&RegistryItem, SkillStatus)> {
        let items = self.registry.items().iter().zip(self.shown.iter().copied());
        items.filter(|(_, shown)| *shown != SkillStatus::Disabled)
    }

    /// Searches for skills that have words of a query, best first.
    ///
    /// The first search after a change builds the index, which takes a while.
    pub(crate) fn search(
        &self,
        host: &Host,
        query: &str,
        limit: usize,
        is_visible: impl Fn(&RegistryItem) -> bool,
    ) -> FoundSkills<'_> {
        let items = self.registry.items();
        let is_visible =
            |place: usize| self.shown[place] != SkillStatus::Disabled && is_visible(&items[place]);
        let built = self.index.get(|| self.build_index(host));
        let found = built.index.search(query, limit, is_visible);
        let best = found.best.into_iter().map(|place| (&items[place], self.shown[place]));
        FoundSkills { best: best.collect(), all: found.total }
    }

    fn build_index(&self, host: &Host) -> BuiltIndex {
        let mut unread = BTreeSet::new();
        let known = self.registry.items().iter().zip(&self.shown).enumerate();
        let texts = known.map(|(place, (item, shown))| {
            let RegistryItem { handle, skill, .. } = item;
            let text =
                SkillText::new(skill.name().as_str(), handle, skill.entry().frontmatter.fields());
            // Only approved skills are loaded, so only their texts can be in the cache.
            if *shown != SkillStatus::Approved {
                return text;
            }
            let Some(headings) = host.headings(skill) else {
                unread.insert(place);
                return text;
            };
            text.with_headings(&headings)
        });
        BuiltIndex { index: texts.collect(), unread }
    }

    /// Notes that a skill was loaded, so that the next search looks at its text as well.
    pub(crate) fn was_loaded(&self, host: &Host, skill: &KnownSkill) {
        if let Some(place) = self.place_of(skill.id()) {
            self.index.text_came_in(place, || host.headings(skill).is_some());
        }
    }

    /// The skill that a handle names.
    pub(crate) fn find(&self, handle: &Handle) -> Result<&RegistryItem, Refusal> {
        self.registry.find(handle)
    }

    /// A skill as it was last seen.
    pub(crate) fn skill(&self, id: &SkillId) -> Option<&RegistryItem> {
        self.place_of(id).map(|place| &self.registry.items()[place])
    }

    fn place_of(&self, id: &SkillId) -> Option<usize> {
        self.registry.items().binary_search_by(|item| item.skill.id().cmp(id)).ok()
    }

    /// Tells whether a skill is approved exactly as it is listed.
    pub(crate) fn is_approved(&self, host: &Host, listed: &ListedSkill) -> bool {
        let place = self.place_of(listed.id());
        let Some(place) = place.filter(|at| self.shown[*at] == SkillStatus::Approved) else {
            return false;
        };
        if listed.offer().is_some() {
            return host.may_pass_on(listed, self.approvals.get(&place));
        }
        let listed_now = &self.registry.items()[place].skill;
        same_entry(listed_now, listed.id(), listed.entry())
    }

    /// Tells whether this view can use the index of another one: both have the same skills with the
    /// same decisions, so the same texts can be in the cache.
    fn reads_like(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.registry.items(), other.registry.items());
        let alike = |(one, two): (&RegistryItem, &RegistryItem)| {
            one.handle == two.handle && same(&one.skill, &two.skill)
        };
        self.shown == other.shown
            && ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(alike)
    }

    /// Tells whether the same skills are approved with the same content.
    pub(crate) fn approves_the_same_as(&self, other: &Self) -> bool {
        let (mut ours, mut theirs) = (self.approved(), other.approved());
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some(one), Some(two)) if same(one, two) => {}
                _ => return false,
            }
        }
    }

    fn approved(&self) -> impl Iterator<Item = &KnownSkill> {
        let approved = self.items().filter(|(_, shown)| *shown == SkillStatus::Approved);
        approved.map(|(item, _)| &item.skill)
    }

    /// The labels of all origins: those that have skills, and every server.
    pub(crate) fn origins(&self) -> Vec<&str> {
        let items = self.registry.items().iter().map(|item| item.skill.id().origin.label());
        let mut all: Vec<&str> =
            items.chain(self.statuses.servers.keys().map(ServerLabel::as_str)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A sentence for each origin that could not be listed completely.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let trouble = |(label, status): (&ServerLabel, &ServerStatus)| match status {
            ServerStatus::Listed => None,
            ServerStatus::Pending => Some(format!("The server `{label}` has not answered yet.")),
            ServerStatus::Failed(reason) => Some(format!(
                "The server `{label}` cannot be listed now, so what it listed before may be out of \
                 date. {}",
                one_line_within(reason, 300)
            )),
        };
        let folders = match &self.statuses.folders {
            FoldersStatus::Read => None,
            FoldersStatus::Pending => Some("The skill folders are still being read.".to_owned()),
            FoldersStatus::Incomplete(reason) => Some(one_line_within(reason, 300)),
        };
        folders.into_iter().chain(self.statuses.servers.iter().filter_map(trouble)).collect()
    }
}

/// Tells whether two skills have the same id and the same entry.
fn same(one: &KnownSkill, two: &KnownSkill) -> bool {
    same_entry(one, two.id(), two.entry())
}

fn same_entry(skill: &KnownSkill, id: &SkillId, entry: &Arc<SkillEntry>) -> bool {
    skill.id() == id && (Arc::ptr_eq(skill.entry(), entry) || skill.entry() == entry)
}

fn shown(host: &Host, skill: &KnownSkill, standing: &Standing) -> SkillStatus {
    match standing {
        Standing::Disabled => SkillStatus::Disabled,
        _ if host.is_approved(skill, standing) => SkillStatus::Approved,
        Standing::Changed(_) => SkillStatus::Changed,
        Standing::Declined => SkillStatus::Declined,
        Standing::New | Standing::Approved(_) => SkillStatus::New,
    }
}
