//! Copies of a skill for users to look at, outside of every window.

use bytes::Bytes;
use skillwire_core::{RelPath, Resources, portable};
use skillwire_trust::{Action, ListedSkill, LoggedContent, Reason, Refusal, Remedy};

use super::Host;

/// One file of a copy, with the size and digest that are listed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// The path of the file below the copy's folder.
    pub path: RelPath,
    /// The verified bytes.
    pub bytes: Bytes,
}

impl Host {
    /// Fetches and verifies every file of a skill, so that the user can keep a copy to look at.
    ///
    /// This is the only place that fetches files which the caller did not name one by one. It first
    /// refuses files that some file system cannot keep apart or some system treats specially;
    /// `reserved` are names that the copy needs for itself.
    #[tracing::instrument(skip_all, fields(skill = %listed.id()))]
    pub async fn export(
        &self,
        listed: &ListedSkill,
        reserved: &[RelPath],
    ) -> Result<Vec<ExportedFile>, Refusal> {
        let exported = self.export_unlogged(listed, reserved).await;
        let outcome = exported.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        let content = listed.content().map(|content| LoggedContent::from(&content));
        self.log_skill(listed.id(), content, Action::Export, outcome, None);
        exported
    }

    async fn export_unlogged(
        &self,
        listed: &ListedSkill,
        reserved: &[RelPath],
    ) -> Result<Vec<ExportedFile>, Refusal> {
        let skill = listed.id();
        let refuse = |reason| Refusal::new(reason).about(skill);
        let Resources::Listed(files) = &listed.entry().resources else {
            return Err(refuse(Reason::DynamicDeclined)
                .expected("a manifest with digests")
                .actual("`\"dynamic\"`"));
        };
        let mut named = Vec::with_capacity(files.len());
        for file in files {
            let path = skill.uri.below(&file.uri);
            named
                .push((path.ok_or_else(|| refuse(Reason::ResourceOutside).file(&file.uri))?, file));
        }
        portable::check(named.iter().map(|(path, _)| path).chain(reserved)).map_err(|error| {
            refuse(Reason::FileNamesCollide)
                .expected("names that every disk keeps apart")
                .actual(error)
                .remedy(Remedy::ShowFiles)
        })?;
        let mut exported = Vec::with_capacity(named.len());
        for (path, file) in named {
            let bytes = self.fetch(listed, file).await?.bytes().clone();
            exported.push(ExportedFile { path, bytes });
        }
        Ok(exported)
    }
}
