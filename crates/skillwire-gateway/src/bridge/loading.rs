//! Loads a skill for a client: for the tool `load_skill`, and for the prompt of a skill.

use std::sync::Arc;

use skillwire_engine::offer::{Client, ToolReply};
use skillwire_host::Loaded;
use skillwire_trust::{ArgumentValues, Handle, KnownSkill, Reason, Refusal, SkillId};

use super::{Bridge, arguments::ToolArguments, stop::CallError, windows::OpenWindow};

impl Bridge {
    pub(crate) async fn load_skill(
        &self,
        client: &Client,
        arguments: &ToolArguments<'_>,
    ) -> Result<ToolReply, CallError> {
        let handle = self.handle(arguments.required("name")?)?;
        let values = arguments.texts("arguments")?;
        let opened = self.open_window(client, &handle, &values).await?;
        Ok(ToolReply::text(self.text_of(&opened)?))
    }

    /// The text of a loaded skill for a model.
    pub(crate) fn text_of(&self, opened: &OpenWindow) -> Result<String, CallError> {
        Ok(opened.window.skill_for_model(&opened.handle, self.boundaries())?.into_string())
    }

    /// Reads a handle, or the URI that a skill is passed on under.
    pub(crate) fn handle(&self, name: &str) -> Result<Handle, Refusal> {
        match self.passed_on_from(name) {
            Some(handle) => Ok(handle),
            None => Handle::parse(name),
        }
    }

    /// Opens a window on a skill, asking the user first if need be.
    pub(crate) async fn open_window(
        &self,
        client: &Client,
        handle: &Handle,
        arguments: &ArgumentValues,
    ) -> Result<OpenWindow, CallError> {
        let (mut known, mut called) = self.resolve(handle).await?;
        let mut loaded = self.load(client, &known, arguments).await;
        if matches!(&loaded, Err(CallError::Refused(refusal)) if may_be_outdated(refusal.reason)) {
            // The view may be older than the server's listing, so the server is asked once more.
            self.look_again();
            let now = KnownSkill::from(self.resolve_now(handle).await?);
            if now != known {
                called = self.called(now.id(), handle);
                known = now;
                loaded = self.load(client, &known, arguments).await;
            }
        }
        if let Err(CallError::Refused(refusal)) = &loaded {
            self.note_trouble(known.id(), refusal);
        }
        let window = loaded?.window;
        self.view().was_loaded(self.host(), &known);
        let opened = OpenWindow { handle: called, window: Arc::clone(&window) };
        self.windows().keep(opened.clone(), client.session());
        Ok(opened)
    }

    async fn load(
        &self,
        client: &Client,
        skill: &KnownSkill,
        arguments: &ArgumentValues,
    ) -> Result<Loaded, CallError> {
        self.confirm(skill).await?;
        let approved = self.approved_or_ask(client, skill).await?;
        let arguments = self.ask_for_arguments(client, approved.listed(), arguments).await?;
        Ok(self.host().load_with(approved, &arguments).await?)
    }

    /// Asks a skill's server whether the skill is still the same, if its listing may not be used
    /// any more. The host withdraws the approval of a skill that has changed.
    ///
    /// A server that says nothing about changes, neither by notifications nor by a lifetime, would
    /// otherwise be asked again only by the next listing. One that cannot be reached is passed over:
    /// what the user approved may be used while its server is away.
    pub(crate) async fn confirm(&self, skill: &KnownSkill) -> Result<(), Refusal> {
        if !self.server_of(skill.id()).is_some_and(|server| server.is_stale()) {
            return Ok(());
        }
        match self.entry_now(skill).await {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.reason.is_server_away() => {
                self.note_trouble(skill.id(), &refusal);
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Finds a skill in the view, or else asks its server.
    pub(crate) async fn resolve(&self, handle: &Handle) -> Result<(KnownSkill, String), Refusal> {
        let known = || {
            let view = self.view();
            view.find(handle).map(|item| (item.skill.clone(), item.handle.clone()))
        };
        let mut found = known();
        if found.is_err() {
            self.first_listing().await;
            found = known();
        }
        match found {
            Ok(found) => Ok(found),
            Err(refusal) if refusal.reason == Reason::SkillNotFound => {
                let listed = self.resolve_now(handle).await?;
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
