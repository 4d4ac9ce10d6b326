//! What a set of rules asks about, read from the rules themselves.

use std::{collections::BTreeSet, fmt::Write as _};

use cedar_policy::PolicySet;
use serde_json::Value;
use skillwire_hub::{SkillFacts, Subject};

/// Operators by which a number could become another one, so that comparing it with the numbers of the rules
/// says nothing.
const ARITHMETIC: [&str; 4] = ["+", "-", "*", "neg"];

/// The attributes, entities and numbers that rules name.
///
/// Names are collected from everywhere in a rule. One that has nothing to do with a skill only makes
/// keys finer than they have to be.
#[derive(Debug, Default)]
pub(crate) struct Mentioned {
    attributes: BTreeSet<String>,
    callers: BTreeSet<String>,
    groups: BTreeSet<String>,
    skills: BTreeSet<String>,
    numbers: BTreeSet<i64>,
    calculates: bool,
    /// Whether a rule could not be read, so that everything counts as named.
    opaque: bool,
}

impl Mentioned {
    pub(crate) fn of(rules: &PolicySet) -> Self {
        let mut mentioned = Self::default();
        for rule in rules.policies() {
            match rule.to_json() {
                Ok(json) => mentioned.read(&json),
                Err(_) => mentioned.opaque = true,
            }
        }
        mentioned
    }

    fn read(&mut self, json: &Value) {
        match json {
            Value::Array(all) => all.iter().for_each(|value| self.read(value)),
            Value::Number(number) => self.numbers.extend(number.as_i64()),
            Value::Object(members) => {
                if let (Some(Value::String(kind)), Some(Value::String(id))) =
                    (members.get("type"), members.get("id"))
                {
                    let ids = match kind.as_str() {
                        "Caller" => Some(&mut self.callers),
                        "Group" => Some(&mut self.groups),
                        "Skill" => Some(&mut self.skills),
                        _ => None,
                    };
                    if let Some(ids) = ids {
                        ids.insert(id.clone());
                    }
                }
                if let Some(Value::String(attribute)) = members.get("attr") {
                    self.attributes.insert(attribute.clone());
                }
                for (name, value) in members {
                    self.calculates |= ARITHMETIC.contains(&name.as_str());
                    self.read(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    pub(crate) fn names(&self, subject: &Subject) -> bool {
        let text = subject.as_str();
        self.opaque
            || match text.strip_prefix("group:") {
                Some(group) => self.groups.contains(group),
                None => self.callers.contains(text),
            }
    }

    pub(crate) fn depends_on_age(&self) -> bool {
        self.has("age")
    }

    fn has(&self, attribute: &str) -> bool {
        self.opaque || self.attributes.contains(attribute)
    }

    /// The facts that matter, as one text. The namespace always does: roles belong to it.
    pub(crate) fn key(&self, facts: &SkillFacts) -> Box<str> {
        let id = facts.skill.to_string();
        let mut key = facts.skill.namespace.to_string();
        let mut add = |part: &dyn std::fmt::Debug| {
            // Writing to a text cannot fail.
            let _ = write!(key, " {part:?}");
        };
        add(&(self.has("name") || self.skills.contains(&id)).then_some(&id));
        add(&self.has("state").then_some(&facts.state));
        add(&self.has("origin").then_some(&facts.origin));
        add(&self.has("signed_by").then_some(&facts.signed_by));
        add(&self.has("has_scripts").then_some(facts.has_scripts));
        add(&self.has("dynamic").then_some(facts.dynamic));
        add(&self.has("worst_finding").then_some(&facts.worst_finding));
        add(&self.has("age").then(|| self.place_of(facts.age)));
        key.into()
    }

    /// Where an age stands among the numbers that rules compare with: on one of them, or between two.
    fn place_of(&self, age: u64) -> (usize, bool) {
        let age = i64::try_from(age).unwrap_or(i64::MAX);
        if self.calculates || self.opaque {
            return (usize::try_from(age).unwrap_or(usize::MAX), true);
        }
        (self.numbers.range(..age).count(), self.numbers.contains(&age))
    }
}
