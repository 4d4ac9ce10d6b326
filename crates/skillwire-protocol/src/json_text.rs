//! Takes JSON objects apart and puts them together again, with each value as it was written.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of an object in their order, each value as it was written.
#[derive(Debug)]
pub struct RawObject<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawMembers;

        impl<'de> Visitor<'de> for RawMembers {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if members.iter().any(|(other, _)| *other == name) {
                        return Err(serde::de::Error::custom("the same member twice"));
                    }
                    members.push((name, map.next_value()?));
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(RawMembers)
    }
}

/// Reads the members of an object; none if the text is no object or repeats a member.
pub fn object(text: &str) -> Option<RawObject<'_>> {
    serde_json::from_str(text).ok()
}

/// An object that is being written.
#[derive(Debug)]
pub struct ObjectText(String);

impl Default for ObjectText {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectText {
    /// Begins an object.
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member whose value is JSON.
    pub fn member(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&string(name));
        self.0.push(':');
        self.0.push_str(json);
    }

    /// Ends the object and returns its text.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Writes a text as a JSON string.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a value as it was written, without the white space around its parts. A message on a pipe
/// is one line, so a line break inside a value would cut it in two.
pub fn compact(raw: &RawValue) -> String {
    let mut compact = String::with_capacity(raw.get().len());
    let (mut quoted, mut escaped) = (false, false);
    for c in raw.get().chars() {
        if quoted {
            (quoted, escaped) = (c != '"' || escaped, c == '\\' && !escaped);
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            quoted = c == '"';
        }
        compact.push(c);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compacted(text: &str) -> String {
        compact(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn only_white_space_between_parts_goes_away_gw_07() {
        let text = "{ \"a b\" :\n[1.0,\t1e2 , -0.50],\r\n \"q\\\" x\\\\\" : \" \\n } \" }";
        assert_eq!(compacted(text), r#"{"a b":[1.0,1e2,-0.50],"q\" x\\":" \n } "}"#);
    }

    #[test]
    fn members_keep_their_order_and_occur_once() {
        let RawObject(members) = object(r#"{"b":1,"a":{"c":2.50}}"#).unwrap();
        let members: Vec<_> = members.iter().map(|(name, raw)| (&**name, raw.get())).collect();
        assert_eq!(members, [("b", "1"), ("a", r#"{"c":2.50}"#)]);
        for bad in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":1}"#, "[1]", "1"] {
            assert!(object(bad).is_none(), "{bad}");
        }
    }
}
