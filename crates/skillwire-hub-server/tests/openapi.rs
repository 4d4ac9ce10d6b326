//! The committed description of the API is the one that the code makes, and programs can use it.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

#[test]
fn the_committed_document_is_the_one_that_the_code_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hub-openapi.json");
    let made = skillwire_hub_server::api::openapi_document();
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if made != committed {
        let new = path.with_extension("json.new");
        std::fs::write(&new, &made).expect("the new document can be written");
        panic!(
            "`docs/hub-openapi.json` is out of date; replace it with `docs/hub-openapi.json.new`"
        );
    }
}

/// The operations of the document, each with its path and method.
fn operations<'a>(document: &'a Value) -> Vec<(String, &'a Value)> {
    let paths = document["paths"].as_object().expect("the document has paths");
    let methods = ["get", "put", "post", "delete", "patch"];
    let of_path = |(path, item): (&String, &'a Value)| {
        let named = methods.map(|method| (format!("{method} {path}"), &item[method]));
        named.into_iter().filter(|(_, operation)| operation.is_object())
    };
    paths.iter().flat_map(of_path).collect()
}

fn document() -> Value {
    serde_json::from_str(&skillwire_hub_server::api::openapi_document()).expect("it is JSON")
}

/// Every `$ref` in the document.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
        _ => {}
    }
}

#[test]
fn each_operation_has_a_name_of_its_own() {
    let document = document();
    let mut names = BTreeSet::new();
    for (place, operation) in operations(&document) {
        let name = operation["operationId"].as_str().expect("every operation has a name");
        assert!(names.insert(name), "`{name}` of {place} is the name of another operation too");
    }
    assert!(!names.is_empty());
}

#[test]
fn each_operation_says_how_it_refuses_and_who_may_call_it() {
    let document = document();
    let scheme = &document["components"]["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&"http".into(), &"bearer".into()));
    for (place, operation) in operations(&document) {
        let answers = operation["responses"].as_object().expect("every operation has answers");
        for code in ["400", "401", "403", "404", "429", "503", "default"] {
            assert!(answers.contains_key(code), "{place} has no answer `{code}`");
        }
        let success = |code: &String| code.starts_with('2');
        assert!(answers.keys().any(success), "{place} has no answer to a request that succeeds");
        if !place.starts_with("get ") {
            let required = serde_json::json!([{ "bearer": [] }]);
            assert_eq!(
                operation["security"], required,
                "{place} changes something without a token"
            );
        }
    }
}

#[test]
fn each_answer_is_described() {
    let document = document();
    let named = document["components"]["responses"].as_object().into_iter().flatten();
    let named = named.map(|(name, answer)| (format!("#/components/responses/{name}"), answer));
    let operations = operations(&document);
    let given = operations.iter().flat_map(|(place, operation)| {
        let answers = operation["responses"].as_object().into_iter().flatten();
        answers.map(move |(code, answer)| (format!("{code} of {place}"), answer))
    });
    for (place, answer) in named.chain(given) {
        let description = answer["description"].as_str().unwrap_or_default();
        assert!(
            answer.get("$ref").is_some() || !description.is_empty(),
            "{place} has no description"
        );
    }
}

#[test]
fn each_part_of_a_path_is_described_and_each_reference_leads_somewhere() {
    let document = document();
    for (place, operation) in operations(&document) {
        let parts = place.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let described = parameters.filter(|parameter| parameter["in"] == "path");
        let described: BTreeSet<_> = described.map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(parts.collect::<BTreeSet<_>>(), described, "{place}");
    }
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let place = reference.strip_prefix('#').expect("references stay in the document");
        assert!(document.pointer(place).is_some(), "`{reference}` leads nowhere");
    }
}
