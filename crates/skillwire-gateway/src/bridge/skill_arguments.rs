//! Asks the user, through their client, for arguments that a skill needs.

use serde_json::{Map, Value, json};
use skillwire_engine::offer::{Client, Elicited, Form};
use skillwire_host::context::text::{one_line, one_line_within};
use skillwire_trust::{ArgumentValues, ListedSkill, SkillArgument};

use super::{Bridge, stop::CallError};

/// The key of the question in a request that carries its answer.
const KEY: &str = "arguments";

/// The most characters of what a server says about an argument.
const MAX_DESCRIPTION: usize = 300;

impl Bridge {
    /// Adds the arguments that the skill needs and the caller left out, if the client can ask for
    /// them. The host refuses to load a skill that still lacks one.
    pub(crate) async fn ask_for_arguments(
        &self,
        client: &Client,
        skill: &ListedSkill,
        given: &ArgumentValues,
    ) -> Result<ArgumentValues, CallError> {
        let is_missing =
            |wanted: &&SkillArgument| wanted.required && !given.contains_key(&wanted.name);
        let missing: Vec<&SkillArgument> = skill.arguments().iter().filter(is_missing).collect();
        if missing.is_empty() || !self.options().asks_user || !client.can_ask() {
            return Ok(given.clone());
        }
        let mut values = given.clone();
        if let Elicited::Accepted(content) = client.ask(KEY, &form(skill, &missing)).await? {
            for SkillArgument { name, .. } in missing {
                if let Some(Value::String(value)) = content.get(name) {
                    values.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(values)
    }
}

/// Writes the form: one field for each missing argument.
fn form(skill: &ListedSkill, missing: &[&SkillArgument]) -> Form {
    let name = one_line(&skill.id().to_string());
    let text = format!(
        "The skill {name} needs values to be loaded. They are sent to its server, which writes the \
         instructions for them."
    );
    let field = |argument: &&SkillArgument| {
        let about = argument.description.as_deref().unwrap_or_default();
        let about = one_line_within(about, MAX_DESCRIPTION);
        let title = one_line_within(&argument.name, MAX_DESCRIPTION);
        let field = json!({ "type": "string", "title": title, "description": about });
        (argument.name.clone(), field)
    };
    let fields: Map<String, Value> = missing.iter().map(field).collect();
    let names: Vec<&str> = missing.iter().map(|argument| argument.name.as_str()).collect();
    Form::new(text, &Value::Object(fields), &names)
}
