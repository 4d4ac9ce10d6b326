//! `completion/complete`: skill paths and file paths for the templates.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use skillwire_protocol::{RpcError, truncated};
use skillwire_source::{SkillContent, UriTemplate};

use super::{
    Answer, Call, Outcome, OwnedCall,
    dialects::later,
    result::ResultText,
    templates::{FILE_PATH, SKILL_PATH, TemplateTarget},
};
use crate::{
    dialect::{self, Dialect},
    offer::{self, Typing},
    payload::Payload,
};

/// The most values one completion may hold.
const MAX_VALUES: usize = 100;

/// The most skills that are looked at for one completion.
const MOST_LOOKED_AT: usize = 10_000;

#[derive(Deserialize)]
struct CompletionReference {
    #[serde(rename = "type")]
    kind: String,
    uri: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct CompletedArgument {
    name: String,
    value: String,
}

#[derive(Deserialize, Default)]
struct CompletionContext {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

/// The values of a completion, and how many there are in total.
struct CompletionValues {
    values: Vec<String>,
    /// `None` if there are too many to count cheaply.
    total: Option<usize>,
}

impl Call<'_> {
    pub(super) fn complete(&self) -> Answer {
        self.try_complete().unwrap_or_else(|error| Answer::Now(Err(error)))
    }

    fn try_complete(&self) -> Result<Answer, RpcError> {
        let reference: CompletionReference = required(self.params.reference, "ref")?;
        let argument: CompletedArgument = required(self.params.argument, "argument")?;
        let context: CompletionContext = match self.params.context {
            Some(raw) => required(Some(raw), "context")?,
            None => CompletionContext::default(),
        };
        let completion = match (reference.kind.as_str(), reference.uri, reference.name) {
            ("ref/resource", Some(uri), _) => {
                return self.of_template(uri, argument, context);
            }
            ("ref/prompt", _, Some(name)) => self.of_prompt(&name, &argument, &context)?,
            _ => {
                let message =
                    "`params.ref` must be a resource template or a prompt of this server.";
                return Err(RpcError::invalid_params(message));
            }
        };
        Ok(Answer::Now(Ok(finish(self.result(), &completion))))
    }

    fn of_template(
        &self,
        uri: String,
        argument: CompletedArgument,
        context: CompletionContext,
    ) -> Result<Answer, RpcError> {
        let templates = &self.state.config.templates;
        if let Some(template) = templates.iter().find(|template| template.uri == uri) {
            return self.of_operator_template(template, &argument, &context.arguments);
        }
        let own = TemplateTarget::recognise(&uri, self.snapshot.schemes());
        let Some((template, scheme)) = own.filter(|_| self.speaks(Dialect::Templates)) else {
            let CompletionContext { arguments } = context;
            return Ok(later(complete_in_dialect(self.to_owned_call(), uri, argument, arguments)));
        };
        let completion = match (template, argument.name.as_str()) {
            (_, SKILL_PATH) => self.skill_paths(scheme, &argument.value),
            (TemplateTarget::File, FILE_PATH) => {
                let skill = context.arguments.get(SKILL_PATH).map_or("", String::as_str);
                self.file_paths(scheme, skill, &argument.value)
            }
            (_, other) => return Err(unknown_argument(other)),
        };
        Ok(Answer::Now(Ok(finish(self.result(), &completion))))
    }

    /// Completes a variable of a template that the operator or a source named.
    fn of_operator_template(
        &self,
        template: &UriTemplate,
        argument: &CompletedArgument,
        known: &BTreeMap<String, String>,
    ) -> Result<Answer, RpcError> {
        let CompletedArgument { name, value } = argument;
        if !template.has_variable(name) {
            return Err(unknown_argument(name));
        }
        let lookup = self.state.lookup.as_ref();
        if let Some(asked) =
            lookup.and_then(|lookup| lookup.complete(&template.uri, name, value, known))
        {
            let result = self.result();
            return Ok(later(async move {
                let mut values = asked.await;
                let total = (values.len() <= MAX_VALUES).then_some(values.len());
                values.truncate(MAX_VALUES);
                Ok(finish(result, &CompletionValues { values, total }))
            }));
        }
        let completion = self.listed_values(template, name, value, known);
        Ok(Answer::Now(Ok(finish(self.result(), &completion))))
    }

    /// Finds the values of a variable for which listed skills stand at the template.
    fn listed_values(
        &self,
        template: &UriTemplate,
        variable: &str,
        typed: &str,
        known: &BTreeMap<String, String>,
    ) -> CompletionValues {
        let mut before = template.around(variable).map_or("", |(before, _)| before).to_owned();
        for (name, value) in known {
            before = before.replace(&format!("{{{name}}}"), value);
            before = before.replace(&format!("{{+{name}}}"), value);
        }
        let prefix = format!("{before}{typed}");
        let mut values: Vec<String> = Vec::new();
        // A variable that is not filled in yet is followed by no URI.
        let below = self.snapshot.listed_after(Some(&prefix)).take(MOST_LOOKED_AT);
        for skill in below.take_while(|skill| skill.uri.as_str().starts_with(&prefix)) {
            let rest = &skill.uri.as_str()[before.len()..];
            let value = rest.split('/').next().unwrap_or(rest);
            if values.last().is_none_or(|last| last != value) {
                values.push(value.to_owned());
            }
            if values.len() > MAX_VALUES {
                break;
            }
        }
        let total = (values.len() <= MAX_VALUES).then_some(values.len());
        values.truncate(MAX_VALUES);
        CompletionValues { values, total }
    }

    fn of_prompt(
        &self,
        name: &str,
        argument: &CompletedArgument,
        context: &CompletionContext,
    ) -> Result<CompletionValues, RpcError> {
        let caller = self.audience();
        let found = self.offers().find(|offer| offer.has_prompt(&caller, name));
        let offer = found.ok_or_else(|| offer::unknown("prompt", name))?;
        let typing = Typing {
            prompt: name,
            argument: &argument.name,
            typed: &argument.value,
            given: &context.arguments,
        };
        let mut values = offer.complete(self.caller, &typing);
        let total = Some(values.len());
        values.truncate(MAX_VALUES);
        Ok(CompletionValues { values, total })
    }

    /// Finds skills whose path or name begins with the typed text.
    fn skill_paths(&self, scheme: &str, typed: &str) -> CompletionValues {
        let (values, more) = self.snapshot.complete_paths(scheme, typed, MAX_VALUES);
        let total = (!more).then_some(values.len());
        CompletionValues { values, total }
    }

    /// Finds files of one skill whose path begins with the typed text.
    fn file_paths(&self, scheme: &str, skill_path: &str, typed: &str) -> CompletionValues {
        let root = format!("{scheme}://{skill_path}");
        let Some(skill) = self.snapshot.skill(&format!("{root}/SKILL.md")) else {
            return CompletionValues { values: Vec::new(), total: Some(0) };
        };
        let SkillContent::Files(tree) = &skill.content else {
            return CompletionValues { values: Vec::new(), total: Some(0) };
        };
        let skill_root = skill.uri.root();
        let found: Vec<String> = tree
            .files
            .iter()
            .map(|file| skill_root.child(&file.path).as_str()[root.len() + 1..].to_owned())
            .filter(|path| path.starts_with(typed))
            .collect();
        let total = Some(found.len());
        CompletionValues { values: found.into_iter().take(MAX_VALUES).collect(), total }
    }
}

/// Completes a variable of a dialect's own template.
async fn complete_in_dialect(
    call: OwnedCall,
    template: String,
    argument: CompletedArgument,
    known: BTreeMap<String, String>,
) -> Outcome {
    let wanted = (argument.name.as_str(), argument.value.as_str());
    let found = dialect::complete(&call, &template, wanted, &known, MAX_VALUES).await?;
    let mut values = found
        .ok_or_else(|| {
            let text = format!("`{}` is not a template of this server.", truncated(&template));
            RpcError::invalid_params(text)
        })?
        .map_err(|_| unknown_argument(&argument.name))?;
    let total = (values.len() <= MAX_VALUES).then_some(values.len());
    values.truncate(MAX_VALUES);
    Ok(finish(call.style.begin(), &CompletionValues { values, total }))
}

fn unknown_argument(name: &str) -> RpcError {
    RpcError::invalid_params(format!("The template has no argument `{}`.", truncated(name)))
}

fn finish(mut result: ResultText, completion: &CompletionValues) -> Payload {
    let CompletionValues { values, total } = completion;
    let more = total.is_none_or(|total| total > values.len());
    let mut json = json!({ "hasMore": more, "values": values });
    if let Some(total) = total {
        json["total"] = (*total).into();
    }
    result.json("completion", &json.to_string());
    result.server_info();
    result.finish().into()
}

fn required<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>, name: &str) -> Result<T, RpcError> {
    let malformed =
        || RpcError::invalid_params(format!("`params.{name}` is missing or malformed."));
    // serde would accept an array as the members in order.
    let raw = raw.filter(|raw| raw.get().starts_with('{')).ok_or_else(malformed)?;
    serde_json::from_str(raw.get()).map_err(|_| malformed())
}
