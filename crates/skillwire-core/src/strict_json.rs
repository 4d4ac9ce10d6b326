//! Reads JSON from servers, and refuses duplicate keys, deep nesting and too many values.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Limits on how much of a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLimits {
    /// Most objects and arrays inside each other.
    pub depth: usize,
    /// Most keys and values together.
    pub nodes: usize,
}

impl JsonLimits {
    /// Limits how deep a value is, and how many keys and values it has.
    pub const fn new(depth: usize, nodes: usize) -> Self {
        Self { depth, nodes }
    }
}

/// The largest integer every JSON reader keeps exactly.
const MAX_EXACT: u64 = 1 << 53;

/// Reads an object in which no object has a key twice, and no integer is one that readers round.
pub fn object(text: &str, limits: JsonLimits) -> Result<Map<String, Value>, serde_json::Error> {
    let nodes = Cell::new(limits.nodes);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = StrictSeed { depth: limits.depth, nodes: &nodes }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(serde_json::Error::custom("not an object")),
    }
}

#[derive(Clone, Copy)]
struct StrictSeed<'a> {
    depth: usize,
    nodes: &'a Cell<usize>,
}

impl StrictSeed<'_> {
    fn inside<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Self { depth, ..self })
    }

    fn count<E: Error>(self) -> Result<(), E> {
        let left = self.nodes.get().checked_sub(1).ok_or_else(|| E::custom("too many values"))?;
        self.nodes.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for StrictSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if value > MAX_EXACT {
            return Err(E::custom("an integer that readers of JSON round"));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > MAX_EXACT {
            return Err(E::custom("an integer that readers of JSON round"));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inside)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.count()?;
            let value = entries.next_value_seed(inside)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{}` twice", key.escape_debug())));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: JsonLimits = JsonLimits::new(4, 20);

    #[test]
    fn duplicate_keys_at_any_depth_are_refused_h_14() {
        assert!(object(r#"{"a":1,"b":{"c":[{"d":1}]}}"#, LIMITS).is_ok());
        for bad in [r#"{"a":1,"a":1}"#, r#"{"a":{"b":1,"b":2}}"#, r#"{"a":[{"\u0062":1,"b":2}]}"#] {
            assert!(object(bad, LIMITS).unwrap_err().to_string().contains("twice"), "{bad}");
        }
    }

    #[test]
    fn every_kind_of_value_is_kept_as_it_is_h_27() {
        let text = r#"{"a":null,"b":true,"c":false,"d":"x","e":"\u0041\n","f":[-1,1.5,7],"g":{}}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::Object(object(text, LIMITS).unwrap()), expected);
    }

    #[test]
    fn depth_and_number_of_values_are_capped_h_27() {
        assert!(object(r#"{"a":[[[]]]}"#, LIMITS).is_ok());
        assert!(object(r#"{"a":[[[[]]]]}"#, LIMITS).is_err());
        assert!(object(&format!(r#"{{"a":[{}0]}}"#, "0,".repeat(20)), LIMITS).is_err());
        assert!(object("[]", LIMITS).is_err());
        assert!(object("{} {}", LIMITS).is_err());
    }

    #[test]
    fn integers_that_would_be_rounded_are_refused_h_27() {
        assert!(
            object(r#"{"a":9007199254740992,"b":-9007199254740992,"c":1e300}"#, LIMITS).is_ok()
        );
        assert!(object(r#"{"a":9007199254740993}"#, LIMITS).is_err());
        assert!(object(r#"{"a":-9007199254740993}"#, LIMITS).is_err());
        assert!(object(r#"{"a":1e999}"#, LIMITS).is_err());
    }
}
