//! `completion/complete`: skill paths and file paths for the templates.

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use skillwire_protocol::error::{RpcError, truncated};
use skillwire_source::skill::Content;

use super::{
    Call, Outcome,
    templates::{FILE_PATH, SKILL_PATH, Template},
};
use crate::offer::{self, Typing};

/// The most values one completion may hold.
const MAX_VALUES: usize = 100;

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    uri: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize, Default)]
struct Context {
    #[serde(default)]
    arguments: std::collections::BTreeMap<String, String>,
}

/// Values found, and how many there are in all.
struct Completion {
    values: Vec<String>,
    /// Not known when there are too many to count cheaply.
    total: Option<usize>,
}

impl Call<'_> {
    pub(super) fn complete(&self) -> Outcome {
        let reference: Reference = required(self.params.reference, "ref")?;
        let argument: Argument = required(self.params.argument, "argument")?;
        let context: Context = match self.params.context {
            Some(raw) => required(Some(raw), "context")?,
            None => Context::default(),
        };
        let completion = match (reference.kind.as_str(), reference.uri, reference.name) {
            ("ref/resource", Some(uri), _) => self.of_template(&uri, &argument, &context)?,
            ("ref/prompt", _, Some(name)) => self.of_prompt(&name, &argument, &context)?,
            _ => {
                let message =
                    "`params.ref` must be a resource template or a prompt of this server.";
                return Err(RpcError::invalid_params(message));
            }
        };
        let mut result = self.result();
        let more = completion.total.is_none_or(|total| total > completion.values.len());
        let mut json = json!({ "hasMore": more, "values": completion.values });
        if let Some(total) = completion.total {
            json["total"] = total.into();
        }
        result.json("completion", &json.to_string());
        result.server_info();
        Ok(result.finish().into())
    }

    fn of_template(
        &self,
        uri: &str,
        argument: &Argument,
        context: &Context,
    ) -> Result<Completion, RpcError> {
        let (template, scheme) =
            Template::recognise(uri, self.snapshot.schemes()).ok_or_else(|| {
                RpcError::invalid_params(format!(
                    "`{}` is not a template of this server.",
                    truncated(uri)
                ))
            })?;
        Ok(match (template, argument.name.as_str()) {
            (_, SKILL_PATH) => self.skill_paths(scheme, &argument.value),
            (Template::File, FILE_PATH) => {
                let skill = context.arguments.get(SKILL_PATH).map_or("", String::as_str);
                self.file_paths(scheme, skill, &argument.value)
            }
            (_, other) => {
                return Err(RpcError::invalid_params(format!(
                    "The template has no argument `{}`.",
                    truncated(other)
                )));
            }
        })
    }

    fn of_prompt(
        &self,
        name: &str,
        argument: &Argument,
        context: &Context,
    ) -> Result<Completion, RpcError> {
        let found = self.engine.offers.with_prompt(self.caller, name);
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
        Ok(Completion { values, total })
    }

    /// Skills whose path, or whose name, begins with the typed text.
    fn skill_paths(&self, scheme: &str, typed: &str) -> Completion {
        let (values, more) = self.snapshot.complete_paths(scheme, typed, MAX_VALUES);
        let total = (!more).then_some(values.len());
        Completion { values, total }
    }

    /// Files of one skill whose path begins with the typed text.
    fn file_paths(&self, scheme: &str, skill_path: &str, typed: &str) -> Completion {
        let root = format!("{scheme}://{skill_path}");
        let Some(skill) = self.snapshot.skill(&format!("{root}/SKILL.md")) else {
            return Completion { values: Vec::new(), total: Some(0) };
        };
        let Content::Files(tree) = &skill.content else {
            return Completion { values: Vec::new(), total: Some(0) };
        };
        let skill_root = skill.uri.root();
        let found: Vec<String> = tree
            .files
            .iter()
            .map(|file| skill_root.child(&file.path).as_str()[root.len() + 1..].to_owned())
            .filter(|path| path.starts_with(typed))
            .collect();
        let total = Some(found.len());
        Completion { values: found.into_iter().take(MAX_VALUES).collect(), total }
    }
}

fn required<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>, name: &str) -> Result<T, RpcError> {
    let malformed =
        || RpcError::invalid_params(format!("`params.{name}` is missing or malformed."));
    // An array would be taken for the members in order.
    let raw = raw.filter(|raw| raw.get().starts_with('{')).ok_or_else(malformed)?;
    serde_json::from_str(raw.get()).map_err(|_| malformed())
}
