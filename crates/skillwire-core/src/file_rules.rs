//! Which files belong to a skill at all, and which look like secrets.

/// Tells whether a file or directory name is version control, operating system or editor litter.
///
/// The same rule decides the manifest, reads and directory views, so the three always agree.
pub fn is_ignored(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".DS_Store" | "Thumbs.db" | "__pycache__")
        || is_swap_file(name)
}

/// Vim's `.x.swp` family, Emacs's `.#x` and `#x#`, and `x~` backups.
fn is_swap_file(name: &str) -> bool {
    let vim =
        name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.')).is_some_and(|(stem, end)| {
            !stem.is_empty() && matches!(end, "swp" | "swo" | "swn" | "swx")
        });
    vim || name.starts_with(".#")
        || (name.len() > 1 && name.ends_with('~'))
        || (name.len() > 2 && name.starts_with('#') && name.ends_with('#'))
}

/// Says what kind of secret a file name stands for, when it does.
pub fn secret_kind(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| lower.ends_with(suffix));
    let sample = ends(&[".example", ".sample", ".template", ".dist"]);
    if (lower == ".env" || lower.starts_with(".env.")) && !sample {
        Some("an environment file")
    } else if matches!(lower.as_str(), "id_rsa" | "id_dsa" | "id_ecdsa" | "id_ed25519")
        || ends(&[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk"])
    {
        Some("a private key or key store")
    } else if matches!(
        lower.as_str(),
        ".netrc" | "_netrc" | ".npmrc" | ".pypirc" | ".pgpass" | ".htpasswd" | ".git-credentials"
    ) || matches!(
        lower.as_str(),
        "credentials" | "credentials.json" | "secrets.json" | "secrets.yaml" | "secrets.yml"
    ) {
        Some("a credential file")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn litter_is_ignored_and_dotfiles_are_kept_v_43() {
        for name in [".git", ".DS_Store", "__pycache__", ".SKILL.md.swp", "a.md~", ".#a", "#a#"] {
            assert!(is_ignored(name), "{name}");
        }
        let kept = [".gitignore", ".env", ".eslintrc.json", "node_modules", "~", "a~b", ".swp"];
        for name in kept.into_iter().chain(["#", "##", "#a", "notes.swp"]) {
            assert!(!is_ignored(name), "{name}");
        }
    }

    #[test]
    fn secret_names_are_recognised_v_43() {
        for name in [".env", ".env.local", "id_rsa", "server.PEM", "tls.key", ".npmrc"] {
            assert!(secret_kind(name).is_some(), "{name}");
        }
        for name in [".env.example", "id_rsa.pub", "keys.md", "environment.md", "monkey"] {
            assert!(secret_kind(name).is_none(), "{name}");
        }
    }
}
