//! Names that a reader could take for a protected or popular one.
//!
//! A hub with a hundred thousand skills must not compare a new name with each of them. Each guarded
//! name therefore leaves a few keys ([`guard_keys`]), a new name has a few keys to look for
//! ([`lookup_keys`]), and only names that share a key are compared ([`similarity`]). If two names are one
//! edit apart, one half of the guarded name is unchanged, so each half is a key.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use skillwire_core::SkillName;

use crate::name::SkillId;

/// How a new name is like another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Similarity {
    /// It is the same name in another namespace.
    Same,
    /// It looks the same: `paypal` and `paypa1`, `modern` and `rnodern`, `pdf-tool` and `pdftool`.
    Confusable,
    /// One character is added, removed or replaced, or two neighbours changed places.
    OneEdit,
    /// It is the other name with something appended: `refunds-official`, `refunds2`.
    Suffix,
}

impl Similarity {
    /// Returns the word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Confusable => "confusable",
            Self::OneEdit => "one-edit",
            Self::Suffix => "suffix",
        }
    }
}

/// A guarded name that a new one is like; the text continues "the name".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameConflict {
    /// The skill whose name is guarded.
    pub with: SkillId,
    /// How the new name is like it.
    pub similarity: Similarity,
}

impl fmt::Display for NameConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.similarity {
            Similarity::Same => write!(f, "is that of `{}`", self.with),
            Similarity::Confusable => write!(f, "looks like that of `{}`", self.with),
            Similarity::OneEdit => write!(f, "is one edit away from `{}`", self.with),
            Similarity::Suffix => write!(f, "is `{}` with something appended", self.with),
        }
    }
}

/// Compares a new name with a guarded one.
pub fn similarity(new: &SkillName, guarded: &SkillName) -> Option<Similarity> {
    let (new, guarded) = (new.as_str(), guarded.as_str());
    if new == guarded {
        Some(Similarity::Same)
    } else if skeleton(new) == skeleton(guarded) {
        Some(Similarity::Confusable)
    } else if is_one_edit(new.as_bytes(), guarded.as_bytes()) {
        Some(Similarity::OneEdit)
    } else if has_suffix(new, guarded) {
        Some(Similarity::Suffix)
    } else {
        None
    }
}

/// Returns the keys under which a guarded name is found.
pub fn guard_keys(name: &SkillName) -> BTreeSet<String> {
    let name = name.as_str();
    let (front, back) = name.split_at(name.len() / 2);
    let length = name.len();
    BTreeSet::from([
        format!("name:{name}"),
        format!("looks:{}", skeleton(name)),
        format!("front:{length}:{front}"),
        format!("back:{length}:{back}"),
        format!("letters:{}", sorted(name)),
    ])
}

/// Returns the keys under which every guarded name that is like a new one is found.
pub fn lookup_keys(name: &SkillName) -> BTreeSet<String> {
    let name = name.as_str();
    let mut keys = BTreeSet::from([
        format!("name:{name}"),
        format!("looks:{}", skeleton(name)),
        format!("letters:{}", sorted(name)),
    ]);
    for length in [name.len() - 1, name.len(), name.len() + 1] {
        let front = length / 2;
        let back = length - front;
        if length > 0 && name.len() >= front && name.len() >= back {
            keys.insert(format!("front:{length}:{}", &name[..front]));
            keys.insert(format!("back:{length}:{}", &name[name.len() - back..]));
        }
    }
    keys.extend(stems(name).into_iter().map(|stem| format!("name:{stem}")));
    keys
}

/// What a name looks like at a glance: look-alike characters become one, and hyphens vanish.
fn skeleton(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|c| *c != '-')
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' => 'l',
            '2' => 'z',
            '3' => 'e',
            '5' => 's',
            '8' => 'b',
            '9' => 'g',
            other => other,
        })
        .collect();
    plain.replace("rn", "m").replace("vv", "w").replace("cl", "d")
}

fn sorted(name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

/// The beginnings of a name that it appends something to: parts before a hyphen or before digits.
fn stems(name: &str) -> BTreeSet<&str> {
    let mut stems: BTreeSet<&str> =
        name.match_indices('-').map(|(index, _)| &name[..index]).collect();
    let without_digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if without_digits.len() < name.len() {
        stems.insert(without_digits.trim_end_matches('-'));
    }
    stems.remove("");
    stems
}

/// Names of one or two characters have too many names below them to guard.
fn has_suffix(new: &str, guarded: &str) -> bool {
    guarded.len() > 2 && stems(new).contains(guarded)
}

fn is_one_edit(one: &[u8], other: &[u8]) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    // In names of three characters or fewer, one edit changes too much to be a mistake.
    if long.len() - short.len() > 1 || short.len() < 3 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return *short == long[1..];
    }
    let swapped =
        short.len() > 1 && short[0] == long[1] && short[1] == long[0] && short[2..] == long[2..];
    swapped || short.get(1..) == long.get(1..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> SkillName {
        SkillName::parse(text).unwrap()
    }

    #[test]
    fn names_that_mislead_are_told_from_names_that_do_not() {
        let like = |new: &str, guarded: &str| similarity(&name(new), &name(guarded));
        assert_eq!(like("refunds", "refunds"), Some(Similarity::Same));
        for (new, guarded) in [
            ("paypa1", "paypal"),
            ("rnodern", "modern"),
            ("pdftool", "pdf-tool"),
            ("c1ick", "click"),
        ] {
            assert_eq!(like(new, guarded), Some(Similarity::Confusable), "{new}");
        }
        for new in ["refund", "refundss", "rafunds", "erfunds", "refudns"] {
            assert_eq!(like(new, "refunds"), Some(Similarity::OneEdit), "{new}");
        }
        for new in ["refunds-official", "refunds-v-2", "refunds22", "refunds-22"] {
            assert_eq!(like(new, "refunds"), Some(Similarity::Suffix), "{new}");
        }
        for new in ["payments", "ref", "my-refunds", "refundable", "ab"] {
            assert_eq!(like(new, "refunds"), None, "{new}");
        }
        assert_eq!(like("pd", "pdf"), None);
        assert_eq!(like("a-long-name", "a"), None);
    }

    /// A guarded name, and a new one that was made of it by one step.
    fn pair() -> impl Strategy<Value = (String, String)> {
        ("[a-z][a-z0-9-]{1,14}", 0usize..16, "[a-z0-9-]", 0u8..6).prop_map(|(name, at, c, step)| {
            let at = at % name.len();
            let mut new = name.clone();
            match step {
                0 => new.insert_str(at, &c),
                1 => drop(new.remove(at)),
                2 => new.replace_range(at..=at, &c),
                3 if at > 0 => {
                    let moved = new.remove(at);
                    new.insert(at - 1, moved);
                }
                4 => new = format!("{new}-{c}x"),
                _ => new = new.replace('l', "1").replace('o', "0"),
            }
            (name, new)
        })
    }

    proptest! {
        #[test]
        fn every_similar_pair_shares_a_key((guarded, new) in pair()) {
            let (Ok(guarded), Ok(new)) = (SkillName::parse(&guarded), SkillName::parse(&new)) else {
                return Ok(());
            };
            if similarity(&new, &guarded).is_some() {
                prop_assert!(!guard_keys(&guarded).is_disjoint(&lookup_keys(&new)));
            }
        }
    }
}
