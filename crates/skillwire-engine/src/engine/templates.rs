//! `resources/templates/list`: patterns of URIs that a user can fill in.

use skillwire_dialects::templates::ListedTemplate;
use skillwire_source::UriTemplate;

use super::{Call, Outcome, item};
use crate::dialect::{self, Dialect};

/// The template variable for a skill's path.
pub(super) const SKILL_PATH: &str = "skillPath";
/// The template variable for a file of a skill.
pub(super) const FILE_PATH: &str = "filePath";

/// The kind of resource that one of our templates leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateTarget {
    /// A skill's `SKILL.md`.
    Skill,
    /// Any file of a skill.
    File,
}

impl TemplateTarget {
    fn uri(self, scheme: &str) -> String {
        match self {
            Self::Skill => format!("{scheme}://{{+{SKILL_PATH}}}/SKILL.md"),
            Self::File => format!("{scheme}://{{+{SKILL_PATH}}}/{{+{FILE_PATH}}}"),
        }
    }

    /// Recognises one of our templates, and returns the scheme it is for.
    pub(super) fn recognise<'a>(
        uri: &str,
        schemes: impl Iterator<Item = &'a str>,
    ) -> Option<(Self, &'a str)> {
        schemes
            .flat_map(|scheme| [(Self::Skill, scheme), (Self::File, scheme)])
            .find(|(template, scheme)| template.uri(scheme) == uri)
    }
}

impl Call<'_> {
    pub(super) fn list_templates(&self) -> Outcome {
        let own = self.snapshot.schemes().flat_map(|scheme| {
            let skill = ListedTemplate {
                uri: &TemplateTarget::Skill.uri(scheme),
                name: "skill",
                description: "The instructions of one skill.",
                media_type: Some("text/markdown"),
            };
            let file = ListedTemplate {
                uri: &TemplateTarget::File.uri(scheme),
                name: "skill-file",
                description: "One file of a skill.",
                media_type: None,
            };
            [item(&skill).into_owned(), item(&file).into_owned()]
        });
        let of_operator = self.state.config.templates.iter().map(|template| {
            let UriTemplate { uri, name, description, .. } = template;
            let media_type = uri.ends_with("/SKILL.md").then_some("text/markdown");
            item(&ListedTemplate { uri, name, description, media_type }).into_owned()
        });
        let own: Vec<_> =
            of_operator.chain(own.filter(|_| self.speaks(Dialect::Templates))).collect();
        let offered = self.offered(|offer, caller| offer.resource_templates(caller));
        let cursor = self.cursor()?;
        dialect::list_templates(&self.to_owned_call(), own, cursor.as_deref(), &offered)
    }
}
