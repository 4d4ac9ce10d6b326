//! Compares the frontmatter that a server listed with that of its `SKILL.md`.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::frontmatter::Frontmatter;

/// The most differences that are reported; one is enough to refuse.
const MOST: usize = 20;

/// One field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDifference {
    /// The place of the field, as a JSON pointer.
    pub pointer: String,
    /// The value on the first side, if it has the field.
    pub before: Option<Value>,
    /// The value on the second side, if it has the field.
    pub after: Option<Value>,
}

impl FieldDifference {
    /// Explains a difference that comes from reading one YAML scalar by two versions of YAML.
    pub fn cause(&self) -> Option<&'static str> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let scalar = |value: &Value| !value.is_array() && !value.is_object();
        let types_differ = std::mem::discriminant(before) != std::mem::discriminant(after);
        if !scalar(before) || !scalar(after) {
            return None;
        }
        (types_differ || before.is_number()).then_some(
            "The two sides read the same text by different YAML rules (YAML 1.1 against 1.2, or \
             everything as a string); the author can put the value in quotes.",
        )
    }
}

/// Lists the fields in which two frontmatters differ; the order of keys does not count.
pub fn differences(before: &Frontmatter, after: &Frontmatter) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    compare_maps("", before.fields(), after.fields(), &mut found);
    found
}

fn compare_maps(
    pointer: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    found: &mut Vec<FieldDifference>,
) {
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    for key in keys {
        let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        compare(pointer, before.get(key), after.get(key), found);
    }
}

fn compare(
    pointer: String,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<FieldDifference>,
) {
    if found.len() == MOST {
        return;
    }
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            compare_maps(&pointer, before, after, found);
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(format!("{pointer}/{index}"), Some(before), Some(after), found);
            }
        }
        (Some(Value::Number(before)), Some(Value::Number(after))) if same_number(before, after) => {
        }
        (before, after) if before == after => {}
        (before, after) => {
            found.push(FieldDifference { pointer, before: before.cloned(), after: after.cloned() });
        }
    }
}

/// Compares by value: `1` and `1.0` are one number in two spellings.
fn same_number(before: &Number, after: &Number) -> bool {
    // Floating point cannot tell large integers apart, so integers are compared as such.
    if !before.is_f64() && !after.is_f64() {
        return before == after;
    }
    before.as_f64().partial_cmp(&after.as_f64()) == Some(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frontmatter(extra: Value) -> Frontmatter {
        let Value::Object(mut fields) = extra else { panic!("not an object") };
        fields.insert("name".into(), "a".into());
        fields.insert("description".into(), "Does a.".into());
        Frontmatter::from_fields(fields).unwrap()
    }

    fn pointers(before: Value, after: Value) -> Vec<String> {
        let found = differences(&frontmatter(before), &frontmatter(after));
        found.into_iter().map(|difference| difference.pointer).collect()
    }

    #[test]
    fn extra_missing_and_retyped_fields_differ_and_order_does_not_hst_52() {
        assert!(
            pointers(
                json!({"x": 1, "y": {"a": 1, "b": 2}}),
                json!({"y": {"b": 2, "a": 1}, "x": 1})
            )
            .is_empty()
        );
        assert_eq!(pointers(json!({}), json!({"hooks": {}})), ["/hooks"]);
        assert_eq!(pointers(json!({"license": "MIT"}), json!({})), ["/license"]);
        assert_eq!(pointers(json!({"m": {"a/b": "1"}}), json!({"m": {"a/b": 1}})), ["/m/a~1b"]);
        assert_eq!(pointers(json!({"m": [1, 2]}), json!({"m": [2, 1]})), ["/m/0", "/m/1"]);
        assert_eq!(pointers(json!({"m": [1]}), json!({"m": [1, 2]})), ["/m"]);
    }

    #[test]
    fn numbers_compare_by_value_and_yaml_versions_are_named_as_the_cause_h_40() {
        assert!(pointers(json!({"v": 1.0, "w": 10}), json!({"v": 1, "w": 1e1})).is_empty());
        assert!(pointers(json!({"v": 0.0}), json!({"v": -0.0})).is_empty());
        assert_eq!(pointers(json!({"v": 0.0}), json!({"v": 0.5})), ["/v"]);
        assert_eq!(pointers(json!({"v": 1.5}), json!({"v": 2.5})), ["/v"]);
        let large = 1_u64 << 53;
        assert_eq!(pointers(json!({"v": large}), json!({"v": large + 1})), ["/v"]);
        assert_eq!(pointers(json!({"v": u64::MAX}), json!({"v": u64::MAX - 1})), ["/v"]);
        for (listed, found) in [
            (json!(false), json!("no")),
            (json!(10), json!("012")),
            (json!("1.0"), json!(1.0)),
            (json!(10), json!(12)),
        ] {
            let found =
                differences(&frontmatter(json!({"v": listed})), &frontmatter(json!({"v": found})));
            assert!(found[0].cause().is_some_and(|cause| cause.contains("YAML")), "{found:?}");
        }
        for (listed, found) in [
            (json!("a"), json!("b")),
            (json!(true), json!(false)),
            (json!([1]), json!("a")),
            (json!("a"), json!({"b": 1})),
        ] {
            let found =
                differences(&frontmatter(json!({"v": listed})), &frontmatter(json!({"v": found})));
            assert_eq!(found[0].cause(), None, "{found:?}");
        }
    }
}
