//! Rows of a log as a file to be saved.

use serde_json::Value;
use skillwire_page::{Filled, PageProblem};

/// Writes one object for each line, or the named members of each as a table.
pub(crate) fn exported(
    objects: impl Iterator<Item = Value>,
    names: &[&str],
    format: &str,
) -> Filled<String> {
    match format {
        "jsonl" => Ok(objects.flat_map(|event| [event.to_string(), "\n".to_owned()]).collect()),
        "csv" => {
            let mut text = names.join(",") + "\r\n";
            for event in objects {
                let cells: Vec<String> =
                    names.iter().map(|name| csv_cell(event.get(name))).collect();
                text.push_str(&cells.join(","));
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
    fn exported_cells_are_quoted_and_no_formulas() {
        assert_eq!(csv_cell(Some(&"a\"b".into())), "\"a\"\"b\"");
        assert_eq!(csv_cell(Some(&"=HYPERLINK(\"x\")".into())), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(csv_cell(None), "\"\"");
    }
}
