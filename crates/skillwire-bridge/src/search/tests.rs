use serde_json::json;

use super::*;

/// A skill with a name and fields, and headings.
fn skill(name: &str, fields: &Value, headings: &str) -> Searched {
    let fields = fields.as_object().expect("fields are an object");
    Searched::new(name, &format!("acme:{name}"), fields).with_headings(headings)
}

fn index(skills: &[Searched]) -> Index {
    Index::new(skills.iter().cloned()).expect("memory can be indexed")
}

fn find(index: &Index, query: &str) -> Vec<usize> {
    index.find(query, 10, |_| true).expect("memory can be searched").best
}

/// The same in the order of the list.
fn found(index: &Index, query: &str) -> Vec<usize> {
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
    let filler: Vec<String> = (0..10_000).map(|n| format!("w{n}")).collect();
    let filler = filler.join(" ");
    assert_eq!(find(&index, &format!("first {filler} later {filler}")), [0]);
    assert_eq!(find(&index, &"first ".repeat(10_000)), [0]);
    assert_eq!(find(&index, &"x".repeat(1_000_000)), [0; 0]);
}

#[test]
fn only_what_is_shown_is_found_and_counted() {
    let none = json!({});
    let all: Vec<Searched> = (0..50).map(|n| skill(&format!("skill-{n}"), &none, "")).collect();
    let index = index(&all);
    let found = index.find("skill", 3, |place| place % 2 == 1).expect("memory can be searched");
    assert_eq!(found, Found { best: vec![1, 3, 5], all: 25 });
}

#[test]
fn no_skills_are_an_index_too() {
    assert_eq!(find(&index(&[]), "anything"), [0; 0]);
}
