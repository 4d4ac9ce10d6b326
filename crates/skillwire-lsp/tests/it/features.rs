//! What an author sees and can do in an editor.

use serde_json::{Value, json};
use skillwire_core::Code;
use skillwire_lsp::{EditorError, EditorOptions};

use crate::editor::{Editor, edited, renames_to};

const GOOD: &str = "---\nname: refunds\ndescription: Pays back. Use when asked.\n---\n\n# Refunds\n\n\
    See [the policy](references/policy.md#limits).\n\n## Limits\n\nNone.\n";
const POLICY: &str = "# Policy\n\n[Back](../SKILL.md)\n";

fn refunds() -> Editor {
    Editor::new(&[("refunds/SKILL.md", GOOD), ("refunds/references/policy.md", POLICY)])
}

#[test]
fn findings_follow_the_text_while_an_author_types_and_go_when_the_file_is_closed() {
    let editor = refunds();
    editor.open("refunds/SKILL.md");
    editor.change("refunds/SKILL.md", &GOOD.replace("policy.md", "polcy.md"));
    let findings = editor.findings("refunds/SKILL.md");
    let missing = findings.iter().find(|one| one["code"] == "link-missing").unwrap();
    let start = json!({ "line": 7, "character": 17 });
    assert_eq!(missing["range"]["start"], start, "{missing}");
    assert_eq!((&missing["severity"], &missing["source"]), (&json!(2), &json!("skillwire")));
    editor.change("refunds/SKILL.md", GOOD);
    assert!(!editor.codes("refunds/SKILL.md").contains(&"link-missing".to_owned()));
    editor.change("refunds/SKILL.md", "no fence\n");
    assert!(!editor.codes("refunds/SKILL.md").is_empty());
    editor.close("refunds/SKILL.md");
    assert_eq!(editor.findings("refunds/SKILL.md"), Vec::<Value>::new());
    editor.quit().unwrap();
}

#[test]
fn a_finding_of_another_file_of_the_skill_is_shown_at_that_file() {
    let editor = refunds();
    editor.open("refunds/references/policy.md");
    editor.change("refunds/references/policy.md", "[Back](../SKILL.md) [gone](gone.md)\n");
    assert_eq!(editor.codes("refunds/references/policy.md"), ["link-missing", "link-upwards"]);
}

#[test]
fn findings_that_the_author_silenced_are_left_out() {
    let options = || {
        EditorOptions::default().silenced_by(Box::new(|_, file, finding| {
            finding.code == Code::LinkMissing && file.ends_with("SKILL.md")
        }))
    };
    let broken = GOOD.replace("name: refunds", "name: refund").replace("policy.md", "no.md");
    let editor = Editor::with(&[("refunds/SKILL.md", &broken)], options);
    editor.open("refunds/SKILL.md");
    let codes = editor.codes("refunds/SKILL.md");
    assert!(codes.contains(&"name-not-directory".to_owned()), "{codes:?}");
    assert!(!codes.contains(&"link-missing".to_owned()), "{codes:?}");
}

#[test]
fn a_quick_fix_makes_the_repair_of_check_fix() {
    let broken = "---\nname: refunds\ndescription: Pays back: cards. Use when asked.\n---\nText.\n";
    let mut editor = Editor::new(&[("refunds/SKILL.md", broken)]);
    editor.open("refunds/SKILL.md");
    assert!(editor.codes("refunds/SKILL.md").contains(&"yaml-unquoted-colon".to_owned()));
    let uri = editor.uri("refunds/SKILL.md");
    let line =
        json!({ "start": { "line": 2, "character": 0 }, "end": { "line": 2, "character": 30 } });
    let asked =
        json!({ "textDocument": { "uri": uri }, "range": line, "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", asked);
    let fixed = broken
        .replace("Pays back: cards. Use when asked.", "\"Pays back: cards. Use when asked.\"");
    let kinds: Vec<&str> =
        actions.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["quickfix", "source.fixAll"]);
    for action in actions.as_array().unwrap() {
        assert_eq!(edited(broken, &action["edit"], &uri), fixed, "{action}");
    }
}

#[test]
fn keys_of_the_frontmatter_are_completed_with_what_they_mean() {
    let mut editor = Editor::new(&[("refunds/SKILL.md", "---\nname: refunds\nde\n---\n")]);
    editor.open("refunds/SKILL.md");
    let items = editor.ask_at("textDocument/completion", "refunds/SKILL.md", 2, 2);
    let labels: Vec<&str> =
        items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap()).collect();
    assert!(labels.starts_with(&["description", "license"]), "`name` is there already: {labels:?}");
    assert!(labels.contains(&"disable-model-invocation"));
    assert_eq!(items[0]["textEdit"]["newText"], "description: ");
    assert_eq!(items[0]["textEdit"]["range"]["start"]["character"], 0);
}

#[test]
fn files_of_the_skill_are_completed_in_links() {
    let text = "---\nname: refunds\ndescription: Use when asked.\n---\n[a](ref)\n";
    let mut editor =
        Editor::new(&[("refunds/SKILL.md", text), ("refunds/references/policy.md", POLICY)]);
    editor.open("refunds/SKILL.md");
    let items = editor.ask_at("textDocument/completion", "refunds/SKILL.md", 4, 7);
    assert_eq!(items[0]["textEdit"]["newText"], "references/policy.md");
    let outside = editor.ask_at("textDocument/completion", "refunds/SKILL.md", 4, 2);
    assert_eq!(outside, json!([]));
}

#[test]
fn hovering_shows_the_page_of_a_code_and_the_meaning_of_a_key() {
    let broken = GOOD.replace("name: refunds", "name: refund");
    let mut editor = Editor::new(&[("refunds/SKILL.md", &broken)]);
    editor.open("refunds/SKILL.md");
    let page = editor.ask_at("textDocument/hover", "refunds/SKILL.md", 1, 8);
    assert_eq!(page["contents"]["value"], Code::NameNotDirectory.page());
    let key = editor.ask_at("textDocument/hover", "refunds/SKILL.md", 2, 3);
    assert!(key["contents"]["value"].as_str().unwrap().contains("when to use it"), "{key}");
    assert_eq!(editor.ask_at("textDocument/hover", "refunds/SKILL.md", 11, 1), Value::Null);
}

#[test]
fn a_link_leads_to_its_file() {
    let mut editor = refunds();
    editor.open("refunds/SKILL.md");
    let place = editor.ask_at("textDocument/definition", "refunds/SKILL.md", 7, 22);
    assert_eq!(place["uri"], editor.uri("refunds/references/policy.md"));
    let document = json!({ "textDocument": { "uri": editor.uri("refunds/SKILL.md") } });
    let links = editor.ask("textDocument/documentLink", document);
    assert_eq!(links.as_array().unwrap().len(), 1);
}

#[test]
fn renaming_a_file_changes_every_link_to_it_and_keeps_fragments() {
    let mut editor = refunds();
    editor.open("refunds/SKILL.md");
    let ready = editor.ask_at("textDocument/prepareRename", "refunds/SKILL.md", 7, 22);
    assert_eq!(ready["placeholder"], "policy.md");
    let mut asked = editor.place("refunds/SKILL.md", 7, 22);
    asked["newName"] = json!("rules.md");
    let result = editor.ask("textDocument/rename", asked.clone());
    let uri = editor.uri("refunds/SKILL.md");
    assert_eq!(edited(GOOD, &result, &uri), GOOD.replace("policy.md", "rules.md"));
    assert!(renames_to(&result, &editor.path("refunds/references/rules.md")), "{result}");
    for name in ["", "a/b.md", ".."] {
        asked["newName"] = json!(name);
        assert!(!editor.refused("textDocument/rename", asked.clone()).is_empty(), "{name}");
    }
}

#[test]
fn a_file_that_the_editor_moves_takes_its_links_along() {
    let mut editor = refunds();
    editor.open("refunds/SKILL.md");
    let old = editor.uri("refunds/references/policy.md");
    let moved = json!({ "files": [{ "oldUri": old, "newUri": editor.uri("refunds/policy.md") }] });
    let result = editor.ask("workspace/willRenameFiles", moved);
    let skill = editor.uri("refunds/SKILL.md");
    assert_eq!(edited(GOOD, &result, &skill), GOOD.replace("references/policy.md", "policy.md"));
    assert_eq!(edited(POLICY, &result, &old), POLICY.replace("../SKILL.md", "SKILL.md"));
}

#[test]
fn the_outline_has_fields_and_nested_headings() {
    let mut editor = refunds();
    editor.open("refunds/SKILL.md");
    let document = json!({ "textDocument": { "uri": editor.uri("refunds/SKILL.md") } });
    let outline = editor.ask("textDocument/documentSymbol", document);
    let names: Vec<&str> =
        outline.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["name", "description", "Refunds"]);
    assert_eq!(outline[2]["children"][0]["name"], "Limits");
}

#[test]
fn documents_of_no_skill_and_unknown_methods_do_no_harm() {
    let mut editor = Editor::new(&[("notes.md", "# Notes\n"), ("refunds/SKILL.md", GOOD)]);
    editor.open("notes.md");
    assert_eq!(editor.ask_at("textDocument/hover", "notes.md", 0, 1), Value::Null);
    assert!(editor.refused("textDocument/foldingRange", json!({})).contains("no method"));
    assert!(!editor.refused("textDocument/hover", json!({ "nonsense": 1 })).is_empty());
    editor.tell("textDocument/didOpen", json!({ "nonsense": true }));
    editor.open("refunds/SKILL.md");
    editor.change("refunds/SKILL.md", "---\n");
    assert!(!editor.codes("refunds/SKILL.md").is_empty());
    assert!(matches!(editor.vanish(), Err(EditorError::Closed)));
}
