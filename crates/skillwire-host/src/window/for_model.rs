//! From a window to text for a model: the one path that tools, commands and bridges share.

use skillwire_dialects::sep_2076::ArgumentValues;
use skillwire_trust::{ListedSkill, Refusal};

use super::{FileContent, Window};
use crate::{
    context::{
        block::{self, FilePart, LoadedSkill, SkillFile},
        boundary::Boundaries,
        model_text::ModelText,
    },
    host::{Host, Loaded},
};

/// A file of a skill, as bytes and as text for a model.
pub struct FileForModel {
    /// The file.
    pub content: FileContent,
    /// The text, below a note that names the origin.
    pub text: ModelText,
}

impl Host {
    /// Loads a skill for a model. Asks the user first, through the host's prompter, unless they
    /// have approved the skill as it is.
    #[tracing::instrument(skip_all, fields(skill = %listed.id()))]
    pub async fn load_for_model(
        &self,
        listed: &ListedSkill,
        arguments: &ArgumentValues,
    ) -> Result<Loaded, Refusal> {
        // A caller that leaves out an argument cannot load the skill, so the user is not asked.
        listed.with_arguments(arguments)?;
        let approved = self.approved_or_ask(listed).await?;
        self.load_with(approved, arguments).await
    }
}

impl Window {
    /// Returns the text of `SKILL.md` for a model that knows the skill by this handle.
    pub fn skill_for_model(
        &self,
        handle: &str,
        boundaries: &Boundaries,
    ) -> Result<ModelText, Refusal> {
        let directory = self.host.directory_of(self.skill());
        let others = self.listed().other_files();
        let skill = LoadedSkill {
            handle,
            entry: self.entry(),
            content: self.skill_file(),
            directory: directory.as_deref(),
            others: others.as_deref(),
        };
        Ok(block::loaded_skill(skill, boundaries)?)
    }

    /// Reads another file of the skill, or a part of it, for a model that knows the skill by this
    /// handle.
    pub async fn read_for_model(
        &self,
        path: &str,
        part: FilePart,
        handle: &str,
        boundaries: &Boundaries,
    ) -> Result<FileForModel, Refusal> {
        let content = self.read(path).await?;
        let text = block::skill_file(SkillFile { handle, content: &content, part }, boundaries)?;
        Ok(FileForModel { content, text })
    }
}
