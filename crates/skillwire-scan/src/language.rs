//! The programming languages whose code is parsed.

/// A language with a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    Shell,
    Python,
    JavaScript,
    TypeScript,
    PowerShell,
}

impl Language {
    /// The language of a file, by its name or its first line.
    pub(crate) fn of_file(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let end = name.rsplit_once('.').map(|(_, end)| end);
        match end {
            Some("sh" | "bash" | "zsh" | "ksh" | "command" | "bashrc" | "zshrc") => {
                Some(Self::Shell)
            }
            Some("py" | "pyw" | "pyi") => Some(Self::Python),
            Some("js" | "mjs" | "cjs" | "jsx") => Some(Self::JavaScript),
            Some("ts" | "mts" | "cts" | "tsx") => Some(Self::TypeScript),
            Some("ps1" | "psm1" | "psd1") => Some(Self::PowerShell),
            _ => Self::of_first_line(text),
        }
    }

    /// The language that a `#!` line names.
    fn of_first_line(text: &str) -> Option<Self> {
        let line = text.strip_prefix("#!")?.lines().next()?;
        [
            ("python", Self::Python),
            ("node", Self::JavaScript),
            ("deno", Self::TypeScript),
            ("bun", Self::TypeScript),
            ("pwsh", Self::PowerShell),
            ("sh", Self::Shell),
        ]
        .into_iter()
        .find_map(|(name, language)| line.contains(name).then_some(language))
    }

    /// The language of a fenced block, by its info string.
    pub(crate) fn of_fence(info: &str) -> Option<Self> {
        let word = info.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())?;
        match word.to_ascii_lowercase().as_str() {
            "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "shellscript" => {
                Some(Self::Shell)
            }
            "python" | "py" | "python3" => Some(Self::Python),
            "javascript" | "js" | "jsx" | "node" | "mjs" => Some(Self::JavaScript),
            "typescript" | "ts" | "tsx" => Some(Self::TypeScript),
            "powershell" | "ps1" | "pwsh" | "ps" => Some(Self::PowerShell),
            _ => None,
        }
    }
}
