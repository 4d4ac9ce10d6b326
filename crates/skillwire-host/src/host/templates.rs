//! Resource templates of skills, for a picker that the user fills in. Nothing else expands them.

use std::collections::HashSet;

use serde_json::{Map, Value};
use skillwire_core::SkillUri;
use skillwire_dialects::templates::{
    COMPLETE, NotFilled, SkillTemplate, TemplatePage, read_completion,
};
use skillwire_protocol::{NextPage, PageLimits, Pager, method};
use skillwire_trust::{Reason, Refusal, ServerLabel};

use skillwire_remote::protocol_error;

use super::Host;

/// Lists resource templates.
const LIST: &str = method::RESOURCES_TEMPLATES_LIST;

/// The most templates that the host requests and shows.
const LIMITS: PageLimits = PageLimits::new(10, 200);

impl Host {
    /// Lists the skill templates that a server offers, for the user to choose from.
    pub async fn templates(&self, label: &ServerLabel) -> Result<Vec<SkillTemplate>, Refusal> {
        let remote = self.remote(label)?;
        let client = remote.client().await?;
        if !client.server().capabilities.contains_key("resources") {
            return Ok(Vec::new());
        }
        let mut found: Vec<SkillTemplate> = Vec::new();
        let mut pager = Pager::new(LIMITS);
        loop {
            let answer = client.request(LIST, pager.params(), remote.limits()).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) if error.is_unknown_method() => break,
                Err(error) => return Err(remote.refuse(&error)),
            };
            let page = TemplatePage::read(answer.text())
                .map_err(|invalid| protocol_error(&remote.origin(), LIST, invalid))?;
            let received = page.templates.len();
            found.extend(page.templates);
            if pager.received(received, page.next) != NextPage::Ask {
                break;
            }
        }
        // An index may have templates that the server does not list as resource templates.
        if client.server().skills.is_some()
            && let Ok(listing) = remote.list().await
        {
            let of_index = listing.templates.iter();
            let parse = |text: &String| SkillTemplate::parse(text, "a template of the index", None);
            found.extend(of_index.filter_map(parse));
        }
        let mut seen = HashSet::new();
        found.retain(|template| seen.insert(template.template.clone()));
        found.truncate(LIMITS.items);
        Ok(found)
    }

    /// Asks a server to complete a variable, given the values that are already filled in.
    ///
    /// The host does not ask a server that did not declare completions.
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
        let params = template.completion_params(variable, typed, filled);
        let answer = client.request(COMPLETE, params, remote.limits()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.is_unknown_method() || error.is_not_found() => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(remote.refuse(&error)),
        };
        Ok(read_completion(answer.text()))
    }
}

/// Fills in the variables of a template; refuses a value that could lead to another place.
pub fn fill_template(
    template: &SkillTemplate,
    values: &Map<String, Value>,
) -> Result<SkillUri, Refusal> {
    template.fill(values).map_err(|not_filled| {
        let refusal = Refusal::new(Reason::UriInvalid);
        match not_filled {
            NotFilled::Value { variable, value } => refusal
                .file(&template.template)
                .expected(format!("a plain value for `{variable}`"))
                .actual(value.escape_debug()),
            NotFilled::Uri { uri, problem } => {
                refusal.file(uri).actual(format!("a URI that {problem}"))
            }
        }
    })
}
