//! A policy of Cedar: parsed, checked against the schema, and asked.

use std::{collections::BTreeMap, fmt, str::FromStr as _};

use cedar_policy::{
    Authorizer, Decision, Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator,
};
use skillwire_hub::{AccessPolicy, CallerClass, PolicyDecision, ROLES_RULE, SkillFacts, Subject};

use crate::{mentioned::Mentioned, request};

/// The schema that policies are checked against, for people and editors.
pub const SCHEMA: &str = include_str!("schema.cedarschema");

/// The largest text of policies.
pub const MAX_POLICY_BYTES: usize = 256 * 1024;

/// The most rules.
const MAX_RULES: usize = 1_000;

/// The rule that is always there: a role that reads a namespace sees its skills.
const ROLES: &str = "permit (principal, action == Action::\"read\", resource) \
                     when { !context.roles.isEmpty() };";

/// Why a text is no policy that a hub can use; the text names the rule, the expected and the actual.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPolicy {
    /// The text is too long.
    #[error("it has {0} bytes, more than {MAX_POLICY_BYTES}")]
    TooLarge(usize),
    /// There are too many rules.
    #[error("it has {0} rules, more than {MAX_RULES}")]
    TooMany(usize),
    /// The text is not Cedar.
    #[error("{0}")]
    Syntax(String),
    /// A rule asks about something that there is not.
    #[error("{}", .0.join("\n"))]
    Schema(Vec<String>),
    /// Two rules have one name.
    #[error("two rules have the name `{0}`")]
    Repeated(String),
    /// A rule depends on values that only a request has.
    #[error("it holds templates, which nothing fills in")]
    Template,
}

/// Rules that decide which callers see which skills.
pub struct CedarPolicy {
    rules: PolicySet,
    /// What people call each rule.
    names: BTreeMap<PolicyId, String>,
    mentioned: Mentioned,
    schema: Schema,
    /// What the rules may do other than their author thinks.
    warnings: Vec<String>,
}

impl fmt::Debug for CedarPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CedarPolicy").field("rules", &self.names.len()).finish_non_exhaustive()
    }
}

impl CedarPolicy {
    /// Reads and checks rules. Each has the name of its annotation `@id("…")`, or its place in the text.
    ///
    /// The rule `roles` is added: a caller with a role in a namespace sees its skills unless a rule forbids
    /// it. A caller that no rule permits to see a skill does not see it.
    pub fn parse(text: &str) -> Result<Self, InvalidPolicy> {
        if text.len() > MAX_POLICY_BYTES {
            return Err(InvalidPolicy::TooLarge(text.len()));
        }
        let written =
            PolicySet::from_str(text).map_err(|error| InvalidPolicy::Syntax(readable(&error)))?;
        if written.templates().next().is_some() {
            return Err(InvalidPolicy::Template);
        }
        let count = written.policies().count();
        if count > MAX_RULES {
            return Err(InvalidPolicy::TooMany(count));
        }
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA)
            .map_err(|error| InvalidPolicy::Syntax(error.to_string()))?;
        let validator = Validator::new(schema.clone());
        let checked = validator.validate(&written, ValidationMode::Strict);
        let problems: Vec<String> = checked.validation_errors().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(InvalidPolicy::Schema(problems));
        }
        let warnings = checked.validation_warnings().map(ToString::to_string).collect();
        let mut names = BTreeMap::new();
        for (index, rule) in written.policies().enumerate() {
            let name = name_of(rule, index);
            if name == ROLES_RULE || names.values().any(|other| *other == name) {
                return Err(InvalidPolicy::Repeated(name));
            }
            names.insert(rule.id().clone(), name);
        }
        let mut rules = written;
        let by_role = Policy::parse(Some(PolicyId::new(ROLES_RULE)), ROLES)
            .map_err(|error| InvalidPolicy::Syntax(error.to_string()))?;
        names.insert(by_role.id().clone(), ROLES_RULE.to_owned());
        rules.add(by_role).map_err(|error| InvalidPolicy::Syntax(error.to_string()))?;
        let mentioned = Mentioned::of(&rules);
        Ok(Self { rules, names, mentioned, schema, warnings })
    }

    /// Returns the names of the rules.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    /// Returns what Cedar warns about, such as a rule that never applies.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// The name of a rule: its annotation, or its place.
fn name_of(rule: &Policy, index: usize) -> String {
    match rule.annotation("id") {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("rule {}", index + 1),
    }
}

/// The errors of a parser with the place of each in the text.
fn readable(errors: &cedar_policy::ParseErrors) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

impl AccessPolicy for CedarPolicy {
    fn names(&self, subject: &Subject) -> bool {
        self.mentioned.names(subject)
    }

    fn depends_on_age(&self) -> bool {
        self.mentioned.depends_on_age()
    }

    fn key(&self, facts: &SkillFacts) -> Box<str> {
        self.mentioned.key(facts)
    }

    fn decide(&self, class: &CallerClass, facts: &SkillFacts) -> PolicyDecision {
        let (request, entities) = match request::of(class, facts, &self.schema) {
            Ok(made) => made,
            // A request that cannot be made allows nothing.
            Err(problem) => {
                return PolicyDecision {
                    allowed: false,
                    rules: Vec::new(),
                    problems: vec![problem],
                };
            }
        };
        let answer = Authorizer::new().is_authorized(&request, &self.rules, &entities);
        let diagnostics = answer.diagnostics();
        let name = |id: &PolicyId| self.names.get(id).cloned().unwrap_or_else(|| id.to_string());
        let mut rules: Vec<String> = diagnostics.reason().map(name).collect();
        rules.sort_unstable();
        let problems: Vec<String> = diagnostics.errors().map(ToString::to_string).collect();
        // A rule that could not be evaluated might be one that forbids.
        let allowed = answer.decision() == Decision::Allow && problems.is_empty();
        PolicyDecision { allowed, rules, problems }
    }
}

#[cfg(test)]
mod tests {
    use skillwire_hub::{Caller, Namespace, Role};

    use super::*;

    fn class_of(subject: &str, groups: &[&str], policy: &CedarPolicy) -> CallerClass {
        let mut acme = Namespace::new("acme".parse().unwrap());
        acme.grant("ana".parse().unwrap(), Role::Reader);
        let groups = groups.iter().map(|group| Subject::group(group).unwrap());
        let caller = Caller::new(subject.parse().unwrap()).in_groups(groups);
        CallerClass::of(&caller, &[acme], policy).unwrap()
    }

    fn facts(skill: &str) -> SkillFacts {
        SkillFacts::new(skill.parse().unwrap())
    }

    #[test]
    fn without_a_rule_roles_decide_and_everything_else_is_denied() {
        let policy = CedarPolicy::parse("").unwrap();
        let decide = |subject: &str, skill: &str| {
            policy.decide(&class_of(subject, &[], &policy), &facts(skill))
        };
        assert_eq!(decide("ana", "acme/refunds").rules, ["roles"]);
        for (subject, skill) in [("eve", "acme/refunds"), ("ana", "beta/refunds")] {
            let decision = decide(subject, skill);
            assert!(!decision.allowed && decision.rules.is_empty(), "{decision:?}");
        }
    }

    #[test]
    fn a_rule_grants_beyond_roles_and_a_rule_that_forbids_wins() {
        let policy = CedarPolicy::parse(
            r#"@id("refunds") permit (principal in Group::"payments", action, resource == Skill::"beta/refunds");
               forbid (principal, action, resource) when { resource.has_scripts && resource.age < 7 };
               @id("eve") forbid (principal == Caller::"eve", action, resource);"#,
        )
        .unwrap();
        let decide = |subject: &str, groups: &[&str], facts: &SkillFacts| {
            policy.decide(&class_of(subject, groups, &policy), facts)
        };
        assert_eq!(decide("bea", &["payments"], &facts("beta/refunds")).rules, ["refunds"]);
        assert!(!decide("bea", &["payments"], &facts("beta/other")).allowed);
        assert!(!decide("bea", &[], &facts("beta/refunds")).allowed);
        assert_eq!(decide("eve", &["payments"], &facts("beta/refunds")).rules, ["eve"]);
        let mut young = facts("acme/refunds");
        young.has_scripts = true;
        let decision = decide("ana", &[], &young);
        assert_eq!((decision.allowed, decision.rules), (false, vec!["rule 2".to_owned()]));
        young.age = 7;
        assert!(decide("ana", &[], &young).allowed);
    }

    #[test]
    fn rules_that_are_wrong_are_refused_with_the_reason() {
        for (text, reason) in [
            ("permit (principal, action, resource", "unexpected"),
            ("permit (principal, action, resource) when { resource.colour == \"red\" };", "colour"),
            ("permit (principal, action == Action::\"write\", resource);", "write"),
            ("permit (principal in Team::\"x\", action, resource);", "Team"),
            ("permit (principal == ?principal, action, resource);", "templates"),
            (
                "@id(\"a\") permit (principal, action, resource); @id(\"a\") forbid (principal, action, resource);",
                "two rules",
            ),
            ("@id(\"roles\") permit (principal, action, resource);", "two rules"),
        ] {
            let problem = CedarPolicy::parse(text).unwrap_err().to_string();
            assert!(problem.contains(reason), "{text}: {problem}");
        }
        let long = " ".repeat(MAX_POLICY_BYTES + 1);
        assert!(matches!(CedarPolicy::parse(&long), Err(InvalidPolicy::TooLarge(_))));
    }

    #[test]
    fn skills_that_no_rule_tells_apart_have_one_key() {
        let policy = CedarPolicy::parse(
            r#"permit (principal, action, resource) when { resource.age > 30 && resource.state == "approved" };
               forbid (principal, action, resource == Skill::"acme/odd");"#,
        )
        .unwrap();
        let key = |change: &dyn Fn(&mut SkillFacts)| {
            let mut facts = facts("acme/refunds");
            change(&mut facts);
            policy.key(&facts)
        };
        let usual = key(&|_| ());
        for same in [
            key(&|it| it.skill = "acme/other".parse().unwrap()),
            key(&|it| it.has_scripts = true),
            key(&|it| it.signed_by = ["x".to_owned()].into()),
            key(&|it| it.age = 29),
        ] {
            assert_eq!(same, usual);
        }
        for other in [
            key(&|it| it.skill = "beta/refunds".parse().unwrap()),
            key(&|it| it.skill = "acme/odd".parse().unwrap()),
            key(&|it| it.state = "deprecated".into()),
            key(&|it| it.age = 30),
            key(&|it| it.age = 31),
        ] {
            assert_ne!(other, usual);
        }
        assert!(policy.depends_on_age());
        assert!(!CedarPolicy::parse("").unwrap().depends_on_age());
    }

    #[test]
    fn only_subjects_and_groups_that_a_rule_names_form_classes_of_their_own() {
        let policy = CedarPolicy::parse(
            r#"permit (principal in Group::"payments", action, resource);
               forbid (principal == Caller::"eve", action, resource);"#,
        )
        .unwrap();
        let one = class_of("bea", &["payments", "sales"], &policy);
        assert_eq!(one, class_of("cid", &["payments"], &policy));
        assert_ne!(one, class_of("cid", &[], &policy));
        assert_ne!(one, class_of("eve", &["payments"], &policy));
    }
}
