//! The tool `read_resource`: a resource of a server, which loads no skill.

use serde_json::{Value, json};
use skillwire_core::visible::one_line_within;
use skillwire_engine::offer::{Client, Elicited, Form, ToolReply};
use skillwire_host::context::block;
use skillwire_trust::{Answer, Grants, Origin, Reason, Refusal, ServerLabel, SkillId};

use super::{Bridge, arguments::ToolArguments, stop::CallError};

/// The key of the question in a request that carries its answer.
const KEY: &str = "read";

/// The field with which the user agrees.
const AGREE: &str = "read";

/// The most characters of a URI in a form.
const MAX_URI: usize = 400;

impl Bridge {
    pub(crate) async fn read_resource(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let (server, uri) = (arguments.required("server")?, arguments.required("uri")?);
        let label = ServerLabel::parse(server).map_err(|error| {
            Refusal::new(Reason::ServerUnknown)
                .about(server.escape_debug().to_string())
                .actual(format!("a label that {error}"))
        })?;
        let origin = Origin::Server(label.clone());
        let mut loaded = self.windows().of_session(client.session()).into_iter();
        let acting = loaded.find(|opened| opened.window.skill().origin != origin);
        let acting = acting.map(|opened| opened.window.skill().clone());
        let answer = match &acting {
            None => None,
            Some(skill) => {
                self.host().check_resource(&label, uri).await?;
                Some((skill, self.ask_to_read(client, skill, &label, uri).await?))
            }
        };
        let content = self.host().read_resource_answered(&label, uri, answer).await?;
        let text = block::ordinary_resource(&content, self.boundaries())?;
        Ok(ToolReply::text(text.into_string()))
    }

    /// Asks whether a resource may be read while a skill of another origin is loaded: text of one
    /// server could otherwise make the model fetch from another. No answer is remembered.
    async fn ask_to_read(
        &self,
        client: &Client,
        skill: &SkillId,
        server: &ServerLabel,
        uri: &str,
    ) -> Result<Answer, CallError> {
        if !self.options().asks_user {
            return Ok(Answer::Unavailable);
        }
        let text = format!(
            "May the model read {} from the server `{server}`?\nIt acts on the skill {}, which is \
             of another origin.",
            one_line_within(uri, MAX_URI),
            one_line_within(&skill.to_string(), MAX_URI),
        );
        let field = json!({ "type": "boolean", "title": "Read it once", "default": false });
        let form = Form::new(text, &json!({ AGREE: field }), &[AGREE]);
        Ok(match client.ask(KEY, &form).await? {
            Elicited::Accepted(content) if content.get(AGREE) == Some(&Value::Bool(true)) => {
                Answer::Yes(Grants::load_only())
            }
            Elicited::Declined => Answer::No,
            Elicited::Accepted(_) | Elicited::Dismissed | Elicited::Unavailable => {
                Answer::Unavailable
            }
        })
    }
}
