//! Loads a skill for a client: for the tool `load_skill`, and for the prompt of a skill.

use std::sync::Arc;

use skillwire_engine::offer::{Client, ToolReply};
use skillwire_host::{Loaded, Window};
use skillwire_trust::{ArgumentValues, Handle, KnownSkill, Reason, Refusal, SkillId};

use super::{Bridge, arguments::ToolArguments, stop::CallError, windows::OpenWindow};

/// The sentences above every text of a skill: what was checked, and what a bridge cannot enforce.
const CANNOT: &str = "Skillwire checked where this text comes from and that it is what the user \
                      approved. It cannot control this client: what the text asks for still needs \
                      the user's permission.";

/// A skill that was loaded for a client.
pub(crate) struct OpenedSkill {
    pub(crate) handle: String,
    pub(crate) window: Arc<Window>,
    /// The id of the window.
    pub(crate) word: String,
    /// The text for the model.
    pub(crate) block: String,
}

impl Bridge {
    pub(crate) async fn load_skill(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let values = arguments.texts("arguments")?;
        let opening = self.open(client, arguments.required("name")?, &values).await?;
        let OpenedSkill { word, block, .. } = opening;
        Ok(ToolReply::text(format!(
            "Window: {word}. Pass it to `read_skill_file` and `list_skill_files`; end with \
             `unload_skill`.\n{CANNOT}\n{block}"
        )))
    }

    /// Opens a window on a skill and writes its text.
    pub(crate) async fn open(
        &self,
        client: &Client,
        name: &str,
        arguments: &ArgumentValues,
    ) -> Result<OpenedSkill, CallError> {
        let handle = match self.passed_on_from(name) {
            Some(handle) => handle,
            None => Handle::parse(name)?,
        };
        let (mut known, mut called) = self.resolve(&handle).await?;
        let mut loaded = self.load(client, &known, arguments).await;
        if matches!(&loaded, Err(CallError::Refused(refusal)) if may_be_outdated(refusal.reason)) {
            // The view may be older than the server's listing, so the server is asked once more.
            self.look_again();
            let now = KnownSkill::from(self.host().resolve(&handle).await?);
            if now != known {
                called = self.called(now.id(), &handle);
                known = now;
                loaded = self.load(client, &known, arguments).await;
            }
        }
        if let Err(CallError::Refused(refusal)) = &loaded {
            self.note_trouble(known.id(), refusal);
        }
        let window = loaded?.window;
        self.view().was_loaded(self.host(), &known);
        let block = window.skill_for_model(&called, self.boundaries())?.into_string();
        let opened = OpenWindow { handle: called.clone(), window: Arc::clone(&window) };
        let word = self.windows().keep(opened, client.session())?;
        Ok(OpenedSkill { handle: called, window, word, block })
    }

    async fn load(
        &self,
        client: &Client,
        skill: &KnownSkill,
        arguments: &ArgumentValues,
    ) -> Result<Loaded, CallError> {
        let approved = self.approved_or_ask(client, skill).await?;
        let arguments = self.ask_for_arguments(client, approved.listed(), arguments).await?;
        Ok(self.host().load_with(approved, &arguments).await?)
    }

    /// Finds a skill in the view, or else asks its server.
    async fn resolve(&self, handle: &Handle) -> Result<(KnownSkill, String), Refusal> {
        let view = self.view();
        match view.find(handle) {
            Ok(item) => Ok((item.skill.clone(), item.handle.clone())),
            Err(refusal) if refusal.reason == Reason::SkillNotFound => {
                let listed = self.host().resolve(handle).await?;
                let called = self.called(listed.id(), handle);
                Ok((listed.into(), called))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The handle that listings show, or the one the client used if no listing mentions the skill.
    fn called(&self, skill: &SkillId, used: &Handle) -> String {
        let view = self.view();
        view.skill(skill).map_or_else(|| used.to_string(), |item| item.handle.clone())
    }
}

/// Tells whether the reason may be that the entry in the view is outdated.
fn may_be_outdated(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Changed
            | Reason::EntryInconsistent
            | Reason::DigestMismatch
            | Reason::SizeMismatch
            | Reason::FileMissing
            | Reason::FrontmatterMismatch
    )
}
