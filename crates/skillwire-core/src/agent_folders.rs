//! The folders in which agents look for skills on a machine.

use std::path::{Path, PathBuf};

/// The folders that Skillwire reads, below a project or the user's home; earlier ones win.
pub const READ_FOLDERS: [&str; 7] = [
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".github/skills",
    ".opencode/skills",
];

/// Further folders that other agents read, below a project or the user's home.
const OTHERS: [&str; 24] = [
    ".augment/skills",
    ".cline/skills",
    ".continue/skills",
    ".copilot/skills",
    ".crush/skills",
    ".devin/skills",
    ".factory/skills",
    ".goose/skills",
    ".grok/skills",
    ".hermes/skills",
    ".junie/skills",
    ".kilo/skills",
    ".kilocode/skills",
    ".kiro/skills",
    ".opencode/skill",
    ".openclaw/skills",
    ".openhands/skills",
    ".pi/skills",
    ".qoder/skills",
    ".qwen/skills",
    ".roo/skills",
    ".trae/skills",
    ".vibe/skills",
    ".windsurf/skills",
];

/// Folders that agents read below the user's home only.
const HOME_ONLY: [&str; 11] = [
    ".codeium/windsurf/skills",
    ".config/agents/skills",
    ".config/amp/skills",
    ".config/crush/skills",
    ".config/devin/skills",
    ".config/goose/skills",
    ".config/opencode/skill",
    ".config/opencode/skills",
    ".deepagents/agent/skills",
    ".gemini/antigravity/skills",
    ".gemini/antigravity-cli/skills",
];

/// Folders that agents read below a project only.
const PROJECT_ONLY: [&str; 3] = ["skills", "agent/skills", "data/skills"];

/// Folders that agents read for every user of a machine.
const MACHINE: [&str; 1] = ["/etc/codex/skills"];

/// Returns the folders that Skillwire reads skills from, whether or not they exist.
pub fn read_folders(home: Option<&Path>, project: Option<&Path>) -> Vec<PathBuf> {
    let bases = project.into_iter().chain(home);
    bases.flat_map(|base| READ_FOLDERS.iter().map(|folder| base.join(folder))).collect()
}

/// Returns every known place at which some agent looks for skills.
pub fn discovery_paths(home: Option<&Path>, project: Option<&Path>) -> Vec<PathBuf> {
    let below = |base: Option<&Path>, only: &[&str]| -> Vec<PathBuf> {
        let folders = READ_FOLDERS.iter().chain(&OTHERS).chain(only);
        base.map_or_else(Vec::new, |base| folders.map(|folder| base.join(folder)).collect())
    };
    let mut paths = below(project, &PROJECT_ONLY);
    paths.extend(below(home, &HOME_ONLY));
    paths.extend(MACHINE.iter().map(PathBuf::from));
    paths
}

/// Tells whether a path lies in a folder that agents read, by its names alone.
///
/// Agents call such folders `skills` or `skill` and put them into a hidden folder of their own, so
/// every hidden folder counts, also those of agents that are not listed here.
pub fn lies_in_agent_folder(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let is_skills = |name: &str| ["skills", "skill"].iter().any(|s| name.eq_ignore_ascii_case(s));
    let hidden = names.windows(2).any(|pair| pair[0].starts_with('.') && is_skills(&pair[1]));
    let known = OTHERS.iter().chain(&HOME_ONLY).chain(&MACHINE).any(|folder| {
        let folder: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        let same = |window: &[std::borrow::Cow<'_, str>]| {
            window.iter().zip(&folder).all(|(name, known)| name.eq_ignore_ascii_case(known))
        };
        names.windows(folder.len()).any(same)
    });
    hidden || known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_agents_are_known_by_their_names_hst_95() {
        for folder in [
            "/home/x/.claude/skills",
            "/p/.agents/skills/cache",
            "/x/.codex/SKILLS/a/b",
            "/x/.opencode/skill",
            "/x/.new-agent/skills/a",
            "/home/x/.config/goose/skills/a",
            "/etc/codex/skills/a",
        ] {
            assert!(lies_in_agent_folder(Path::new(folder)), "{folder}");
        }
        for other in ["/home/skills/.cache/skillwire", "/srv/skills/a", "/x/.config/goose"] {
            assert!(!lies_in_agent_folder(Path::new(other)), "{other}");
        }
        let (home, project) = (Path::new("/home/me"), Path::new("/src/thing"));
        let hidden = |path: &PathBuf| path.to_string_lossy().contains("/.");
        let paths = discovery_paths(Some(home), Some(project));
        assert!(paths.iter().filter(|path| hidden(path)).all(|path| lies_in_agent_folder(path)));
    }
}
