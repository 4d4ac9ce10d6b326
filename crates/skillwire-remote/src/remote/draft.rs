//! Skills of servers that speak a draft of the extension.

use skillwire_dialects::{DraftSkill, RefusedEntry};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Origin, Reason, Refusal, Remedy, SkillId, UnreadSkill,
};

/// Reads a skill of a draft. An entry that lists no files counts as dynamic if the user allows
/// older servers.
pub(super) fn known(
    origin: &Origin,
    skill: Result<DraftSkill, RefusedEntry>,
    allows_legacy: bool,
) -> Result<KnownSkill, Refusal> {
    match skill {
        Ok(DraftSkill::WithDigests(skill)) => Ok(UnreadSkill::offered(origin, skill).into()),
        Ok(DraftSkill::WithoutFiles(entry)) if allows_legacy => {
            Ok(ListedSkill::new(origin.clone(), entry.into(), EntrySource::Named).into())
        }
        Ok(DraftSkill::WithoutFiles(entry)) => {
            Err(files_unlisted(&SkillId { origin: origin.clone(), uri: entry.uri }))
        }
        Err(refused) => Err(Refusal::of_entry(origin, refused)),
    }
}

fn files_unlisted(skill: &SkillId) -> Refusal {
    let refusal = Refusal::new(Reason::ResourcesInvalid)
        .about(skill)
        .expected("a list or `\"dynamic\"`")
        .actual("nothing, as in a draft of the extension");
    match skill.origin.server() {
        Some(label) => refusal.remedy(Remedy::AcceptDraft(label.clone())),
        None => refusal,
    }
}
