//! The tools that use a window: `read_skill_file`, `list_skill_files` and `unload_skill`.

use skillwire_engine::offer::ToolReply;
use skillwire_host::{
    Window,
    context::{children::children, text::one_line},
};
use skillwire_trust::Reason;

use super::{Bridge, arguments::ToolArguments, stop::CallError};

impl Bridge {
    pub(crate) async fn read_skill_file(
        &self,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let opened = self.windows().get(arguments.required("window")?)?;
        let path = arguments.required("path")?;
        Ok(ToolReply::text(self.file(&opened.window, &opened.handle, path).await?))
    }

    /// Reads a file of a skill as text for a model.
    pub(crate) async fn file(
        &self,
        window: &Window,
        handle: &str,
        path: &str,
    ) -> Result<String, CallError> {
        // An open window may be read only while its skill is approved as it was loaded. The user of
        // a bridge has no other way to stop a conversation that goes on reading after they withdrew
        // the approval.
        window.still_approved()?;
        let read = window.read_for_model(path, handle, self.boundaries()).await;
        if let Err(refusal) = &read {
            if refusal.reason == Reason::Changed {
                self.look_again();
            }
            self.note_trouble(window.skill(), refusal);
        }
        Ok(read?.text.into_string())
    }

    pub(crate) fn list_skill_files(
        &self,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let opened = self.windows().get(arguments.required("window")?)?;
        let path = arguments.optional("path")?.unwrap_or_default();
        let children = children(&opened.handle, &opened.window.list(path)?);
        Ok(ToolReply::text(children.into_string()))
    }

    pub(crate) fn unload_skill(
        &self,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let opened = self.windows().close(arguments.required("window")?)?;
        Ok(ToolReply::text(format!("The skill {} is unloaded.\n", one_line(&opened.handle))))
    }
}
