//! D12: resource templates that lead to skills, and the completion of their variables.
//!
//! Templates are for the user's picker. A client fills one in with what the user chose and reads
//! the resulting URI; it never walks them by itself.

use serde::Serialize;
use serde_json::{Map, Value, json};
use skillwire_core::{
    SkillUri,
    strict_json::{self, JsonLimits},
};

use crate::{Dialect, InvalidDocument};

/// The method that completes a variable.
pub const COMPLETE: &str = "completion/complete";

/// The most values that one completion has.
pub const MAX_VALUES: usize = 100;

/// The longest value that is put into a template.
const MAX_VALUE_BYTES: usize = 256;

/// A template of `resources/templates/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedTemplate<'a> {
    /// The template.
    #[serde(rename = "uriTemplate")]
    pub uri: &'a str,
    /// The name of the template.
    pub name: &'a str,
    /// The description of what the template leads to.
    pub description: &'a str,
    /// The media type of what it leads to, where that is always the same.
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<&'a str>,
}

impl ListedTemplate<'_> {
    /// Tells whether the template has a variable.
    pub fn has_variable(&self, name: &str) -> bool {
        let parts = [format!("{{{name}}}"), format!("{{+{name}}}")];
        parts.iter().any(|part| self.uri.contains(part.as_str()))
    }
}

/// The templates that older dialects have, each with its dialect.
pub const OF_DIALECTS: [(Dialect, ListedTemplate<'static>); 5] = [
    (
        Dialect::Skilljack,
        ListedTemplate {
            uri: "skill://{skillName}",
            name: "skill-by-name",
            description: "The instructions of one skill, by its name.",
            media_type: Some("text/markdown"),
        },
    ),
    (
        Dialect::Skilljack,
        ListedTemplate {
            uri: "skill://{skillName}/",
            name: "skill-collection",
            description: "All other files of one skill.",
            media_type: None,
        },
    ),
    (
        Dialect::Skilljack,
        ListedTemplate {
            uri: "skill://{skillName}/{+filePath}",
            name: "skill-file-by-name",
            description: "One file of a skill, by the skill's name.",
            media_type: None,
        },
    ),
    (
        Dialect::SkillsOverMcp,
        ListedTemplate {
            uri: "skill://lookup/{name}",
            name: "skill-lookup",
            description: "The instructions of one skill, by its name.",
            media_type: Some("text/markdown"),
        },
    ),
    (
        Dialect::SkillsOverMcp,
        ListedTemplate {
            uri: "skill://{skillName}/document/{+documentPath}",
            name: "skill-document",
            description: "One other file of a skill.",
            media_type: None,
        },
    ),
];

/// A template whose URIs are those of `SKILL.md` files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillTemplate {
    /// The template, as the server wrote it.
    pub template: String,
    /// The name that the server gives it.
    pub name: String,
    /// The server's description of it.
    pub description: Option<String>,
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Variable {
        name: String,
        /// Whether its value may have several segments.
        several: bool,
    },
}

/// A template that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFilled {
    /// A value could make the URI lead to another place.
    #[error("`{}` is not a plain value for `{variable}`", value.escape_debug())]
    Value {
        /// The variable.
        variable: String,
        /// The value.
        value: String,
    },
    /// The result is not the URI of a skill.
    #[error("`{uri}` {problem}")]
    Uri {
        /// The result.
        uri: String,
        /// What is wrong with it; reads on from "the URI".
        problem: String,
    },
}

impl SkillTemplate {
    /// Reads a template that ends in `/SKILL.md`; others are of no use to a picker of skills.
    pub fn parse(template: &str, name: &str, description: Option<&str>) -> Option<Self> {
        template.strip_prefix("skill://")?.strip_suffix("/SKILL.md")?;
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((text, after)) = rest.split_once('{') {
            let (variable, after) = after.split_once('}')?;
            let (several, variable) = match variable.strip_prefix('+') {
                Some(variable) => (true, variable),
                None => (variable.ends_with('*'), variable.trim_end_matches('*')),
            };
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if variable.is_empty() || !variable.bytes().all(plain) {
                return None;
            }
            parts.push(TemplatePart::Text(text.to_owned()));
            parts.push(TemplatePart::Variable { name: variable.to_owned(), several });
            rest = after;
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        Some(Self {
            template: template.to_owned(),
            name: name.to_owned(),
            description: description.map(str::to_owned),
            parts,
        })
    }

    /// Returns the variables, in the order in which they are filled in.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable { name, .. } => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Fills in the variables; a value that could lead elsewhere is refused.
    pub fn fill(&self, values: &Map<String, Value>) -> Result<SkillUri, NotFilled> {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => uri.push_str(text),
                TemplatePart::Variable { name, several } => {
                    let value = values.get(name).and_then(Value::as_str).unwrap_or_default();
                    let fits =
                        if *several { value.split('/').all(is_plain) } else { is_plain(value) };
                    if !fits || value.len() > MAX_VALUE_BYTES {
                        let value = value.to_owned();
                        return Err(NotFilled::Value { variable: name.clone(), value });
                    }
                    uri.push_str(value);
                }
            }
        }
        let parsed = SkillUri::parse(&uri);
        parsed.map_err(|error| NotFilled::Uri { uri, problem: error.to_string() })
    }

    /// Returns the parameters that ask a server to complete a variable, given the values filled in
    /// so far.
    pub fn completion_params(
        &self,
        variable: &str,
        typed: &str,
        filled: &Map<String, Value>,
    ) -> Map<String, Value> {
        let reference = json!({ "type": "ref/resource", "uri": self.template });
        Map::from_iter([
            ("ref".to_owned(), reference),
            ("argument".to_owned(), json!({ "name": variable, "value": typed })),
            ("context".to_owned(), json!({ "arguments": filled })),
        ])
    }
}

/// Tells whether a segment needs no encoding and leads nowhere else.
fn is_plain(segment: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    !matches!(segment, "" | "." | "..") && segment.chars().all(plain)
}

/// One page of `resources/templates/list`, as far as it leads to skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePage {
    /// The templates that lead to skills.
    pub templates: Vec<SkillTemplate>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

impl TemplatePage {
    /// Reads a page.
    pub fn read(text: &str) -> Result<Self, InvalidDocument> {
        let limits = JsonLimits::new(16, 100_000);
        let page = strict_json::object(text, limits)?;
        let templates = page.get("resourceTemplates").and_then(Value::as_array);
        let text = |value: &'_ Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let parsed = templates.into_iter().flatten().filter_map(|template| {
            let description = text(template, "description");
            let description = Some(description.as_str()).filter(|text| !text.is_empty());
            SkillTemplate::parse(
                &text(template, "uriTemplate"),
                &text(template, "name"),
                description,
            )
        });
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { templates: parsed.collect(), next })
    }
}

/// Reads the values in an answer to `completion/complete`; an answer without any has none.
pub fn read_completion(text: &str) -> Vec<String> {
    let limits = JsonLimits::new(16, 10_000);
    let answer = strict_json::object(text, limits).unwrap_or_default();
    let values = answer.get("completion").and_then(|completion| completion.get("values"));
    let values = values.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).take(MAX_VALUES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, values: &Value) -> Result<String, NotFilled> {
        let template = SkillTemplate::parse(template, "x", None).unwrap();
        template.fill(values.as_object().unwrap()).map(|uri| uri.to_string())
    }

    #[test]
    fn templates_are_filled_in_and_lead_nowhere_else_d12() {
        let two = "skill://acme/{domain}/{workflow}/SKILL.md";
        let uri = filled(two, &json!({ "domain": "billing", "workflow": "refunds" }));
        assert_eq!(uri.unwrap(), "skill://acme/billing/refunds/SKILL.md");
        let path = filled("skill://{+path}/SKILL.md", &json!({ "path": "a/b/refunds" }));
        assert_eq!(path.unwrap(), "skill://a/b/refunds/SKILL.md");
        for bad in ["", ".", "..", "a/b", "a%2Fb", "%2e%2e", "a?b", "a#b", "a b", "ü"] {
            let values = json!({ "domain": bad, "workflow": "refunds" });
            let refused = filled(two, &values).unwrap_err();
            assert!(matches!(refused, NotFilled::Value { .. }), "{bad}: {refused}");
        }
        for bad in ["a/../b", "/a", "a/", "a//b"] {
            let filled = filled("skill://{+path}/SKILL.md", &json!({ "path": bad }));
            assert!(matches!(filled, Err(NotFilled::Value { .. })), "{bad}");
        }
        let long = json!({ "path": "a".repeat(MAX_VALUE_BYTES + 1) });
        assert!(filled("skill://{+path}/SKILL.md", &long).is_err());
        let no_name = filled("skill://{+path}/SKILL.md", &json!({ "path": "A_B" }));
        assert!(matches!(no_name, Err(NotFilled::Uri { .. })), "{no_name:?}");
    }

    #[test]
    fn only_templates_of_skills_are_offered_d12() {
        for other in [
            "skill://{name}",
            "skill://x/{path*}",
            "file:///{path}/SKILL.md",
            "skill://{a/SKILL.md",
            "skill://{a b}/SKILL.md",
        ] {
            assert_eq!(SkillTemplate::parse(other, "x", None), None, "{other}");
        }
        let template = SkillTemplate::parse("skill://{owner}/{repo}/{+name}/SKILL.md", "x", None);
        let variables: Vec<_> = template.as_ref().unwrap().variables().map(str::to_owned).collect();
        assert_eq!(variables, ["owner", "repo", "name"]);
    }

    #[test]
    fn a_page_of_templates_is_read_as_it_was_written_d12() {
        let own = ListedTemplate {
            uri: "skill://docs/{product}/SKILL.md",
            name: "docs",
            description: "One product.",
            media_type: None,
        };
        let all: Vec<_> = OF_DIALECTS.iter().map(|(_, template)| template).chain([&own]).collect();
        let page = json!({ "resourceTemplates": all, "nextCursor": "2" }).to_string();
        let page = TemplatePage::read(&page).unwrap();
        let docs = SkillTemplate::parse(own.uri, own.name, Some(own.description)).unwrap();
        assert_eq!((page.templates, page.next.as_deref()), (vec![docs], Some("2")));
        assert!(own.has_variable("product") && !own.has_variable("prod"));
        assert!(TemplatePage::read("[]").is_err());
    }

    #[test]
    fn completions_are_capped_and_texts_alone_d12() {
        let values: Vec<_> = (0..200).map(|n| json!(format!("v{n}"))).collect();
        let answer = json!({ "completion": { "values": values } }).to_string();
        assert_eq!(read_completion(&answer).len(), MAX_VALUES);
        assert_eq!(read_completion(r#"{"completion":{"values":[5,"a"]}}"#), ["a"]);
        for none in ["[]", "{}", r#"{"completion":{"values":{}}}"#] {
            assert!(read_completion(none).is_empty(), "{none}");
        }
        let template = SkillTemplate::parse("skill://{a}/SKILL.md", "x", None).unwrap();
        let params = template.completion_params("a", "re", &Map::new());
        assert_eq!(params["ref"]["uri"], "skill://{a}/SKILL.md");
        assert_eq!(params["argument"], json!({ "name": "a", "value": "re" }));
    }
}
