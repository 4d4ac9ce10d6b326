//! Resource templates of skills: a picker for the user, never walked by anybody else.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use skillwire_core::{
    SkillUri,
    strict_json::{self, JsonLimits},
};
use skillwire_protocol::method;
use skillwire_trust::{Reason, Refusal, ServerLabel};

use crate::{host::Host, page::page_at};

/// Lists resource templates.
const LIST: &str = method::RESOURCES_TEMPLATES_LIST;

/// Completes an argument of a template.
const COMPLETE: &str = "completion/complete";

/// The most templates that are shown.
const MOST: usize = 200;

/// The most pages of templates that are asked for.
const MOST_PAGES: usize = 10;

/// The longest value that is put into a template.
const MOST_VALUE_BYTES: usize = 256;

/// A template whose URIs are those of `SKILL.md` files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillTemplate {
    /// The template, as the server wrote it.
    pub template: String,
    /// What it is called, as the server says.
    pub name: String,
    /// What it is for, as the server says.
    pub description: Option<String>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A variable, and whether it may stand for several segments.
    Variable(String, bool),
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
            parts.push(Part::Text(text.to_owned()));
            parts.push(Part::Variable(variable.to_owned(), several));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let (template, name) = (template.to_owned(), name.to_owned());
        Some(Self { template, name, description: description.map(str::to_owned), parts })
    }

    /// The variables, in the order in which they are filled in.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name, _) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Fills in the variables; a value that could lead elsewhere is refused.
    pub fn fill(&self, values: &Map<String, Value>) -> Result<SkillUri, Refusal> {
        let refuse = |variable: &str| {
            Refusal::new(Reason::UriInvalid)
                .file(&self.template)
                .expected(format!("a plain value for `{variable}`"))
        };
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => uri.push_str(text),
                Part::Variable(name, several) => {
                    let value = values.get(name).and_then(Value::as_str).unwrap_or_default();
                    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
                    let good = |segment: &str| {
                        !matches!(segment, "" | "." | "..") && segment.chars().all(plain)
                    };
                    let fits = if *several { value.split('/').all(good) } else { good(value) };
                    if !fits || value.len() > MOST_VALUE_BYTES {
                        return Err(refuse(name).actual(value.escape_debug()));
                    }
                    uri.push_str(value);
                }
            }
        }
        SkillUri::parse(&uri).map_err(|error| {
            Refusal::new(Reason::UriInvalid).file(&uri).actual(format!("a URI that {error}"))
        })
    }
}

impl Host {
    /// The templates of skills that a server offers, for the user to choose from.
    pub async fn templates(&self, label: &ServerLabel) -> Result<Vec<SkillTemplate>, Refusal> {
        let remote = self.remote(label)?;
        let client = remote.client().await?;
        if !client.server().capabilities.contains_key("resources") {
            return Ok(Vec::new());
        }
        let mut found: Vec<SkillTemplate> = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let answer = client.request(LIST, page_at(cursor.take()), remote.limits()).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) if error.is_unknown_method() => break,
                Err(error) => return Err(remote.refuse(&error)),
            };
            let (templates, next) = page(answer.text())
                .map_err(|problem| crate::page::protocol_error(&remote.origin(), LIST, &problem))?;
            found.extend(templates);
            cursor = next;
            if cursor.is_none() || found.len() >= MOST {
                break;
            }
        }
        // An index may have templates that the server does not list as such.
        if client.server().skills.is_some()
            && let Ok(listing) = remote.list().await
        {
            let of_index = listing.templates.iter();
            let parse = |text: &String| SkillTemplate::parse(text, "a template of the index", None);
            found.extend(of_index.filter_map(parse));
        }
        let mut seen = HashSet::new();
        found.retain(|template| seen.insert(template.template.clone()));
        found.truncate(MOST);
        Ok(found)
    }

    /// What a server would complete a variable with, given what is filled in already.
    ///
    /// A server that did not declare completions is not asked.
    pub async fn complete(
        &self,
        label: &ServerLabel,
        template: &SkillTemplate,
        variable: &str,
        typed: &str,
        filled: &Map<String, Value>,
    ) -> Result<Vec<String>, Refusal> {
        let remote = self.remote(label)?;
        let client = remote.client().await?;
        if !client.server().capabilities.contains_key("completions") {
            return Ok(Vec::new());
        }
        let params = json!({
            "ref": { "type": "ref/resource", "uri": template.template },
            "argument": { "name": variable, "value": typed },
            "context": { "arguments": filled },
        });
        let params = params.as_object().cloned().unwrap_or_default();
        let answer = client.request(COMPLETE, params, remote.limits()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.is_unknown_method() || error.is_not_found() => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(remote.refuse(&error)),
        };
        let limits = JsonLimits { depth: 16, nodes: 10_000 };
        let answer = strict_json::object(answer.text(), limits).unwrap_or_default();
        let values = answer.get("completion").and_then(|completion| completion.get("values"));
        let values = values.and_then(Value::as_array).into_iter().flatten();
        Ok(values.filter_map(Value::as_str).take(100).map(str::to_owned).collect())
    }
}

/// Reads one page of templates, and the cursor of the next.
fn page(text: &str) -> Result<(Vec<SkillTemplate>, Option<String>), String> {
    let limits = JsonLimits { depth: 16, nodes: 100_000 };
    let page = strict_json::object(text, limits).map_err(|error| error.to_string())?;
    let templates = page.get("resourceTemplates").and_then(Value::as_array);
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let parsed = templates.into_iter().flatten().filter_map(|template| {
        let description = text(template, "description");
        SkillTemplate::parse(
            &text(template, "uriTemplate"),
            &text(template, "name"),
            Some(description.as_str()).filter(|text| !text.is_empty()),
        )
    });
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((parsed.collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, values: &Value) -> Result<String, Reason> {
        let template = SkillTemplate::parse(template, "x", None).unwrap();
        let uri = template.fill(values.as_object().unwrap());
        uri.map(|uri| uri.to_string()).map_err(|refusal| refusal.reason)
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
            assert_eq!(filled(two, &values), Err(Reason::UriInvalid), "{bad}");
        }
        for bad in ["a/../b", "/a", "a/", "a//b"] {
            let filled = filled("skill://{+path}/SKILL.md", &json!({ "path": bad }));
            assert_eq!(filled, Err(Reason::UriInvalid), "{bad}");
        }
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
}
