use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{skill_text::FIELD_BOOSTS, words::for_each_word};

/// A skill with a name and fields, and headings.
fn skill(name: &str, fields: &Value, headings: &str) -> SkillText {
    let fields = fields.as_object().expect("fields are an object");
    SkillText::new(name, &format!("acme:{name}"), fields).with_headings(headings)
}

fn index(skills: &[SkillText]) -> SearchIndex {
    skills.iter().cloned().collect()
}

fn find(index: &SearchIndex, query: &str) -> Vec<usize> {
    index.search(query, 10, |_| true).best
}

/// The same in the order of the list.
fn found(index: &SearchIndex, query: &str) -> Vec<usize> {
    let mut found = find(index, query);
    found.sort_unstable();
    found
}

#[test]
fn a_name_counts_more_than_a_tag_a_description_and_a_heading() {
    let plain = json!({ "description": "Does things." });
    let index = index(&[
        skill("one", &plain, "Refunds\n"),
        skill("two", &json!({ "description": "Handles a refund." }), ""),
        skill("three", &json!({ "description": "Does things.", "tags": ["refund"] }), ""),
        skill("refunds", &plain, ""),
        skill("four", &json!({ "metadata": { "tags": "weather" } }), ""),
    ]);
    assert_eq!(find(&index, "refund"), [3, 2, 1, 0]);
    assert_eq!(find(&index, "weather"), [4]);
    assert_eq!(found(&index, "acme"), [0, 1, 2, 3, 4], "the server is found as well");
}

#[test]
fn the_last_word_may_be_unfinished_and_a_whole_one_comes_first() {
    let none = json!({});
    let index = index(&[
        skill("invoicing", &none, ""),
        skill("invoice", &none, ""),
        skill("in", &none, ""),
    ]);
    assert_eq!(find(&index, "invoic"), [0, 1]);
    assert_eq!(find(&index, "invoice"), [1]);
    assert_eq!(find(&index, "in"), [2, 0, 1]);
    assert_eq!(find(&index, "i"), [0; 0], "one letter begins too much");
    assert_eq!(find(&index, "invoic foo"), [0; 0], "only the last one is being typed");
}

#[test]
fn a_query_has_no_language_of_its_own() {
    let none = json!({});
    let index = index(&[
        skill("and-or-not", &none, ""),
        skill("alpha", &none, ""),
        skill("beta", &none, ""),
    ]);
    assert_eq!(found(&index, "alpha AND beta"), [0, 1, 2], "`AND` is a word like others");
    assert_eq!(found(&index, "NOT alpha"), [0, 1]);
    assert_eq!(found(&index, "-alpha +\"beta\" (alpha)"), [1, 2]);
    assert_eq!(found(&index, "name:alpha"), [1]);
    for nothing in
        ["*", "name:*", "al*ha~2", "[a TO z]", "^", "\"", "\\", "", " ", "\0", "\u{202e}"]
    {
        assert_eq!(found(&index, nothing), [0; 0], "{nothing:?}");
    }
}

#[test]
fn a_long_query_costs_no_more_than_its_first_words() {
    let none = json!({});
    let index = index(&[skill("first", &none, ""), skill("later", &none, "")]);
    let filler = (0..10_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    assert_eq!(find(&index, &format!("first {filler} later {filler}")), [0]);
    assert_eq!(find(&index, &"first ".repeat(10_000)), [0]);
    assert_eq!(find(&index, &"x".repeat(1_000_000)), [0; 0]);
}

#[test]
fn only_what_is_shown_is_found_and_counted() {
    let none = json!({});
    let all: Vec<SkillText> = (0..50).map(|n| skill(&format!("skill-{n}"), &none, "")).collect();
    let index = index(&all);
    let found = index.search("skill", 3, |place| place % 2 == 1);
    assert_eq!(found, SearchHits { best: vec![1, 3, 5], total: 25 });
    let counted = index.search("skill", 0, |_| true);
    assert_eq!(counted, SearchHits { best: Vec::new(), total: 50 });
}

#[test]
fn no_skills_are_an_index_too() {
    assert_eq!(find(&index(&[]), "anything"), [0; 0]);
}

#[test]
fn rare_words_and_short_fields_come_first() {
    let described = |text: &str| json!({ "description": text });
    let index = index(&[
        skill(
            "a",
            &described("Writes a report about sales, costs, taxes and many other things"),
            "",
        ),
        skill("b", &described("Writes a report"), ""),
        skill("c", &described("Writes a ledger"), ""),
        skill("d", &described("Writes a report about a report"), ""),
    ]);
    assert_eq!(find(&index, "report ledger"), [2, 3, 1, 0]);
}

#[test]
fn beginnings_of_words_are_found_in_every_script() {
    let none = json!({});
    let names = ["über-setzer", "возврат", "반환", "zebra", "zebu"];
    let index = index(&names.map(|name| skill(name, &none, "")));
    for (query, expected) in
        [("UBER", vec![0]), ("ВОЗ", vec![1]), ("반", vec![2]), ("zeb", vec![3, 4]), ("zz", vec![])]
    {
        assert_eq!(find(&index, query), expected, "{query}");
    }
}

/// Every score as BM25 defines it, computed by looking at every skill.
fn plain_scores(skills: &[SkillText], query: &str) -> Vec<f64> {
    let split = |text: &str| {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word.to_owned()));
        words
    };
    let asked = split(query);
    let fields: Vec<[Vec<String>; FIELDS]> =
        skills.iter().map(|skill| skill.fields().map(split)).collect();
    let count = |number: usize| f64::from(u32::try_from(number).unwrap());
    let score = |skill: &[Vec<String>; FIELDS]| {
        let mut sum = 0.0;
        for (field, boost) in FIELD_BOOSTS.iter().enumerate() {
            let words = fields.iter().map(|skill| skill[field].len()).sum();
            let average = count(words) / count(skills.len());
            for word in asked.iter().collect::<BTreeSet<_>>() {
                let having = fields.iter().filter(|skill| skill[field].contains(word)).count();
                let rarity = count(skills.len() - having) + 0.5;
                let rarity = (1.0 + rarity / (count(having) + 0.5)).ln();
                let often = count(skill[field].iter().filter(|other| *other == word).count());
                if often > 0.0 {
                    let length = count(skill[field].len()) / average;
                    sum += boost * rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length));
                }
            }
            let begins = |word: &String| {
                asked.last().is_some_and(|last| {
                    last.len() > 1 && word != last && word.starts_with(last.as_str())
                })
            };
            if skill[field].iter().any(begins) {
                sum += boost * 0.5;
            }
        }
        sum
    };
    fields.iter().map(score).collect()
}

proptest! {
    #[test]
    fn index_ranks_like_bm25_that_looks_at_every_skill(
        skills in prop::collection::vec(("[a-c]{1,3}", "([a-d]{1,3} ){0,12}", "([a-c]{2} ){0,3}"), 1..20),
        query in "([a-d]{1,3} ){1,4}",
    ) {
        let skills: Vec<SkillText> = skills
            .iter()
            .map(|(name, text, headings)| skill(name, &json!({ "description": text }), headings))
            .collect();
        let scores = plain_scores(&skills, &query);
        let hits = index(&skills).search(&query, skills.len(), |_| true);
        let found: BTreeSet<_> = hits.best.iter().copied().collect();
        let expected: BTreeSet<_> = (0..skills.len()).filter(|place| scores[*place] > 0.0).collect();
        prop_assert_eq!(found, expected);
        // Scores are stored in steps, of which there are 65,535.
        let step = 0.01;
        for pair in hits.best.windows(2) {
            prop_assert!(scores[pair[0]] > scores[pair[1]] - step, "{:?} {:?}", scores, hits.best);
        }
    }

    #[test]
    fn any_text_can_be_indexed_and_searched(texts in prop::collection::vec(".{0,40}", 0..10), query in ".*") {
        let skills: Vec<SkillText> =
            texts.iter().map(|text| skill(text, &json!({ "tags": text }), text)).collect();
        let index = index(&skills);
        let hits = index.search(&query, 5, |_| true);
        prop_assert!(hits.best.len() <= 5 && hits.best.len() <= hits.total);
        prop_assert!(hits.total <= skills.len());
    }
}
