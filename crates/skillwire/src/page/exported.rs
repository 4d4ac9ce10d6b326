//! Rows of a log as a file to be saved.

use serde_json::{Value, json};
use skillwire_page::{Filled, PageProblem};

/// Writes one object for each line, or the named members of each as a table. With `left_out`, the last line
/// says that the log has more than that.
pub(crate) fn exported(
    objects: impl Iterator<Item = Value>,
    names: &[&str],
    format: &str,
    left_out: Option<String>,
) -> Filled<String> {
    match format {
        "jsonl" => {
            let note = left_out.map(|note| json!({ "note": note }));
            Ok(objects.chain(note).flat_map(|it| [it.to_string(), "\n".to_owned()]).collect())
        }
        "csv" => {
            let mut text = names.join(",") + "\r\n";
            for event in objects {
                let cells: Vec<String> =
                    names.iter().map(|name| csv_cell(event.get(name))).collect();
                text.push_str(&cells.join(","));
                text.push_str("\r\n");
            }
            if let Some(note) = left_out {
                text.push_str(&csv_cell(Some(&note.into())));
                text.push_str("\r\n");
            }
            Ok(text)
        }
        _ => Err(PageProblem::NotFound),
    }
}

/// A cell that no spreadsheet takes for a formula.
fn csv_cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_leaves_something_out_says_so_in_its_last_line() {
        let export = |format, note: Option<&str>| {
            let rows = [json!({"time": "now", "more": 1})].into_iter();
            exported(rows, &["time"], format, note.map(str::to_owned)).unwrap()
        };
        assert_eq!(export("csv", None), "time\r\n\"now\"\r\n");
        assert_eq!(export("csv", Some("and more")), "time\r\n\"now\"\r\n\"and more\"\r\n");
        assert_eq!(export("jsonl", None).lines().count(), 1);
        assert_eq!(
            export("jsonl", Some("and more")).lines().last(),
            Some(r#"{"note":"and more"}"#)
        );
    }

    #[test]
    fn exported_cells_are_quoted_and_no_formulas() {
        assert_eq!(csv_cell(Some(&"a\"b".into())), "\"a\"\"b\"");
        assert_eq!(csv_cell(Some(&"=HYPERLINK(\"x\")".into())), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(csv_cell(None), "\"\"");
    }
}
