//! The catalogue that models read before they load anything, within a number of characters.
//!
//! It has three tiers. While they fit, each skill has its handle and the beginning of its
//! description. Otherwise there are only names, and each origin has the same share of the room, so
//! that one server with thousands of skills cannot push out the others. If not even one name for
//! each origin fits, there is one line with the numbers.

use std::fmt::Write as _;

use skillwire_host::context::text::one_line_within;
use skillwire_trust::{Origin, RegistryItem};

/// The lengths to which descriptions are cut, the longest that fits first.
const DESCRIPTIONS: [usize; 4] = [120, 90, 60, 40];

/// The most characters of a handle.
const MAX_HANDLE: usize = 200;

/// Writes the catalogue of skills within `room` characters; an empty text without skills.
pub(crate) fn render<'a>(items: impl Iterator<Item = &'a RegistryItem>, room: usize) -> String {
    let mut items: Vec<&RegistryItem> = items.collect();
    items.sort_by(|a, b| (rank(a), &a.handle).cmp(&(rank(b), &b.handle)));
    if items.is_empty() {
        return String::new();
    }
    let described = DESCRIPTIONS.into_iter().find_map(|most| describe(&items, most, room));
    described.unwrap_or_else(|| {
        let sections: Vec<&[&RegistryItem]> =
            items.chunk_by(|a, b| a.skill.id().origin == b.skill.id().origin).collect();
        names(&sections, room)
    })
}

/// Writes only names, within `room` characters; an empty text without skills.
pub(crate) fn render_names<'a>(
    items: impl Iterator<Item = &'a RegistryItem>,
    room: usize,
) -> String {
    let mut items: Vec<&RegistryItem> = items.collect();
    items.sort_by(|a, b| (rank(a), &a.handle).cmp(&(rank(b), &b.handle)));
    let sections: Vec<&[&RegistryItem]> =
        items.chunk_by(|a, b| a.skill.id().origin == b.skill.id().origin).collect();
    if sections.is_empty() { String::new() } else { names(&sections, room) }
}

/// One line for each skill with its description cut to `most` characters, if all of them fit.
fn describe(items: &[&RegistryItem], most: usize, room: usize) -> Option<String> {
    let mut text = "Skills:".to_owned();
    let mut left = room.checked_sub(text.len())?;
    for item in items {
        let handle = one_line_within(&item.handle, MAX_HANDLE);
        let description = one_line_within(item.skill.entry().frontmatter.description(), most);
        let line = format!("\n- {handle}: {description}");
        left = left.checked_sub(line.chars().count())?;
        text.push_str(&line);
    }
    Some(text)
}

/// One line for each origin with as many names as its share of the room allows.
fn names(sections: &[&[&RegistryItem]], room: usize) -> String {
    let head = "Skills (write `origin:name`; `list_skills` describes them):";
    // The rest of a line that is cut: the label and how many more there are.
    let overhead = |section: &[&RegistryItem]| {
        section.first().map_or(0, |item| item.skill.id().origin.label().chars().count()) + 28
    };
    let fixed = head.len() + sections.iter().map(|section| overhead(section)).sum::<usize>();
    let Some(mut left) = room.checked_sub(fixed) else { return counts(sections, room) };
    let names_of = |section: &[&RegistryItem]| -> Vec<String> {
        section.iter().map(|item| name(item)).collect()
    };
    let all: Vec<Vec<String>> = sections.iter().map(|section| names_of(section)).collect();
    let mut shown = vec![0_usize; all.len()];
    // One more name for each origin in turn, until none fits.
    loop {
        let mut grown = false;
        for (names, shown) in all.iter().zip(&mut shown) {
            let Some(next) = names.get(*shown) else { continue };
            let Some(rest) = left.checked_sub(next.chars().count() + 2) else { continue };
            left = rest;
            *shown += 1;
            grown = true;
        }
        if !grown {
            break;
        }
    }
    if shown.contains(&0) {
        return counts(sections, room);
    }
    let mut text = head.to_owned();
    for ((section, names), shown) in sections.iter().zip(&all).zip(&shown) {
        let Some(first) = section.first() else { continue };
        let label = first.skill.id().origin.label();
        let _ = write!(text, "\n{label}: {}", names[..*shown].join(", "));
        if *shown < names.len() {
            let _ = write!(text, " and {} more", names.len() - shown);
        }
    }
    text
}

/// The number of skills of each origin, or of all of them if there are too many origins.
fn counts(sections: &[&[&RegistryItem]], room: usize) -> String {
    let all: usize = sections.iter().map(|section| section.len()).sum();
    let mut text = format!("There are {all} skills; `list_skills` finds them.");
    let of_each = sections.iter().filter_map(|section| {
        let origin = section.first()?.skill.id().origin.label();
        Some(format!("{origin} {}", section.len()))
    });
    let of_each = of_each.collect::<Vec<_>>().join(", ");
    if text.len() + of_each.len() + 12 <= room {
        let _ = write!(text, " By origin: {of_each}.");
    }
    text
}

/// The handle without its origin.
fn name(item: &RegistryItem) -> String {
    let label = item.skill.id().origin.label();
    let handle = item.handle.strip_prefix(label).and_then(|rest| rest.strip_prefix(':'));
    one_line_within(handle.unwrap_or(&item.handle), MAX_HANDLE)
}

/// Orders origins: the project's folders, the user's folders, then servers by label.
fn rank(item: &RegistryItem) -> (u8, &str) {
    match &item.skill.id().origin {
        Origin::Project => (0, ""),
        Origin::Local => (1, ""),
        Origin::Server(label) => (2, label.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillwire_core::received::{self, EntryLimits};
    use skillwire_trust::{EntrySource, ListedSkill, Registry};

    use super::*;

    fn registry(skills: &[(&str, usize)]) -> Registry {
        let listed = skills.iter().flat_map(|(label, count)| {
            (0..*count).map(move |n| {
                let description = "Profiles tables and writes what it found. ".repeat(5);
                let entry = json!({
                    "uri": format!("skill://{label}/s{n:05}/SKILL.md"),
                    "frontmatter": { "name": format!("s{n:05}"), "description": description },
                    "resources": "dynamic",
                });
                let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
                let origin = Origin::parse(label).unwrap();
                ListedSkill::new(origin, entry.into(), EntrySource::Named)
            })
        });
        Registry::new(listed)
    }

    fn rendered(skills: &[(&str, usize)], room: usize) -> String {
        let registry = registry(skills);
        let text = render(registry.items().iter(), room);
        assert!(text.chars().count() <= room, "{} of {room}: {text}", text.chars().count());
        text
    }

    #[test]
    fn the_catalogue_degrades_to_names_and_then_to_counts_cl_04() {
        let few = rendered(&[("acme", 10)], 3_400);
        assert!(few.contains("\n- acme:s00009: Profiles tables"), "{few}");
        let many = rendered(&[("acme", 200)], 3_400);
        assert!(many.contains("\nacme: s00000, s00001, ") && many.contains("s00199"), "{many}");
        let more = rendered(&[("acme", 10_000)], 3_400);
        assert!(more.contains("s00300") && more.contains(" more"), "{more}");
        assert_eq!(
            rendered(&[("acme", 10_000), ("beta", 3)], 100),
            "There are 10003 skills; `list_skills` finds them. By origin: acme 10000, beta 3."
        );
        assert_eq!(rendered(&[], 100), "");
    }

    #[test]
    fn each_origin_has_its_share_of_the_catalogue_sec_11() {
        let text = rendered(&[("flood", 3_000), ("small", 5)], 900);
        assert!(text.contains("\nsmall: s00000, s00001, s00002, s00003, s00004"), "{text}");
        assert!(text.contains("\nflood: s00000, "), "{text}");
    }
}
