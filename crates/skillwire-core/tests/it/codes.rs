//! Reason codes and the pages that explain them.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use skillwire_core::{Code, Effect, Level};

#[test]
fn every_code_has_a_page_with_the_same_parts() {
    for code in Code::ALL {
        let page = code.page();
        assert!(page.starts_with(&format!("# {code}\n\n")), "{code}: the title");
        for heading in ["\n## Why it matters\n\n", "\n## How to fix it\n\n"] {
            assert_eq!(page.matches(heading).count(), 1, "{code}: {heading:?}");
        }
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{code}: a long line");
        for text in [code.summary(), code.why()] {
            assert!(text.len() > 20 && text.ends_with(['.', '?']), "{code}: {text:?}");
            assert!(!text.contains(['#', '\n']), "{code}: {text:?}");
        }
    }
}

#[test]
fn every_page_belongs_to_a_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("codes");
    let pages: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    assert_eq!(pages, codes);
}

#[test]
fn codes_are_found_by_their_text_and_by_nothing_else() {
    for code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(*code));
    }
    assert_eq!(Code::parse("Unknown-Key"), None);
    assert_eq!(Code::parse(""), None);
}

/// The table of all codes, as it stands in the documentation.
fn table() -> String {
    let mut table =
        String::from("| code | level | served? | what it stands for |\n|---|---|---|---|\n");
    for level in [Level::Error, Level::Warning, Level::Info, Level::Advice] {
        for code in Code::ALL.iter().filter(|code| code.level() == level) {
            let served = match code.effect() {
                Effect::Serve => "yes",
                Effect::SkipWhenStrict => "not with `--strict`",
                Effect::SkipUnlessLenient => "only with `--lenient`",
                Effect::Skip => "no",
            };
            let page = format!("../crates/skillwire-core/codes/{code}.md");
            let (level, summary) = (level.as_str(), code.summary());
            let _ = writeln!(table, "| [`{code}`]({page}) | {level} | {served} | {summary} |");
        }
    }
    table
}

#[test]
fn the_documentation_has_the_table_of_all_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table = table();
    assert!(text.contains(&table), "docs/check.md must hold this table:\n{table}");
}
