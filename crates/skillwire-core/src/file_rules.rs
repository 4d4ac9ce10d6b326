//! Which files belong to a skill at all, and which look like secrets.

/// Tells whether a file or directory name is version control, operating system or editor litter, or
/// holds packages that a package manager installed.
///
/// The same rule decides the manifest, reads and directory views, so the three always agree.
pub fn is_ignored(name: &str) -> bool {
    matches!(
        name,
        ".git" | ".hg" | ".svn" | ".DS_Store" | "Thumbs.db" | "__pycache__" | "node_modules"
    ) || is_swap_file(name)
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
    if is_sample(&lower) {
        None
    } else if lower == ".env" || lower.starts_with(".env.") {
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

/// Tells whether a name says that the file shows a form and holds nothing.
fn is_sample(lower: &str) -> bool {
    lower.split(['.', '-', '_']).any(|word| {
        matches!(
            word,
            "example"
                | "examples"
                | "sample"
                | "samples"
                | "template"
                | "templates"
                | "tmpl"
                | "tpl"
                | "dist"
                | "schema"
                | "defaults"
        )
    })
}

/// Tells whether a file that has a secret's name is seen to hold none.
pub(crate) fn holds_no_secret(name: &str, bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let lower = name.to_ascii_lowercase();
    if lower.starts_with(".env") {
        return text.lines().all(|line| is_empty_setting(line.trim()));
    }
    match lower.rsplit_once('.').map_or("", |(_, ending)| ending) {
        // Most of these say where packages come from, and a few hold the password for it.
        "npmrc" | "pypirc" => !["_auth", "password", "token"].iter().any(|key| text.contains(key)),
        "pem" => text.contains("-----BEGIN ") && !text.contains("PRIVATE KEY"),
        _ => false,
    }
}

/// Tells whether a line of an environment file sets nothing, or only says what to set.
fn is_empty_setting(line: &str) -> bool {
    const PLACEHOLDERS: [&str; 7] =
        ["your", "xxx", "changeme", "example", "placeholder", "...", "<"];
    if line.is_empty() || line.starts_with('#') {
        return true;
    }
    let Some((_, value)) = line.split_once('=') else { return false };
    let value = value.split(" #").next().unwrap_or(value).trim();
    let value = value.trim_matches(['"', '\'']).to_ascii_lowercase();
    value.is_empty() || PLACEHOLDERS.iter().any(|word| value.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn litter_is_ignored_and_dotfiles_are_kept_v_43() {
        for name in [".git", ".DS_Store", "__pycache__", ".SKILL.md.swp", "a.md~", ".#a", "#a#"] {
            assert!(is_ignored(name), "{name}");
        }
        let kept = [".gitignore", ".env", ".eslintrc.json", "node_module", "~", "a~b", ".swp"];
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

    #[test]
    fn examples_samples_templates_and_schemas_are_no_secrets_rs_09() {
        for name in [
            ".env.example.txt",
            ".env.schema",
            ".env.local.sample",
            ".env.template",
            ".ENV.Example",
            "credentials.example.json",
            "secrets.sample.yaml",
            "example.pem",
        ] {
            assert!(secret_kind(name).is_none(), "{name}");
        }
        for name in [".env.production", "credentials.json", "secrets.yaml", "exampled.pem"] {
            assert!(secret_kind(name).is_some(), "{name}");
        }
    }

    #[test]
    fn files_in_which_every_value_is_empty_hold_no_secret_rs_09() {
        let empty = "# Copy this.\n\nTOKEN=\nexport KEY=\"\"\nURL=<your url>\nID=your-id # why\n";
        assert!(holds_no_secret(".env", empty.as_bytes()));
        assert!(holds_no_secret(".env", b""));
        for full in ["TOKEN=1\n", "TOKEN=\nKEY=a8f3\n", "TOKEN 1\n"] {
            assert!(!holds_no_secret(".env", full.as_bytes()), "{full}");
        }
        let certificate = b"-----BEGIN CERTIFICATE-----\nMIIB\n";
        assert!(holds_no_secret("ca.pem", certificate));
        let key = ["-----BEGIN ", "PRIVATE KEY-----\n"].concat();
        assert!(!holds_no_secret("ca.pem", key.as_bytes()));
        assert!(!holds_no_secret("tls.key", certificate));
        assert!(holds_no_secret(".npmrc", b"registry=https://x.org/\n"));
        assert!(!holds_no_secret(".npmrc", b"//x.org/:_authToken=abc\n"));
        assert!(!holds_no_secret("id_rsa", b""));
    }
}
