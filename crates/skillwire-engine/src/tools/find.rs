//! Finds the skill that a model names.

use std::sync::Arc;

use skillwire_catalog::Snapshot;
use skillwire_core::{SKILL_FILE, Scheme, SkillPath, SkillUri, visible::one_line_within};
use skillwire_source::Skill;

use super::text::handle;
use crate::engine::OwnedCall;

/// The most skills that an answer about an ambiguous name lists.
const MAX_CANDIDATES: usize = 20;

/// Finds the skill with this path, name or URI in the caller's view; the error is for a model.
pub(super) async fn find(call: &OwnedCall, name: &str) -> Result<Arc<Skill>, String> {
    let snapshot = &call.snapshot;
    let uris = uris(snapshot, name);
    let mut found: Vec<_> =
        uris.iter().filter_map(|uri| snapshot.skill(uri.as_str())).cloned().collect();
    if found.is_empty() {
        found = snapshot.named(name).take(MAX_CANDIDATES).cloned().collect();
    }
    if found.is_empty() && name.contains("://") {
        for uri in uris {
            let sought = call.look_up(&uri).await.map_err(|_| {
                let name = one_line_within(name, 200);
                format!("The server could not look for `{name}` now. Call again later.")
            })?;
            found.extend(sought);
        }
    }
    match (found.len(), found.pop()) {
        (1, Some(skill)) => Ok(skill),
        (_, Some(last)) => {
            let all: Vec<_> = found.iter().chain([&last]).map(|it| handle(snapshot, it)).collect();
            Err(format!("`{name}` may be any of {}. Call again with one of them.", all.join(", ")))
        }
        (_, None) => Err(format!(
            "This server has no skill `{}`. `list_skills` shows its skills.",
            one_line_within(name, 200)
        )),
    }
}

/// Returns the URI that a listing continues after; the skill need not exist any more.
pub(super) fn after(snapshot: &Snapshot, path: &str) -> String {
    let first = uris(snapshot, path).into_iter().next();
    first.map_or_else(|| path.to_owned(), |uri| uri.to_string())
}

/// Lists the URIs that a path or a URI can stand for: one for each scheme in use.
fn uris(snapshot: &Snapshot, name: &str) -> Vec<SkillUri> {
    let name = name.trim_end_matches('/');
    if name.contains("://") {
        let of_root = || SkillUri::parse(&format!("{name}/{SKILL_FILE}"));
        return SkillUri::parse(name).or_else(|_| of_root()).into_iter().collect();
    }
    let name = name.strip_suffix(SKILL_FILE).map_or(name, |root| root.trim_end_matches('/'));
    let Ok(path) = SkillPath::parse(name) else { return Vec::new() };
    let schemes = snapshot.schemes().filter_map(|scheme| Scheme::parse(scheme).ok());
    schemes.map(|scheme| SkillUri::new(&scheme, &path)).collect()
}
