//! Encoding text as file names, reversibly and the same on every file system.
//!
//! A component holds only `a-z`, `0-9`, `-`, `_`, `+`, `=` and `,`. It has no dot, so it is never
//! `..` or `SKILL.md` and has no trailing dot. It has no upper-case letter, so file systems that
//! fold case keep all names apart. It is never the name of a Windows device.

use skillwire_core::{SKILL_FILE, SkillUri};

/// The longest component, in bytes.
const MAX_COMPONENT: usize = 200;

/// Ends every component but the last.
const CONTINUES: char = ',';

/// Device names on Windows, which are reserved with any extension.
const DEVICES: [&str; 22] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "lpt1",
    "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// Encodes a text as one or more path components. Distinct texts give distinct paths, and no path
/// leads through the last component of another.
pub fn encode(text: &str) -> Vec<String> {
    let mut components = Vec::new();
    let mut component = String::new();
    for byte in text.bytes() {
        let token = token(byte);
        // Leaves room for the continuation mark and for escaping a device name.
        if component.len() + token.len() >= MAX_COMPONENT {
            component.push(CONTINUES);
            components.push(std::mem::take(&mut component));
        }
        component.push_str(&token);
    }
    components.push(guard(component));
    components
}

/// Decodes components that [`encode`] wrote, and refuses all others.
pub fn decode<S: AsRef<str>>(components: &[S]) -> Option<String> {
    let (last, first) = components.split_last()?;
    let mut bytes = Vec::new();
    for component in first {
        decode_into(component.as_ref().strip_suffix(CONTINUES)?, &mut bytes)?;
    }
    decode_into(last.as_ref(), &mut bytes)?;
    let text = String::from_utf8(bytes).ok()?;
    let same = encode(&text).iter().map(String::as_str).eq(components.iter().map(AsRef::as_ref));
    same.then_some(text)
}

/// Returns the skill with this root; paths omit the `SKILL.md` that every skill's URI ends in.
pub(super) fn skill_of_root(root: &str) -> Option<SkillUri> {
    SkillUri::parse(&format!("{root}/{SKILL_FILE}")).ok()
}

/// Encodes one byte; a slash, which is frequent in URIs, stays readable.
fn token(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        b'/' => "+".to_owned(),
        _ => format!("={byte:02x}"),
    }
}

/// Escapes the first letter of a device name, and encodes an empty component.
fn guard(component: String) -> String {
    if component.is_empty() {
        return "=".to_owned();
    }
    if DEVICES.contains(&component.as_str()) {
        return format!("={:02x}{}", component.as_bytes()[0], &component[1..]);
    }
    component
}

fn decode_into(component: &str, bytes: &mut Vec<u8>) -> Option<()> {
    if component == "=" {
        return Some(());
    }
    let mut rest = component.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b'/',
            b'=' => nibble(rest.next()?)? << 4 | nibble(rest.next()?)?,
            _ => byte,
        });
    }
    Some(())
}

fn nibble(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uri_stays_readable_hst_13() {
        assert_eq!(encode("acme"), ["acme"]);
        assert_eq!(encode("skill://acme/billing/refunds"), ["skill=3a++acme+billing+refunds"]);
    }

    #[test]
    fn names_that_file_systems_confuse_are_kept_apart_h_67() {
        for (text, name) in [
            ("con", "=63on"),
            ("com1", "=63om1"),
            ("con.txt", "con=2etxt"),
            ("..", "=2e=2e"),
            ("a.", "a=2e"),
            ("A", "=41"),
            ("skill.md", "skill=2emd"),
            ("é", "=c3=a9"),
            ("a__b", "a__b"),
            ("", "="),
        ] {
            assert_eq!(encode(text), [name], "{text:?}");
        }
        assert_ne!(encode("e\u{301}"), encode("é"));
    }

    #[test]
    fn a_long_text_continues_in_further_components_h_67() {
        let long = "a".repeat(1000) + "con";
        let components = encode(&long);
        assert_eq!(components.len(), 6);
        assert!(components.iter().all(|component| component.len() <= MAX_COMPONENT));
        assert_eq!(decode(&components).unwrap(), long);
        // A long text and its beginning have different paths.
        let short = "a".repeat(199);
        assert_eq!(encode(&short).len(), 1);
        assert_ne!(encode(&short)[0], components[0]);
        // A device name at the end of a long text is escaped too.
        let cut = encode(&("a".repeat(199) + "con"));
        assert_eq!(cut[1], "=63on");
    }

    #[test]
    fn only_what_was_encoded_is_decoded_h_67() {
        for foreign in ["", "A", "con", "a.b", "=2E", "=61", "=6", "a,", "=ff", "==", "a b", "../x"]
        {
            assert_eq!(decode(&[foreign]), None, "{foreign:?}");
        }
        assert_eq!(decode::<&str>(&[]), None);
        assert_eq!(decode(&["a,", "b"]), None, "the first is not full");
        assert_eq!(decode(&["a", "b"]), None);
    }

    proptest! {
        #[test]
        fn every_text_comes_back_from_safe_components_h_67(text in "\\PC{0,80}|[a-cA-C./+=,%~:-]{0,600}") {
            let components = encode(&text);
            prop_assert_eq!(decode(&components), Some(text));
            for component in &components {
                prop_assert!((1..=MAX_COMPONENT).contains(&component.len()));
                let safe = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_+=,".contains(&b);
                prop_assert!(component.bytes().all(safe), "{}", component);
                prop_assert!(!DEVICES.contains(&component.as_str()));
            }
            let (_, first) = components.split_last().unwrap();
            prop_assert!(first.iter().all(|component| component.ends_with(CONTINUES)));
        }

        #[test]
        fn labels_and_uris_never_meet_in_one_path_h_67(
            one in ("[a-b_.-]{1,4}", "[a-b_/.:-]{0,6}"),
            two in ("[a-b_.-]{1,4}", "[a-b_/.:-]{0,6}"),
        ) {
            let path = |(label, uri): &(String, String)| [encode(label), encode(uri)].concat().join("/");
            prop_assert_eq!(one == two, path(&one) == path(&two));
        }
    }
}
