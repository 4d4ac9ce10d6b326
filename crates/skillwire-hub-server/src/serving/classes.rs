//! Which skills of a channel each class of callers sees: decided once for each kind of skill, remembered.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use skillwire_core::SkillUri;
use skillwire_hub::{CallerClass, NamespaceName, SharedPolicy, SkillFacts, SkillId, Timestamp};
use skillwire_server::{SkillFilter, VisibleSkills};

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
    skills: HashMap<Arc<str>, (KnownSkill, u32)>,
    /// A number for each kind of skill that the policy tells apart.
    kinds: HashMap<Box<str>, u32>,
}

impl State {
    fn kind_of(&mut self, skill: &KnownSkill) -> u32 {
        let key = self.policy.key(&skill.at(self.now));
        let next = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        *self.kinds.entry(key).or_insert(next)
    }
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
        Self(Arc::new(Shared { state, namespace, classes }))
    }

    /// Notes what is known about a skill, before it is put into the catalogue.
    pub(crate) fn know(&self, uri: &SkillUri, skill: KnownSkill) {
        let mut state = self.0.state.write();
        let kind = state.kind_of(&skill);
        state.skills.insert(uri.file().shared(), (skill, kind));
    }

    /// Forgets a skill that the catalogue no longer has.
    pub(crate) fn forget_named(&self, skill: &SkillId) {
        let uri = format!("skill://{skill}/SKILL.md");
        self.0.state.write().skills.remove(uri.as_str());
    }

    /// Forgets a skill, if what is known about it is as the caller thinks.
    pub(crate) fn forget_if(&self, uri: &SkillUri, is_meant: impl FnOnce(&KnownSkill) -> bool) {
        let mut state = self.0.state.write();
        if state.skills.get(uri.as_str()).is_some_and(|(known, _)| is_meant(known)) {
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
        state.renumber();
    }

    /// Lets the skills grow older; tells whether a decision may be another one now.
    pub(crate) fn grow_older(&self, now: Timestamp) -> bool {
        let mut state = self.0.state.write();
        if !state.policy.depends_on_age() {
            return false;
        }
        state.now = now;
        let before: HashMap<Arc<str>, u32> =
            state.skills.iter().map(|(uri, (_, kind))| (Arc::clone(uri), *kind)).collect();
        let skills = std::mem::take(&mut state.skills);
        let mut changed = false;
        for (uri, (skill, _)) in skills {
            let kind = state.kind_of(&skill);
            changed |= before.get(&uri) != Some(&kind);
            state.skills.insert(uri, (skill, kind));
        }
        changed
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
    /// Numbers the kinds of skills again, by the policy of now.
    fn renumber(&mut self) {
        self.kinds.clear();
        let skills = std::mem::take(&mut self.skills);
        for (uri, (skill, _)) in skills {
            let kind = self.kind_of(&skill);
            self.skills.insert(uri, (skill, kind));
        }
    }
}

/// Chooses the skills of one class.
#[derive(Debug)]
struct ClassFilter {
    class: CallerClass,
    shared: Arc<Shared>,
    /// What was decided about each kind of skill, by the policy with this number.
    decided: RwLock<(u64, HashMap<u32, bool>)>,
}

impl SkillFilter for ClassFilter {
    fn shows(&self, uri: &SkillUri) -> bool {
        let state = self.shared.state.read();
        let of_uri = || {
            let segments = uri.root().segments();
            segments.first().and_then(|first| NamespaceName::parse(first).ok())
        };
        let namespace = self.shared.namespace.clone().or_else(of_uri);
        let Some(namespace) = namespace else { return false };
        if !self.class.covers(&namespace) {
            return false;
        }
        let Some((skill, kind)) = state.skills.get(uri.as_str()) else {
            // A version that was not looked up yet: once it is known, it is decided about.
            return state.policy.could_show(&self.class, &namespace);
        };
        {
            let decided = self.decided.read();
            if decided.0 == state.epoch
                && let Some(known) = decided.1.get(kind)
            {
                return *known;
            }
        }
        let decision = state.policy.decide(&self.class, &skill.at(state.now));
        if !decision.problems.is_empty() {
            tracing::warn!(problems = ?decision.problems, %uri, "a rule cannot be evaluated");
        }
        let mut decided = self.decided.write();
        if decided.0 != state.epoch {
            *decided = (state.epoch, HashMap::new());
        }
        decided.1.insert(*kind, decision.allowed);
        decision.allowed
    }
}
