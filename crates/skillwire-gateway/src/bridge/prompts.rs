//! Approved skills as prompts, which many clients show to their user as commands.

use serde_json::{Value, json};
use skillwire_core::Resources;
use skillwire_engine::offer::{Client, PromptReply, Typing};
use skillwire_host::context::text::one_line;
use skillwire_trust::{ArgumentValues, Handle, SkillArgument};

use super::{Bridge, arguments::ToolArguments, loading::OpenedSkill, stop::CallError};

/// The argument of a prompt that names a file to show as well, unless the skill has one of this name.
const FILE: &str = "file";

impl Bridge {
    pub(crate) async fn write_prompt(
        &self,
        client: &Client,
        name: &str,
        arguments: &ToolArguments<'_>,
    ) -> Result<PromptReply, CallError> {
        let declared = self.arguments_of(name);
        let takes_file = !declared.iter().any(|argument| argument.name == FILE);
        let file = if takes_file { arguments.optional(FILE)? } else { None };
        let file = file.filter(|file| !file.is_empty());
        let mut values = ArgumentValues::new();
        for argument in declared {
            if let Some(value) = arguments.optional(&argument.name)? {
                values.insert(argument.name, value.to_owned());
            }
        }
        let opening = self.open(client, name, &values).await?;
        let OpenedSkill { handle, window, word, block } = &opening;
        let skill = window.skill();
        let uri = self.passed_on_as(skill).unwrap_or_else(|| skill.uri.clone());
        let intro = format!(
            "Use the skill {}, which follows as a resource from its origin. Its window is {word}; \
             `read_skill_file` reads its files.",
            one_line(handle)
        );
        let mut messages =
            vec![message(&json!({ "type": "text", "text": intro })), resource(uri.as_str(), block)];
        if let Some(file) = file {
            let text = self.file(window, handle, file).await?;
            messages.push(resource(&format!("{}/{file}", uri.root()), &text));
        }
        let description = window.entry().frontmatter.description();
        Ok(PromptReply { description: Some(one_line(description)), messages })
    }

    /// The arguments of the skill that a prompt loads.
    fn arguments_of(&self, prompt: &str) -> Vec<SkillArgument> {
        let view = self.view();
        let item = Handle::parse(prompt).and_then(|handle| view.find(&handle));
        item.map_or_else(|_| Vec::new(), |item| item.skill.arguments().to_vec())
    }

    /// The paths of a skill's files that begin with the typed text.
    pub(crate) fn complete_file(&self, typing: &Typing<'_>) -> Vec<String> {
        let view = self.view();
        let Ok(item) = Handle::parse(typing.prompt).and_then(|handle| view.find(&handle)) else {
            return Vec::new();
        };
        let Resources::Listed(files) = &item.skill.entry().resources else { return Vec::new() };
        let skill = &item.skill.id().uri;
        let paths = files.iter().filter_map(|file| skill.below(&file.uri));
        paths
            .map(|path| path.to_string())
            .filter(|path| typing.argument == "file" && path.starts_with(typing.typed))
            .collect()
    }
}

fn message(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

/// A message with the text of a skill. The text comes from a server and the message has the role of
/// the user, so it is marked as a resource; otherwise a model could take it for the user's own
/// words.
fn resource(uri: &str, text: &str) -> Value {
    let resource = json!({ "uri": uri, "mimeType": "text/markdown", "text": text });
    message(&json!({ "type": "resource", "resource": resource }))
}
