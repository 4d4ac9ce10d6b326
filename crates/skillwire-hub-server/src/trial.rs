//! Trying a policy on the catalogue before it counts, and saying which rule decides.

use std::collections::BTreeSet;

use serde::Serialize;
use skillwire_hub::{
    Action, Caller, ChannelName, PageRequest, PolicyDecision, Scope, SkillFacts, SkillId, Subject,
};
use skillwire_hub_replica::{CallerSight, HubAccess, facts_at};
use skillwire_hub_store::{HubStore, StoreError};
use skillwire_hub_upstreams::upstream_facts;

/// What a caller would see of a skill.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explained {
    /// The facts that the policy asks about.
    pub facts: SkillFacts,
    /// The roles of the caller in the skill's namespace.
    pub roles: Vec<String>,
    /// What is decided, and by which rules.
    pub decision: PolicyDecision,
}

/// A skill that a caller would see by one policy and not by the other.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PolicyChange {
    /// The caller: a subject, a group, or `*` for callers without a token.
    pub caller: String,
    /// The skill.
    pub skill: SkillId,
    /// Whether the caller sees it with the new policy.
    pub seen: bool,
    /// The rules that decide with the new policy.
    pub rules: Vec<String>,
}

/// How a policy would change what callers see.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct PolicyComparison {
    /// How many skills were looked at.
    pub skills: usize,
    /// How many callers and groups were looked at.
    pub callers: usize,
    /// What would change.
    pub changes: Vec<PolicyChange>,
}

/// Returns the caller that a user names: a subject, or `group:NAME` for a member of a group.
pub fn named_caller(name: &Subject, access: &HubAccess) -> Caller {
    let caller = if *name == Subject::everyone() {
        Caller::anonymous()
    } else if name.is_group() {
        // A member of the group, about whom nothing else is known.
        Caller::anonymous().in_groups([name.clone()])
    } else {
        Caller::new(name.clone())
    };
    access.admit(caller)
}

/// Says whether a caller sees a skill of the channel `latest` or of an upstream, and why; `None` if there is no such skill.
pub async fn explain(
    store: &HubStore,
    access: &HubAccess,
    caller: &Caller,
    skill: &SkillId,
) -> Result<Option<Explained>, StoreError> {
    let known = match store.served(&ChannelName::latest(), skill).await? {
        Some(served) => Some(facts_at(&served, store.now())),
        None => upstream_skills(store).await?.into_iter().find(|facts| facts.skill == *skill),
    };
    let Some(facts) = known else { return Ok(None) };
    let namespaces = store.all_namespaces().await?;
    let caller = as_administrator(caller.clone(), &administrators(store).await?);
    let (roles, decision) = match CallerSight::of(&caller, &namespaces, access) {
        CallerSight::Everything => (Vec::new(), always(true, "administrator")),
        CallerSight::Nothing => (Vec::new(), always(false, "scopes of the credential")),
        CallerSight::Class(class) => {
            let roles = class.roles.get(&skill.namespace).into_iter().flatten();
            let roles = roles.map(ToString::to_string).collect();
            let decision = if class.covers(&skill.namespace) {
                access.policy.decide(&class, &facts)
            } else {
                always(false, "limits of the credential")
            };
            (roles, decision)
        }
    };
    Ok(Some(Explained { facts, roles, decision }))
}

/// The subjects that administer the hub with a token of the hub itself.
async fn administrators(store: &HubStore) -> Result<BTreeSet<Subject>, StoreError> {
    let tokens = store.all_tokens().await?.into_iter().map(|(record, _)| record);
    let valid = tokens.filter(|record| record.is_valid(store.now()));
    let all = valid.filter(|it| it.caller().require_administrator(Action::Operate).is_ok());
    Ok(all.map(|record| record.subject).collect())
}

/// A caller as its strongest token shows it, which a policy takes nothing from.
fn as_administrator(caller: Caller, administrators: &BTreeSet<Subject>) -> Caller {
    if !administrators.contains(&caller.subject) {
        return caller;
    }
    let mut caller = caller.with_scopes(Scope::ALL);
    caller.administrator = true;
    caller
}

fn always(allowed: bool, rule: &str) -> PolicyDecision {
    PolicyDecision { allowed, rules: vec![rule.to_owned()], problems: Vec::new() }
}

/// Compares what callers see of the channel `latest` and of upstreams with two configurations.
///
/// The callers are those that tokens, roles and groups name, and callers without a token.
pub async fn compare(
    store: &HubStore,
    before: &HubAccess,
    after: &HubAccess,
) -> Result<PolicyComparison, StoreError> {
    let namespaces = store.all_namespaces().await?;
    let mut names: BTreeSet<Subject> = [Subject::everyone()].into();
    names.extend(store.all_tokens().await?.into_iter().map(|(record, _)| record.subject));
    names.extend(namespaces.iter().flat_map(|namespace| namespace.grants.keys().cloned()));
    names.extend(after.configured.groups.keys().cloned());
    let of_roles = after.configured.roles.values().flat_map(|roles| roles.values());
    names.extend(of_roles.flatten().cloned());
    let administrators = administrators(store).await?;
    let mut comparison = PolicyComparison { callers: names.len(), ..PolicyComparison::default() };
    let sights: Vec<_> = names
        .iter()
        .map(|name| {
            let sight = |access| {
                let caller = as_administrator(named_caller(name, access), &administrators);
                CallerSight::of(&caller, &namespaces, access)
            };
            (name, sight(before), sight(after))
        })
        .collect();
    let mut compare_one = |facts: &SkillFacts| {
        comparison.skills += 1;
        for (name, old, new) in &sights {
            let was = decide(old, facts, before);
            let is = decide(new, facts, after);
            if was.allowed != is.allowed {
                comparison.changes.push(PolicyChange {
                    caller: name.to_string(),
                    skill: facts.skill.clone(),
                    seen: is.allowed,
                    rules: is.rules,
                });
            }
        }
    };
    upstream_skills(store).await?.iter().for_each(&mut compare_one);
    let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
    loop {
        let page = store.served_page(&ChannelName::latest(), &request).await?;
        let facts = page.items.iter().map(|served| facts_at(served, store.now()));
        facts.for_each(|facts| compare_one(&facts));
        match page.next {
            Some(next) => request = request.after(Some(next)),
            None => return Ok(comparison),
        }
    }
}

/// The skills of upstreams, as the store knows them.
async fn upstream_skills(store: &HubStore) -> Result<Vec<SkillFacts>, StoreError> {
    let mut skills = Vec::new();
    for upstream in store.all_upstreams().await? {
        skills.extend(upstream_facts(store, &upstream).await?);
    }
    Ok(skills)
}

fn decide(sight: &CallerSight, facts: &SkillFacts, access: &HubAccess) -> PolicyDecision {
    match sight {
        CallerSight::Everything => always(true, "administrator"),
        CallerSight::Class(class) if class.covers(&facts.skill.namespace) => {
            access.policy.decide(class, facts)
        }
        CallerSight::Class(_) | CallerSight::Nothing => always(false, "limits of the credential"),
    }
}
