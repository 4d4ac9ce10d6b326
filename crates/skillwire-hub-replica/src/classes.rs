//! Which skills of a channel each class of callers sees: decided once for each kind of skill, remembered.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use skillwire_core::{RelPath, SkillUri};
use skillwire_gateway::enclosing_skills;
use skillwire_hub::{CallerClass, NamespaceName, SharedPolicy, SkillFacts, SkillId, Timestamp};
use skillwire_hub_upstreams::skills_inside;
use skillwire_server::{SkillFilter, VisibleSkills};
use tokio::sync::Notify;

/// A day, the unit of a skill's age.
const DAY: Duration = Duration::from_hours(24);

/// What is known about a served skill.
#[derive(Debug, Clone)]
pub(crate) struct KnownSkill {
    pub(crate) facts: SkillFacts,
    /// When it was published, from which its age follows.
    pub(crate) since: Timestamp,
}

impl KnownSkill {
    /// The facts at a moment.
    pub(crate) fn at(&self, now: Timestamp) -> SkillFacts {
        let millis = now.as_millis().saturating_sub(self.since.as_millis()).max(0);
        let days = Duration::from_millis(millis.unsigned_abs()).as_secs() / DAY.as_secs();
        SkillFacts { age: days, ..self.facts.clone() }
    }
}

/// The skills of a channel as its policy sees them, and its classes of callers; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct ChannelClasses(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: RwLock<State>,
    /// The namespace of every skill here; none if the first segment of its URI is its namespace.
    namespace: Option<NamespaceName>,
    /// Notified when a skill became known that lies in one which views may show already.
    nested: Notify,
    /// The filter of each class, for as long as a view uses it.
    classes: Mutex<BTreeMap<CallerClass, Weak<ClassFilter>>>,
}

#[derive(Debug)]
struct State {
    policy: SharedPolicy,
    most_classes: usize,
    /// Counts policies, so that what one decided is not taken for what another would.
    epoch: u64,
    /// The moment that ages are counted to.
    now: Timestamp,
    /// Boxed: the table has room for up to twice as many as there are.
    skills: HashMap<Arc<str>, Box<PlacedSkill>>,
    /// A number for each kind of skill that the policy tells apart.
    kinds: HashMap<Box<str>, u32>,
}

/// A skill at its URI.
#[derive(Debug)]
struct PlacedSkill {
    known: KnownSkill,
    kind: u32,
    /// The URIs of what may be skills among its files. A manifest lists every file, so that a caller who sees a
    /// skill can read those inside it.
    inside: Box<[Arc<str>]>,
}

impl State {
    /// Tells whether another known skill has this one among its files.
    fn is_inside_another(&self, uri: &SkillUri) -> bool {
        let around = enclosing_skills(uri.as_str());
        let mut around = around.iter().filter_map(|around| self.skills.get(around.as_str()));
        around.any(|around| around.inside.iter().any(|inside| **inside == *uri.as_str()))
    }

    fn kind_of(&mut self, skill: &KnownSkill) -> u32 {
        let key = self.policy.key(&skill.at(self.now));
        number_of(&mut self.kinds, key)
    }
}

/// The number of a kind of skill, a new one for a new kind.
fn number_of(kinds: &mut HashMap<Box<str>, u32>, key: Box<str>) -> u32 {
    let next = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
    *kinds.entry(key).or_insert(next)
}

impl ChannelClasses {
    pub(crate) fn new(
        policy: SharedPolicy,
        most_classes: usize,
        now: Timestamp,
        namespace: Option<NamespaceName>,
    ) -> Self {
        let state = State {
            policy,
            most_classes,
            epoch: 0,
            now,
            skills: HashMap::new(),
            kinds: HashMap::new(),
        };
        let (state, classes) = (RwLock::new(state), Mutex::default());
        Self(Arc::new(Shared { state, namespace, nested: Notify::new(), classes }))
    }

    /// Notes what is known about a skill and what is inside it, before it is put into the catalogue.
    pub(crate) fn know<'a>(
        &self,
        uri: &SkillUri,
        known: KnownSkill,
        files: impl IntoIterator<Item = &'a RelPath>,
    ) {
        let inside = skills_inside(uri, files).map(|inside| inside.file().shared()).collect();
        let mut state = self.0.state.write();
        let kind = state.kind_of(&known);
        let placed = Box::new(PlacedSkill { known, kind, inside });
        let before = state.skills.insert(uri.file().shared(), placed);
        // The catalogue asks about the skill that it takes in, and not about one around it.
        if before.is_none_or(|before| before.kind != kind) && state.is_inside_another(uri) {
            self.0.nested.notify_one();
        }
    }

    /// Waits until the catalogue has to ask the filters again, as a skill became known inside another one.
    pub(crate) async fn nested(&self) {
        self.0.nested.notified().await;
    }

    /// Forgets a skill that the catalogue no longer has.
    pub(crate) fn forget_named(&self, skill: &SkillId) {
        let uri = format!("skill://{skill}/SKILL.md");
        self.0.state.write().skills.remove(uri.as_str());
    }

    /// Forgets a skill, if what is known about it is as the caller thinks.
    pub(crate) fn forget_if(&self, uri: &SkillUri, is_meant: impl FnOnce(&KnownSkill) -> bool) {
        let mut state = self.0.state.write();
        if state.skills.get(uri.as_str()).is_some_and(|placed| is_meant(&placed.known)) {
            state.skills.remove(uri.as_str());
        }
    }

    /// Decides by another policy from now on. The caller then has the catalogue ask the filters again.
    pub(crate) fn replace_policy(&self, policy: SharedPolicy, most_classes: usize, now: Timestamp) {
        let mut state = self.0.state.write();
        state.policy = policy;
        state.most_classes = most_classes;
        state.epoch += 1;
        state.now = now;
        state.kinds.clear();
        state.renumber();
    }

    /// Lets the skills grow older; tells whether a decision may be another one now.
    pub(crate) fn grow_older(&self, now: Timestamp) -> bool {
        let mut state = self.0.state.write();
        if !state.policy.depends_on_age() {
            return false;
        }
        state.now = now;
        state.renumber()
    }

    /// Returns the skills that a class sees, or `None` if there are too many classes.
    pub(crate) fn visible(&self, class: &CallerClass) -> Option<VisibleSkills> {
        let most = self.0.state.read().most_classes;
        let mut classes = self.0.classes.lock();
        if let Some(known) = classes.get(class).and_then(Weak::upgrade) {
            return Some(VisibleSkills::Chosen(known));
        }
        classes.retain(|_, filter| filter.strong_count() > 0);
        if classes.len() >= most {
            return None;
        }
        let filter = Arc::new(ClassFilter {
            class: class.clone(),
            shared: Arc::clone(&self.0),
            decided: RwLock::default(),
        });
        classes.insert(class.clone(), Arc::downgrade(&filter));
        Some(VisibleSkills::Chosen(filter))
    }
}

impl State {
    /// Numbers the kinds of skills again, by the policy and the time of now; tells whether any is another
    /// one.
    fn renumber(&mut self) -> bool {
        let Self { policy, now, skills, kinds, .. } = self;
        let mut changed = false;
        for placed in skills.values_mut() {
            let kind = number_of(kinds, policy.key(&placed.known.at(*now)));
            changed |= std::mem::replace(&mut placed.kind, kind) != kind;
        }
        changed
    }
}

/// Chooses the skills of one class.
#[derive(Debug)]
struct ClassFilter {
    class: CallerClass,
    shared: Arc<Shared>,
    /// What was decided about each kind of skill, by its number, and by the policy with this number.
    decided: RwLock<(u64, Vec<Option<bool>>)>,
}

impl SkillFilter for ClassFilter {
    /// A skill with a skill inside that the class must not see is not shown either, as its files are among
    /// those of the outer one.
    fn shows(&self, uri: &SkillUri) -> bool {
        let state = self.shared.state.read();
        let shows_inside = |placed: &PlacedSkill| {
            let mut inside =
                placed.inside.iter().filter_map(|uri| Some((uri, state.skills.get(uri)?)));
            inside.all(|(uri, inside)| self.allows(&state, uri, inside))
        };
        let Some(placed) = state.skills.get(uri.as_str()) else {
            let of_uri = || {
                let segments = uri.root().segments();
                segments.first().and_then(|first| NamespaceName::parse(first).ok())
            };
            let namespace = self.shared.namespace.clone().or_else(of_uri);
            // A version that was not looked up yet: once it is known, it is decided about.
            return namespace.is_some_and(|namespace| {
                self.class.covers(&namespace) && state.policy.could_show(&self.class, &namespace)
            });
        };
        self.class.covers(&placed.known.facts.skill.namespace)
            && self.allows(&state, uri.as_str(), placed)
            && shows_inside(placed)
    }
}

impl ClassFilter {
    /// What the policy decides about a skill by itself.
    fn allows(&self, state: &State, uri: &str, placed: &PlacedSkill) -> bool {
        {
            let decided = self.decided.read();
            if decided.0 == state.epoch
                && let Some(Some(known)) = decided.1.get(placed.kind as usize)
            {
                return *known;
            }
        }
        let decision = state.policy.decide(&self.class, &placed.known.at(state.now));
        if !decision.problems.is_empty() {
            tracing::warn!(problems = ?decision.problems, %uri, "a rule cannot be evaluated");
        }
        let mut decided = self.decided.write();
        if decided.0 != state.epoch {
            *decided = (state.epoch, Vec::new());
        }
        let kind = placed.kind as usize;
        if decided.1.len() <= kind {
            decided.1.resize(kind + 1, None);
        }
        decided.1[kind] = Some(decision.allowed);
        decision.allowed
    }
}
