//! What is known of clients by the name they give themselves: which skill folders they read without
//! a bridge, and whether they show instructions to their model.
//!
//! Any client can claim any name. Nothing is allowed because of it; only lists and words differ.

/// A client, as far as the bridge treats it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    ClaudeCode,
    Codex,
    GeminiCli,
    QwenCode,
    OpenCode,
    Copilot,
    VsCode,
    Cursor,
    Goose,
    FastAgent,
    Other,
}

impl ClientKind {
    /// Every kind, in the order of [`Self::index`].
    pub(crate) const ALL: [Self; 11] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::QwenCode,
        Self::OpenCode,
        Self::Copilot,
        Self::VsCode,
        Self::Cursor,
        Self::Goose,
        Self::FastAgent,
        Self::Other,
    ];

    /// Recognises a client by the name it gives itself.
    pub(crate) fn of(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let kinds = [
            ("claude-code", Self::ClaudeCode),
            ("codex", Self::Codex),
            ("gemini", Self::GeminiCli),
            ("qwen", Self::QwenCode),
            ("opencode", Self::OpenCode),
            ("copilot", Self::Copilot),
            ("cursor", Self::Cursor),
            ("visual studio code", Self::VsCode),
            ("vscode", Self::VsCode),
            ("goose", Self::Goose),
            ("fast-agent", Self::FastAgent),
        ];
        let known = kinds.into_iter().find(|(part, _)| name.contains(part));
        known.map_or(Self::Other, |(_, kind)| kind)
    }

    /// The place of the kind in [`Self::ALL`].
    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default()
    }

    /// The folders, below the user's home and a project, that the client reads by itself. Its skills
    /// are there without a bridge.
    fn native_folders(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[".claude/skills"],
            Self::Codex => &[".agents/skills", ".codex/skills"],
            Self::GeminiCli => &[".agents/skills", ".gemini/skills"],
            Self::OpenCode => &[".agents/skills", ".claude/skills", ".opencode/skills"],
            Self::Copilot | Self::VsCode => &[".agents/skills", ".claude/skills", ".github/skills"],
            Self::Cursor => {
                &[".agents/skills", ".claude/skills", ".codex/skills", ".cursor/skills"]
            }
            Self::Goose => &[".agents/skills", ".claude/skills"],
            Self::QwenCode | Self::FastAgent | Self::Other => &[],
        }
    }

    /// Tells whether the client has a skill at this path, below the user's home or a project,
    /// without a bridge.
    pub(crate) fn reads(self, path: &str) -> bool {
        self.native_folders().iter().any(|folder| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        })
    }

    /// Tells whether the client shows the instructions of servers to its model. For all others, the
    /// catalogue is in the description of `load_skill`, which every client shows.
    pub(crate) fn shows_instructions(self) -> bool {
        match self {
            Self::ClaudeCode
            | Self::Codex
            | Self::GeminiCli
            | Self::QwenCode
            | Self::OpenCode
            | Self::VsCode
            | Self::Goose
            | Self::FastAgent => true,
            Self::Copilot | Self::Cursor | Self::Other => false,
        }
    }

    /// How many characters of a file one answer shows, unless the model asks for another number.
    /// Codex cuts the middle out of longer answers.
    pub(crate) fn read_limit(self) -> usize {
        match self {
            Self::Codex => 10_000,
            _ => 40_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_known_by_their_names_and_folders_cl_04() {
        for (name, kind) in [
            ("claude-code", ClientKind::ClaudeCode),
            ("codex-mcp-client", ClientKind::Codex),
            ("gemini-cli-mcp-client", ClientKind::GeminiCli),
            ("qwen-code-mcp-client-skillwire", ClientKind::QwenCode),
            ("Visual Studio Code", ClientKind::VsCode),
            ("cursor-vscode", ClientKind::Cursor),
            ("claude-ai", ClientKind::Other),
            ("", ClientKind::Other),
        ] {
            assert_eq!(ClientKind::of(Some(name)), kind, "{name}");
            assert_eq!(ClientKind::ALL[kind.index()], kind);
        }
        assert!(ClientKind::ClaudeCode.reads(".claude/skills/pdf"));
        assert!(!ClientKind::ClaudeCode.reads(".agents/skills/pdf"));
        assert!(!ClientKind::ClaudeCode.reads(".claude/skills-of-mine/pdf"));
        assert!(!ClientKind::Other.reads(".claude/skills/pdf"));
    }
}
