//! The tools that use files of a skill: `read_skill_file`, `list_skill_files` and `unload_skill`.

use skillwire_engine::offer::{Client, ToolReply};
use skillwire_host::{
    Window,
    context::{block::FilePart, children::children, text::one_line},
};
use skillwire_trust::{ArgumentValues, Handle, Reason};

use super::{
    Bridge, arguments::ToolArguments, client_kind::ClientKind, stop::CallError, windows::OpenWindow,
};

impl Bridge {
    pub(crate) async fn read_skill_file(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let path = arguments.required("path")?;
        let part = FilePart {
            offset: arguments.number("offset")?.unwrap_or_default(),
            limit: match arguments.number("limit")? {
                Some(limit) if limit > 0 => limit,
                _ => ClientKind::of(client.caller().client.as_deref()).read_limit(),
            },
        };
        let opened = self.opened(client, arguments).await?;
        Ok(ToolReply::text(self.file(&opened.window, &opened.handle, path, part).await?))
    }

    /// Reads a file of a skill as text for a model.
    pub(crate) async fn file(
        &self,
        window: &Window,
        handle: &str,
        path: &str,
        part: FilePart,
    ) -> Result<String, CallError> {
        // A file may be read only while its skill is approved as the conversation has seen it. The
        // user of a bridge has no other way to stop a conversation that goes on reading after they
        // withdrew the approval.
        window.still_approved()?;
        let read = window.read_for_model(path, part, handle, self.boundaries()).await;
        if let Err(refusal) = &read {
            if refusal.reason == Reason::Changed {
                self.look_again();
            }
            self.note_trouble(window.skill(), refusal);
        }
        let read = read?;
        // Asked again, since the server may have taken a while to answer.
        window.still_approved()?;
        Ok(read.text.into_string())
    }

    pub(crate) async fn list_skill_files(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let path = arguments.optional("path")?.unwrap_or_default();
        let opened = self.opened(client, arguments).await?;
        let children = children(&opened.handle, &opened.window.list(path)?);
        Ok(ToolReply::text(children.into_string()))
    }

    pub(crate) async fn unload_skill(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let handle = self.handle(arguments.required("name")?)?;
        let (skill, called) = self.resolve(&handle).await?;
        let was_loaded = self.windows().close(skill.id(), client.session());
        let word = if was_loaded { "is unloaded" } else { "was not loaded" };
        Ok(ToolReply::text(format!("The skill {} {word}.\n", one_line(&called))))
    }

    /// The window of the conversation on the skill that the argument `name` names. If it has none,
    /// because the bridge was restarted meanwhile, the skill is opened as `load_skill` opens it.
    pub(crate) async fn opened(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<OpenWindow, CallError> {
        let handle: Handle = self.handle(arguments.required("name")?)?;
        let (skill, _) = self.resolve(&handle).await?;
        match self.windows().get(skill.id(), client.session()) {
            Some(opened) => {
                self.confirm(&skill).await?;
                Ok(opened)
            }
            None => self.open_window(client, &handle, &ArgumentValues::new()).await,
        }
    }
}
