//! A class of callers and a skill, in Cedar's terms.

use std::{
    collections::{HashMap, HashSet},
    str::FromStr as _,
};

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
    Schema,
};
use skillwire_hub::{CallerClass, SkillFacts};

/// The caller of a class in which no rule names a subject. No subject has a space in it.
const ANY_CALLER: &str = "any caller";

/// Makes the question whether a class may read a skill, with the entities it is about.
pub(crate) fn of(
    class: &CallerClass,
    facts: &SkillFacts,
    schema: &Schema,
) -> Result<(Request, Entities), String> {
    let subject = class.subject.as_ref().map_or(ANY_CALLER, |subject| subject.as_str());
    let principal = uid("Caller", subject)?;
    let groups = class.groups.iter().filter_map(|group| group.as_str().strip_prefix("group:"));
    let groups = groups.map(|group| uid("Group", group)).collect::<Result<HashSet<_>, _>>()?;
    let namespace = uid("Namespace", facts.skill.namespace.as_str())?;
    let resource = uid("Skill", &facts.skill.to_string())?;
    let caller = Entity::new_no_attrs(principal.clone(), groups.clone());
    let skill =
        Entity::new(resource.clone(), attributes(facts), HashSet::from([namespace.clone()]))
            .map_err(|error| error.to_string())?;
    let parents = groups.into_iter().chain([namespace]);
    let parents = parents.map(|parent| Entity::new_no_attrs(parent, HashSet::new()));
    let entities = Entities::from_entities(parents.chain([caller, skill]), Some(schema))
        .map_err(|error| error.to_string())?;
    let roles = class.roles.get(&facts.skill.namespace).into_iter().flatten();
    let roles = roles.map(|role| RestrictedExpression::new_string(role.to_string()));
    let roles = RestrictedExpression::new_set(roles);
    let context =
        Context::from_pairs([("roles".to_owned(), roles)]).map_err(|error| error.to_string())?;
    let request = Request::new(principal, uid("Action", "read")?, resource, context, Some(schema))
        .map_err(|error| error.to_string())?;
    Ok((request, entities))
}

fn attributes(facts: &SkillFacts) -> HashMap<String, RestrictedExpression> {
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let signers = facts.signed_by.iter().map(|signer| text(signer));
    let age = i64::try_from(facts.age).unwrap_or(i64::MAX);
    HashMap::from([
        ("namespace".to_owned(), text(facts.skill.namespace.as_str())),
        ("name".to_owned(), text(facts.skill.name.as_str())),
        ("state".to_owned(), text(&facts.state)),
        ("origin".to_owned(), text(&facts.origin)),
        ("signed_by".to_owned(), RestrictedExpression::new_set(signers)),
        ("has_scripts".to_owned(), RestrictedExpression::new_bool(facts.has_scripts)),
        ("dynamic".to_owned(), RestrictedExpression::new_bool(facts.dynamic)),
        ("worst_finding".to_owned(), text(&facts.worst_finding)),
        ("age".to_owned(), RestrictedExpression::new_long(age)),
    ])
}

fn uid(kind: &str, id: &str) -> Result<EntityUid, String> {
    let kind = EntityTypeName::from_str(kind).map_err(|error| error.to_string())?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}
