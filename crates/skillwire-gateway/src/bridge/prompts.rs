//! Approved skills as prompts, which many clients show to their user as commands.
//!
//! Clients differ in what they make of words after a command: some pass all of them as the first
//! argument, some divide them among the arguments, some pass the placeholder `$1`. Some use only the
//! first message, and some drop resources. So a prompt has one argument of free text, and one message
//! that says everything.

use serde_json::json;
use skillwire_core::Resources;
use skillwire_engine::offer::{Client, PromptReply, Typing};
use skillwire_host::context::{block::FilePart, text::one_line};
use skillwire_trust::{ArgumentValues, Handle, Reason, SkillArgument};

use super::{Bridge, arguments::ToolArguments, stop::CallError};

/// The argument that clients show: what the user wants done.
pub(crate) const REQUEST: &str = "request";

/// An argument that clients of earlier versions know: a file to show as well.
const FILE: &str = "file";

impl Bridge {
    pub(crate) async fn write_prompt(
        &self,
        client: &Client,
        name: &str,
        arguments: &ToolArguments<'_>,
    ) -> Result<PromptReply, CallError> {
        let declared = self.arguments_of(name);
        let takes = |name: &str| !declared.iter().any(|argument| argument.name == name);
        let given = |name: &str| {
            Ok::<_, CallError>(if takes(name) { words(arguments.optional(name)?) } else { None })
        };
        let mut request = given(REQUEST)?.map(str::to_owned);
        let file = given(FILE)?;
        let mut values = ArgumentValues::new();
        for argument in &declared {
            if let Some(value) = words(arguments.optional(&argument.name)?) {
                values.insert(argument.name.clone(), value.to_owned());
            }
        }
        let opened = self.open_window(client, &self.handle(name)?, &values).await?;
        let handle = &opened.handle;
        let mut text = format!("Use the skill {}.\n{}", one_line(handle), self.text_of(&opened)?);
        if let Some(file) = file {
            match self.file(&opened.window, handle, file, FilePart::default()).await {
                Ok(file) => text.push_str(&file),
                // A client that divides words among arguments put a word of the request here.
                Err(CallError::Refused(refusal)) if names_no_file(refusal.reason) => {
                    request = Some(
                        request
                            .map_or_else(|| file.to_owned(), |request| format!("{request} {file}")),
                    );
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(request) = request {
            text.push_str("The user's request: ");
            text.push_str(&request);
        }
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        let description = opened.window.entry().frontmatter.description();
        let (description, messages) = (Some(one_line(description)), vec![message]);
        Ok(PromptReply { description, messages, ..PromptReply::default() })
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
            .filter(|path| typing.argument == FILE && path.starts_with(typing.typed))
            .collect()
    }
}

/// The words of an argument. A placeholder such as `$1` counts as absent: the client asks for the
/// prompt once and adds the user's words itself.
fn words(argument: Option<&str>) -> Option<&str> {
    let is_placeholder = |text: &str| {
        text.strip_prefix('$').is_some_and(|rest| {
            rest == "ARGUMENTS" || (!rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    argument.filter(|text| !is_placeholder(text))
}

/// Tells whether the reason is that a text is not the path of a file of the skill.
fn names_no_file(reason: Reason) -> bool {
    matches!(reason, Reason::FileNotListed | Reason::FileMissing | Reason::PathOutsideSkill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_words_cl_03() {
        assert_eq!(words(Some("$1")), None);
        assert_eq!(words(Some("$ARGUMENTS")), None);
        assert_eq!(words(Some("$5 refunds")), Some("$5 refunds"));
        assert_eq!(words(Some("$")), Some("$"));
        assert_eq!(words(None), None);
    }
}
