//! The questions of the picker; tests replace the terminal by buffers.

use std::io::{BufRead, Write};

use serde_json::{Map, Value};
use skillwire_host::{SkillTemplate, context::text::one_line};

use crate::{
    failure::Failure,
    output::{FAINT, STRONG},
};

/// The most values that are shown at once.
const MOST_SHOWN: usize = 20;

/// A request to the server to complete a value.
pub(super) struct CompletionRequest<'a> {
    pub(super) variable: &'a str,
    pub(super) typed: &'a str,
    pub(super) filled: &'a Map<String, Value>,
}

/// Asks for a template and its values, one line at a time.
pub(super) struct TemplatePicker<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> TemplatePicker<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Asks for the number of a template until the answer is valid. A single template is chosen
    /// unasked.
    pub(super) fn choose<'a>(
        &mut self,
        templates: &'a [SkillTemplate],
    ) -> Result<&'a SkillTemplate, Failure> {
        if let [template] = templates {
            return Ok(template);
        }
        loop {
            let typed = self.ask("Number of the template")?;
            let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            if let Some(template) = number.and_then(|number| templates.get(number)) {
                return Ok(template);
            }
            writeln!(
                self.output,
                "  {FAINT}Type a number from 1 to {}.{FAINT:#}",
                templates.len()
            )?;
        }
    }

    /// Asks for one value after the other, and completes what the user typed until it is one of the
    /// values.
    pub(super) async fn fill(
        &mut self,
        template: &SkillTemplate,
        complete: impl AsyncFn(CompletionRequest<'_>) -> Result<Vec<String>, Failure>,
    ) -> Result<Map<String, Value>, Failure> {
        let mut filled = Map::new();
        for variable in template.variables() {
            let mut typed = String::new();
            loop {
                let asked = CompletionRequest { variable, typed: &typed, filled: &filled };
                let values = complete(asked).await?;
                if values.contains(&typed) || (values.is_empty() && !typed.is_empty()) {
                    break;
                }
                self.show(&values)?;
                typed = self.ask(variable)?;
            }
            filled.insert(variable.to_owned(), typed.into());
        }
        Ok(filled)
    }

    fn show(&mut self, values: &[String]) -> Result<(), Failure> {
        let shown: Vec<_> = values.iter().take(MOST_SHOWN).map(|value| one_line(value)).collect();
        if !shown.is_empty() {
            let more = if values.len() > MOST_SHOWN { ", …" } else { "" };
            writeln!(self.output, "  {FAINT}{}{more}{FAINT:#}", shown.join(", "))?;
        }
        Ok(())
    }

    /// Asks for one line. An empty line ends the command.
    fn ask(&mut self, what: &str) -> Result<String, Failure> {
        write!(self.output, "{STRONG}{}{STRONG:#}: ", one_line(what))?;
        self.output.flush()?;
        let mut typed = String::new();
        self.input.read_line(&mut typed)?;
        match typed.trim() {
            "" => Err(Failure::usage("Nothing was chosen.")),
            typed => Ok(typed.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(texts: &[&str]) -> Vec<SkillTemplate> {
        texts.iter().map(|text| SkillTemplate::parse(text, "x", None).unwrap()).collect()
    }

    /// The screen after the user typed this, without colours, and the result.
    fn picked(
        texts: &[&str],
        typed: &str,
        complete: impl AsyncFn(CompletionRequest<'_>) -> Result<Vec<String>, Failure>,
    ) -> (String, Result<String, Failure>) {
        let templates = templates(texts);
        let mut seen = anstream::StripStream::new(Vec::new());
        let mut picker = TemplatePicker::new(typed.as_bytes(), &mut seen);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let values = runtime.block_on(async {
            let template = picker.choose(&templates)?;
            let values = picker.fill(template, complete).await?;
            Ok(Value::from(values).to_string())
        });
        (String::from_utf8(seen.into_inner()).unwrap(), values)
    }

    const TWO: &str = "skill://acme/{domain}/{workflow}/SKILL.md";

    #[test]
    fn each_variable_is_completed_with_what_was_chosen_before_d12() {
        let complete = async |asked: CompletionRequest<'_>| {
            let all: &[&str] = match (asked.variable, asked.filled.get("domain")) {
                ("domain", None) => &["billing", "support"],
                ("workflow", Some(domain)) if domain == "billing" => &["refunds", "reports"],
                _ => panic!("asked in another order"),
            };
            let fits = all.iter().filter(|value| value.starts_with(asked.typed));
            Ok(fits.map(|value| (*value).to_owned()).collect())
        };
        let (seen, values) = picked(&[TWO], "billing\nre\nrefunds\n", complete);
        assert_eq!(values.unwrap(), r#"{"domain":"billing","workflow":"refunds"}"#);
        let expected = "  billing, support\ndomain:   refunds, reports\nworkflow:   refunds, \
                        reports\nworkflow: ";
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_number_that_is_none_is_asked_for_again_and_nothing_ends_it_d12() {
        let nothing = async |_: CompletionRequest<'_>| Ok(Vec::new());
        let texts = ["skill://docs/{product}/SKILL.md", "skill://{+path}/SKILL.md"];
        let (seen, values) = picked(&texts, "0\n3\nx\n2\na/b\n", nothing);
        assert_eq!(values.unwrap(), r#"{"path":"a/b"}"#);
        assert_eq!(seen.matches("Type a number from 1 to 2.").count(), 3, "{seen}");
        for ended in ["", "\n", "1\n", "1\n\n"] {
            let error = picked(&texts, ended, nothing).1.unwrap_err();
            assert!(format!("{error:?}").contains("Nothing was chosen."), "{ended:?}");
        }
    }

    #[test]
    fn values_cannot_draw_on_the_terminal_and_are_not_all_shown_d12() {
        let complete = async |asked: CompletionRequest<'_>| match asked.typed {
            "" => Ok((0..100).map(|n| format!("\u{1b}[2Jvalue\n{n}")).collect()),
            typed => Ok(vec![typed.to_owned()]),
        };
        let (seen, values) = picked(&["skill://{name}/SKILL.md"], "mine\n", complete);
        assert_eq!(values.unwrap(), r#"{"name":"mine"}"#);
        assert!(!seen.contains('\u{1b}') && seen.lines().count() == 2, "{seen:?}");
        assert!(seen.contains("19, …") && !seen.contains("20, …"), "{seen}");
    }
}
