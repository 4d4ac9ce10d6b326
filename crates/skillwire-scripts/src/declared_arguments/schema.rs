//! The part of JSON Schema that declarations of arguments may use.
//!
//! A keyword that is not known here makes the schema unusable. Otherwise a constraint that its
//! author relies on would be ignored.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// How deep schemas and values are followed.
const MAX_DEPTH: usize = 16;

/// How many values of a list are named.
const MAX_LISTED: usize = 16;

/// A schema.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Schema {
    #[serde(rename = "type", default)]
    kind: Option<ArgumentKinds>,
    #[serde(default)]
    properties: BTreeMap<String, Schema>,
    #[serde(default)]
    required: Vec<String>,
    additional_properties: Option<bool>,
    items: Option<Box<Schema>>,
    #[serde(rename = "enum")]
    one_of: Option<Vec<Value>>,
    #[serde(rename = "const")]
    constant: Option<Value>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    // Words for readers, which constrain nothing.
    #[serde(rename = "title")]
    _title: Option<Value>,
    #[serde(rename = "description")]
    _description: Option<Value>,
    #[serde(rename = "default")]
    _default: Option<Value>,
    #[serde(rename = "examples")]
    _examples: Option<Value>,
    #[serde(rename = "$schema")]
    _dialect: Option<Value>,
    #[serde(rename = "$comment")]
    _comment: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ArgumentKinds {
    One(ArgumentKind),
    Several(Vec<ArgumentKind>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ArgumentKind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
}

impl ArgumentKind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::String => value.is_string(),
            Self::Integer => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Null => value.is_null(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "text",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Null => "null",
        }
    }
}

impl Schema {
    /// The schema of a field.
    pub(super) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// The names of the fields, in alphabetical order.
    pub(super) fn property_names(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }

    /// Whether only fields that the schema names are allowed.
    pub(super) fn is_closed(&self) -> bool {
        self.additional_properties == Some(false)
    }

    fn kinds(&self) -> &[ArgumentKind] {
        match &self.kind {
            None => &[],
            Some(ArgumentKinds::One(kind)) => std::slice::from_ref(kind),
            Some(ArgumentKinds::Several(kinds)) => kinds,
        }
    }

    /// Whether values are true or false and nothing else, as those of a switch.
    pub(super) fn is_switch(&self) -> bool {
        matches!(self.kinds(), [ArgumentKind::Boolean])
    }

    /// What the values in an array have to be, where values are arrays.
    pub(super) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    pub(super) fn takes_array(&self) -> bool {
        self.kinds().contains(&ArgumentKind::Array) || self.items.is_some()
    }

    /// Reads a word of a command line as a value of the kind that is expected. A word that is no such
    /// value stays text, and does not fit.
    pub(super) fn read_word(&self, word: &str) -> Value {
        let text = || Value::from(word);
        let kinds = self.kinds();
        let listed = self.one_of.as_deref().unwrap_or_default();
        if kinds.contains(&ArgumentKind::String) || listed.contains(&text()) {
            return text();
        }
        let read: Option<Value> = serde_json::from_str(word).ok();
        let fits = |value: &Value| {
            kinds.iter().any(|kind| kind.fits(value))
                || kinds.is_empty() && (listed.contains(value) || self.minimum.is_some())
        };
        read.filter(|value| !value.is_array() && !value.is_object())
            .filter(fits)
            .unwrap_or_else(text)
    }

    /// Says in a few words what a value has to be.
    pub(super) fn words(&self) -> String {
        if let Some(values) = &self.one_of {
            let values: Vec<_> = values.iter().take(MAX_LISTED).map(ToString::to_string).collect();
            return values.join(" or ");
        }
        let kinds: Vec<_> = self.kinds().iter().map(|kind| kind.words()).collect();
        match (kinds.is_empty(), &self.items) {
            (true, None) => "any value".to_owned(),
            (false, None) => kinds.join(" or "),
            (_, Some(items)) => format!("an array of {}", items.words()),
        }
    }

    /// Checks a value; the error names the place and what is expected there.
    pub(super) fn check(&self, value: &Value, place: &str) -> Result<(), String> {
        self.check_at(value, place, 0)
    }

    fn check_at(&self, value: &Value, place: &str, depth: usize) -> Result<(), String> {
        let unless = |fits: bool, problem: String| {
            if fits { Ok(()) } else { Err(format!("`{place}` {problem}")) }
        };
        unless(depth < MAX_DEPTH, "is nested too deep".to_owned())?;
        let kinds = self.kinds();
        let expected: Vec<_> = kinds.iter().map(|kind| kind.words()).collect();
        let fits = kinds.is_empty() || kinds.iter().any(|kind| kind.fits(value));
        unless(fits, format!("is not {}", expected.join(" or ")))?;
        if let Some(values) = &self.one_of {
            let listed = Value::Array(values.clone());
            unless(values.contains(value), format!("is not one of {listed}"))?;
        }
        if let Some(constant) = &self.constant {
            unless(constant == value, format!("is not {constant}"))?;
        }
        match value {
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                let least = self.minimum.unwrap_or(f64::NEG_INFINITY);
                let most = self.maximum.unwrap_or(f64::INFINITY);
                unless(number >= least, format!("is less than {least}"))?;
                unless(number <= most, format!("is more than {most}"))
            }
            Value::String(text) => {
                let length = text.chars().count();
                let least = self.min_length.unwrap_or(0);
                let most = self.max_length.unwrap_or(usize::MAX);
                unless(length >= least, format!("is shorter than {least} characters"))?;
                unless(length <= most, format!("is longer than {most} characters"))
            }
            Value::Array(values) => {
                let least = self.min_items.unwrap_or(0);
                let most = self.max_items.unwrap_or(usize::MAX);
                unless(values.len() >= least, format!("has fewer than {least} values"))?;
                unless(values.len() <= most, format!("has more than {most} values"))?;
                let Some(items) = &self.items else { return Ok(()) };
                values.iter().enumerate().try_for_each(|(index, value)| {
                    items.check_at(value, &format!("{place}[{index}]"), depth + 1)
                })
            }
            Value::Object(fields) => {
                for name in &self.required {
                    unless(fields.contains_key(name), format!("lacks `{name}`"))?;
                }
                for (name, value) in fields {
                    let shown = name.chars().take(64).collect::<String>();
                    let place = format!("{place}.{}", shown.escape_debug());
                    match self.properties.get(name) {
                        Some(schema) => schema.check_at(value, &place, depth + 1)?,
                        None if self.additional_properties == Some(false) => {
                            return Err(format!("`{place}` is not known"));
                        }
                        None => {}
                    }
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }
}
