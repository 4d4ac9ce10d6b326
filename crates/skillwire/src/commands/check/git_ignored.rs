//! Files of a skill that git ignores.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skillwire_core::{Code, Finding};
use skillwire_source::{Skill, SkillContent};

/// The most findings for one skill; the last one counts the others.
const MOST: usize = 5;

/// The files of a skill that a `.gitignore` of its repository leaves out.
///
/// Only `.gitignore` files count. Lists of the user's own (`core.excludesFile`, `.git/info/exclude`) say
/// nothing about what colleagues have.
pub(super) fn findings(directory: &Path, origin: &str, skill: Option<&Skill>) -> Vec<Finding> {
    let Some(SkillContent::Files(tree)) = skill.map(|skill| &skill.content) else {
        return Vec::new();
    };
    let Some(repository) = directory.ancestors().find(|above| above.join(".git").exists()) else {
        return Vec::new();
    };
    let rules = IgnoreRules::between(repository, directory);
    let ignored: Vec<&str> = tree
        .files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|file| rules.ignores(&directory.join(file)))
        .collect();
    let named = ignored.iter().take(MOST).map(|file| {
        let message = "Git ignores the file, so a clone of the repository has another skill.";
        Finding::new(Code::GitIgnored, format!("{origin}/{file}"), message)
            .help("Move it out of the skill, or take it out of `.gitignore`.")
    });
    let mut findings: Vec<Finding> = named.collect();
    if let Some(rest) = ignored.len().checked_sub(MOST).filter(|rest| *rest > 0) {
        let message = format!("Git ignores {rest} more files of the skill.");
        findings.push(Finding::new(Code::GitIgnored, origin, message));
    }
    findings
}

/// The `.gitignore` files from the root of a repository down to a folder, and in the folder itself.
struct IgnoreRules(Vec<Gitignore>);

impl IgnoreRules {
    fn between(repository: &Path, folder: &Path) -> Self {
        let mut folders: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|above| above.starts_with(repository))
            .map(Path::to_owned)
            .collect();
        folders.reverse();
        let read = |folder: PathBuf| {
            let file = folder.join(".gitignore");
            if !file.is_file() {
                return None;
            }
            let mut rules = GitignoreBuilder::new(folder);
            // A line that cannot be read ignores nothing.
            let _ = rules.add(file);
            rules.build().ok()
        };
        Self(folders.into_iter().filter_map(read).collect())
    }

    /// The nearest file that says something about a path decides.
    fn ignores(&self, path: &Path) -> bool {
        let decided =
            self.0.iter().rev().map(|rules| rules.matched_path_or_any_parents(path, false));
        decided.into_iter().find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
    }
}
