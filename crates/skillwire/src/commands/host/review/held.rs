//! What the command holds about a skill that is on the screen.

use skillwire_terminal::{StyledLine, review::WaitingKind};
use skillwire_trust::{
    ApprovalReview, KnownSkill, ListedSkill, RegistryItem, Standing, requested_tools,
};

/// A skill that is on the screen.
#[derive(Debug, Clone)]
pub(super) struct HeldSkill {
    pub(super) handle: String,
    /// The skill as its listing describes it.
    pub(super) known: KnownSkill,
    /// Its entry; a skill of an older server has none until its `SKILL.md` was read.
    pub(super) listed: Option<ListedSkill>,
    /// The review whose card the screen shows. A decision counts only while the card would be the
    /// same.
    pub(super) review: Option<ApprovalReview>,
    /// The lines of its changed files, once they were compared.
    pub(super) diff: Vec<StyledLine>,
}

impl HeldSkill {
    pub(super) fn new(item: &RegistryItem) -> Self {
        let listed = match &item.skill {
            KnownSkill::Listed(listed) if listed.offer().is_none() => Some(listed.clone()),
            _ => None,
        };
        let handle = item.handle.clone();
        let known = item.skill.clone();
        Self { handle, known, listed, review: None, diff: Vec::new() }
    }

    /// The same skill with the entry that its server gave for it alone.
    pub(super) fn with_entry(self, listed: ListedSkill) -> Self {
        let known = listed.clone().into();
        Self { known, listed: Some(listed), review: None, diff: Vec::new(), ..self }
    }
}

/// Why a skill waits.
pub(super) fn kind(skill: &KnownSkill, standing: &Standing) -> WaitingKind {
    let Standing::Changed(changes) = standing else { return WaitingKind::New };
    let requested = requested_tools(&skill.entry().frontmatter);
    let tools =
        changes.frontmatter.iter().find(|field| field.pointer.starts_with("/allowed-tools"));
    match tools {
        Some(field) => {
            let before = field.before.as_ref().map(ToString::to_string).unwrap_or_default();
            let is_wider = requested.iter().any(|tool| !before.contains(tool.as_str()));
            if is_wider { WaitingKind::Widened } else { WaitingKind::Changed }
        }
        None => WaitingKind::Changed,
    }
}
