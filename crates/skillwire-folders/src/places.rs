//! The folders in which agents look for skills, links included.

use std::path::{Path, PathBuf};

use skillwire_core::agent_folders::discovery_paths;

/// Tells whether an agent might take a file at a path for a local skill.
///
/// Content of a server must not be put there, since it would become a local skill. Agents read
/// folders called `skills` or `skill`, including agents that are not listed here. Any such
/// directory on the path therefore counts, in any case and also behind symbolic links.
pub fn is_discovery_place(path: &Path, home: Option<&Path>, project: Option<&Path>) -> bool {
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = resolved(&given);
    let named = |path: &Path| {
        path.components().any(|part| {
            let part = part.as_os_str();
            part.eq_ignore_ascii_case("skills") || part.eq_ignore_ascii_case("skill")
        })
    };
    named(&given)
        || named(&real)
        || discovery_paths(home, project).iter().any(|place| real.starts_with(resolved(place)))
}

/// Resolves symbolic links in the part of a path that exists.
fn resolved(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|above| {
            let real = std::fs::canonicalize(above).ok()?;
            let rest = path.strip_prefix(above).ok()?;
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        })
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_place_is_recognised_hst_95() {
        let (home, project) = (Path::new("/home/me"), Path::new("/src/thing"));
        let paths = discovery_paths(Some(home), Some(project));
        for vendor in [
            "/home/me/.agents/skills",
            "/home/me/.claude/skills",
            "/home/me/.cursor/skills",
            "/home/me/.copilot/skills",
            "/etc/codex/skills",
            "/home/me/.codex/skills",
            "/home/me/.gemini/skills",
            "/home/me/.config/agents/skills",
            "/home/me/.config/opencode/skills",
            "/src/thing/.opencode/skills",
            "/src/thing/.github/skills",
        ] {
            assert!(paths.contains(&PathBuf::from(vendor)), "{vendor}");
        }
        for path in &paths {
            assert!(is_discovery_place(&path.join("pdf"), None, None), "{}", path.display());
        }
        for elsewhere in ["/anywhere/.Claude/Skills/x", "/new/.vendor/skills"] {
            assert!(is_discovery_place(Path::new(elsewhere), None, None), "{elsewhere}");
        }
        for fine in ["/home/me/.cache/skillwire/v1", "/home/me/skillset/x", "/srv/my-skills"] {
            assert!(!is_discovery_place(Path::new(fine), Some(home), Some(project)), "{fine}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_place_behind_a_link_is_recognised_hst_95() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().join("dotfiles/mine");
        std::fs::create_dir_all(&real).unwrap();
        std::fs::create_dir_all(home.path().join(".claude")).unwrap();
        assert!(!is_discovery_place(&real.join("pdf"), Some(home.path()), None));
        std::os::unix::fs::symlink(&real, home.path().join(".claude/skills")).unwrap();
        assert!(is_discovery_place(&real.join("pdf"), Some(home.path()), None));
    }
}
