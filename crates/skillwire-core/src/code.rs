//! Reason codes: what can be wrong, how serious it is, and what it means for serving.

use serde::{Serialize, Serializer};

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A matter of taste or size.
    Advice,
    /// A fact worth knowing; nothing needs to change.
    Info,
    /// It works here, but some hosts or validators refuse it.
    Warning,
    /// The Skills extension or the skill format forbids it.
    Error,
}

impl Level {
    /// Returns the lower-case word used in messages and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The effect of a finding on a server that would publish the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The skill is served all the same.
    Serve,
    /// The skill is served unless the operator asked for `--strict`.
    SkipWhenStrict,
    /// The skill is not served unless the operator asked for `--lenient`.
    SkipUnlessLenient,
    /// The skill is not served.
    Skip,
}

/// How forgiving a server is about skills that break the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Serves only what has no error and no warning that another host might refuse.
    Strict,
    /// Serves every skill that the released extension can carry.
    #[default]
    Normal,
    /// Also serves over-long descriptions and compatibility notes.
    Lenient,
}

impl Effect {
    /// Tells whether a finding with this effect keeps a skill from being served.
    pub fn skips(self, strictness: Strictness) -> bool {
        match self {
            Self::Serve => false,
            Self::SkipWhenStrict => strictness == Strictness::Strict,
            Self::SkipUnlessLenient => strictness != Strictness::Lenient,
            Self::Skip => true,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $level:ident, $effect:ident;)*) => {
        /// A stable reason code; its text form never changes once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// Every code there is, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the text form, such as `name-invalid`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// Returns the level a finding of this code has unless a flag raises it.
            pub fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)* }
            }

            /// Returns the effect of the finding on serving the skill.
            pub fn effect(self) -> Effect {
                match self { $(Self::$variant => Effect::$effect,)* }
            }

            /// Returns the page that explains the code; every code has one.
            pub fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => include_str!(concat!("../codes/", $id, ".md")),)*
                }
            }
        }
    };
}

codes! {
    /// No `SKILL.md` was found below a folder that was named.
    NoSkillFound = "no-skill-found", Error, Skip;
    /// `SKILL.md` is spelled in another case.
    SkillFileCase = "skill-file-case", Error, Skip;
    /// `SKILL.md` is a directory or another thing that is not a file.
    SkillFileNotAFile = "skill-file-not-a-file", Error, Skip;
    /// `SKILL.md` does not begin with a `---` line.
    FrontmatterMissing = "frontmatter-missing", Error, Skip;
    /// No line closes the frontmatter.
    FrontmatterUnclosed = "frontmatter-unclosed", Error, Skip;
    /// The frontmatter, or the whole `SKILL.md`, is not UTF-8.
    FrontmatterNotUtf8 = "frontmatter-not-utf8", Error, Skip;
    /// The frontmatter is a list, a scalar or nothing.
    FrontmatterNotAMapping = "frontmatter-not-a-mapping", Error, Skip;
    /// The frontmatter is not YAML.
    YamlSyntax = "yaml-syntax", Error, Skip;
    /// A plain value contains `: ` and must be quoted.
    YamlUnquotedColon = "yaml-unquoted-colon", Error, Skip;
    /// A mapping has the same key twice.
    YamlDuplicateKey = "yaml-duplicate-key", Error, Skip;
    /// An anchor (`&x`), alias (`*x`) or merge key (`<<`).
    YamlReference = "yaml-reference", Error, Skip;
    /// A tag such as `!!binary`.
    YamlTag = "yaml-tag", Error, Skip;
    /// More than one YAML document, or a directive.
    YamlDocuments = "yaml-documents", Error, Skip;
    /// The frontmatter is too large, too deep or has too many values.
    YamlLimit = "yaml-limit", Error, Skip;
    /// A key that is not a string.
    YamlKeyNotAString = "yaml-key-not-a-string", Error, Skip;
    /// A value that JSON cannot carry unchanged.
    YamlNotJson = "yaml-not-json", Error, Skip;
    /// A plain scalar whose type depends on the YAML version that reads it.
    YamlAmbiguousScalar = "yaml-ambiguous-scalar", Warning, Serve;
    /// A list in `[]` or a mapping in `{}`.
    YamlFlowStyle = "yaml-flow-style", Warning, Serve;
    /// Three dashes inside the frontmatter that are not its end.
    DashesInFrontmatter = "dashes-in-frontmatter", Warning, Serve;
    /// `name` is absent.
    NameMissing = "name-missing", Error, Skip;
    /// `name` breaks the naming rules or is not a string.
    NameInvalid = "name-invalid", Error, Skip;
    /// `name` differs from the directory's name.
    NameNotDirectory = "name-not-directory", Error, SkipWhenStrict;
    /// `name` is a word that older ways of carrying skills use for themselves.
    NameReserved = "name-reserved", Warning, Serve;
    /// `description` is absent, empty or not a string.
    DescriptionMissing = "description-missing", Error, Skip;
    /// `description` has more than 1,024 characters.
    DescriptionTooLong = "description-too-long", Error, SkipUnlessLenient;
    /// `description` holds control, bidirectional or invisible characters.
    DescriptionCharacters = "description-characters", Error, SkipWhenStrict;
    /// `compatibility` is empty or not a string.
    CompatibilityInvalid = "compatibility-invalid", Error, SkipUnlessLenient;
    /// `compatibility` has more than 500 characters.
    CompatibilityTooLong = "compatibility-too-long", Error, SkipUnlessLenient;
    /// `license` is not a string.
    LicenseNotAString = "license-not-a-string", Warning, Serve;
    /// `license` names a file that is not there.
    LicenseFileMissing = "license-file-missing", Warning, Serve;
    /// `metadata` is not a mapping.
    MetadataNotAMapping = "metadata-not-a-mapping", Warning, Serve;
    /// A `metadata` value is not a string.
    MetadataValue = "metadata-value", Warning, Serve;
    /// A `metadata` key is under a prefix reserved for MCP extensions.
    MetadataReserved = "metadata-reserved", Warning, Serve;
    /// A `metadata` key is so general that others are likely to use it too.
    MetadataKeyGeneric = "metadata-key-generic", Info, Serve;
    /// `allowed-tools` is not one space-separated string.
    AllowedToolsForm = "allowed-tools-form", Warning, Serve;
    /// A top-level key that neither the format nor a known client defines.
    UnknownKey = "unknown-key", Warning, Serve;
    /// A top-level key that is a setting of some clients.
    ClientKey = "client-key", Info, Serve;
    /// `SKILL.md` begins with a byte order mark.
    ByteOrderMark = "byte-order-mark", Warning, Serve;
    /// The frontmatter has CRLF line ends.
    CrLf = "crlf", Warning, Serve;
    /// A line of the frontmatter, or a fence, ends in blanks.
    TrailingBlanks = "trailing-blanks", Warning, Serve;
    /// A symbolic link to another file of the same skill.
    SymlinkInside = "symlink-inside", Info, Serve;
    /// A symbolic link that leaves the skill.
    SymlinkOutside = "symlink-outside", Error, Skip;
    /// A symbolic link that leads nowhere, in a circle, or to a directory.
    SymlinkBroken = "symlink-broken", Error, Skip;
    /// A symbolic link among the skills of a folder; it is not followed.
    SymlinkNotScanned = "symlink-not-scanned", Warning, Serve;
    /// A fifo, socket or device.
    SpecialFile = "special-file", Error, Skip;
    /// A file or directory that cannot be read.
    Unreadable = "unreadable", Error, Skip;
    /// A file kept changing while it was read.
    Unstable = "unstable", Error, Skip;
    /// A file name that is not UTF-8.
    FileNameNotUtf8 = "file-name-not-utf8", Error, Skip;
    /// A file name that must be percent-encoded in its URI.
    FileNameEncoded = "file-name-encoded", Info, Serve;
    /// Two file names that differ only by case or Unicode form.
    FileNameTwins = "file-name-twins", Warning, SkipWhenStrict;
    /// A file that has more than one hard link, where the operator forbids that.
    HardLink = "hard-link", Error, Skip;
    /// A file whose name begins with a dot.
    HiddenFile = "hidden-file", Info, Serve;
    /// More than 512 files.
    TooManyFiles = "too-many-files", Error, Skip;
    /// More than 16,777,216 bytes.
    TooManyBytes = "too-many-bytes", Error, Skip;
    /// More directories below each other than the scan follows.
    TooDeep = "too-deep", Error, Skip;
    /// A file that looks like a secret.
    SecretFile = "secret-file", Error, Skip;
    /// A text that holds a key or token in its issuer's form.
    SecretText = "secret-text", Error, Skip;
    /// A text that holds what may be a key or token.
    SecretPossible = "secret-possible", Warning, Serve;
    /// A skill inside another skill.
    NestedSkill = "nested-skill", Warning, Serve;
    /// A nested `SKILL.md` that is no valid skill; it stays a supporting file.
    NestedSkillInvalid = "nested-skill-invalid", Warning, Serve;
    /// Two skills would be served at the same path.
    PathCollision = "path-collision", Error, Skip;
    /// Two skills share a name at different paths.
    DuplicateName = "duplicate-name", Warning, SkipWhenStrict;
    /// A file of the skill that git ignores.
    GitIgnored = "git-ignored", Info, Serve;
    /// A relative link to a file the skill does not have.
    LinkMissing = "link-missing", Warning, Serve;
    /// A link that leaves the skill, is absolute or uses backslashes.
    LinkNotPortable = "link-not-portable", Warning, Serve;
    /// A link to a file of the skill that goes up by `..`.
    LinkUpwards = "link-upwards", Info, Serve;
    /// A path in the text to a file the skill does not have.
    PathMissing = "path-missing", Info, Serve;
    /// References that lead to further references.
    LinkChain = "link-chain", Advice, Serve;
    /// A skill whose content is generated and cannot be verified.
    DynamicSkill = "dynamic-skill", Warning, Serve;
    /// A description that does not say when to use the skill.
    DescriptionWithoutWhen = "description-without-when", Advice, Serve;
    /// `compatibility` that says nothing about an environment.
    CompatibilityVague = "compatibility-vague", Advice, Serve;
    /// A `SKILL.md` that is longer than a model should have to read.
    BodyLong = "body-long", Advice, Serve;
    /// The server cannot save what it has read for its next start.
    IndexNotKept = "index-not-kept", Warning, Serve;
    /// A script without a line that says how it is run.
    ScriptWithoutInterpreter = "script-without-interpreter", Advice, Serve;
}

/// The heading below which a page says why its code matters.
const WHY: &str = "\n## Why it matters\n";

impl Code {
    /// Finds a code by its text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Returns what the code stands for, in one paragraph.
    pub fn summary(self) -> String {
        let page = self.page();
        paragraph(page.split_once('\n').map_or(page, |(_, text)| text))
    }

    /// Returns why a reader of the finding should care, in one paragraph.
    pub fn why(self) -> String {
        paragraph(self.page().split_once(WHY).map_or("", |(_, text)| text))
    }
}

/// The first paragraph of a text, on one line.
fn paragraph(text: &str) -> String {
    let lines = text.trim_start().lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_kebab_case() {
        let ids: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(ids.len(), Code::ALL.len());
        assert!(ids.iter().all(|id| {
            id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b.is_ascii_digit())
        }));
    }

    #[test]
    fn strictness_decides_about_the_effects_in_between_and_no_others() {
        let skipped_by = |effect: Effect| {
            [Strictness::Strict, Strictness::Normal, Strictness::Lenient]
                .map(|strictness| effect.skips(strictness))
        };
        assert_eq!(skipped_by(Effect::Serve), [false, false, false]);
        assert_eq!(skipped_by(Effect::SkipWhenStrict), [true, false, false]);
        assert_eq!(skipped_by(Effect::SkipUnlessLenient), [true, true, false]);
        assert_eq!(skipped_by(Effect::Skip), [true, true, true]);
    }

    #[test]
    fn only_errors_and_warnings_can_skip_a_skill() {
        for code in Code::ALL {
            let skips = code.effect() != Effect::Serve;
            assert!(!skips || code.level() >= Level::Warning, "{code}");
        }
    }
}
