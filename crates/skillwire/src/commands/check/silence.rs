//! Reads a `skillwire.toml` beside skills, which silences findings with a reason for each.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use skillwire_core::{Code, Effect, Finding, Position, SKILL_FILE};
use skillwire_source::PathPatterns;
use toml::Spanned;

use crate::failure::Failure;

/// The name of the file.
const FILE: &str = "skillwire.toml";

/// The most bytes it may have.
const MOST_BYTES: u64 = 1 << 20;

/// Everything that is silenced for one folder.
#[derive(Default)]
pub(in crate::commands) struct SilenceRules {
    /// The folder the file is in, to which patterns are relative.
    base: PathBuf,
    all: Vec<SilenceRule>,
    /// Paths that are not checked.
    excluded: PathPatterns,
}

struct SilenceRule {
    code: Code,
    reason: String,
    files: Option<PathPatterns>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SilenceFile {
    #[serde(default)]
    silence: Vec<SilenceEntry>,
    #[serde(default)]
    check: CheckEntry,
    /// What `skillwire scan` reads.
    #[serde(default)]
    #[expect(dead_code, reason = "another command reads it")]
    scan: toml::Table,
    /// What `skillwire sync` reads.
    #[serde(default)]
    #[expect(dead_code, reason = "another command reads it")]
    project: toml::Table,
    #[serde(default)]
    #[expect(dead_code, reason = "another command reads it")]
    server: Vec<toml::Table>,
    #[serde(default)]
    #[expect(dead_code, reason = "another command reads it")]
    source: Vec<toml::Table>,
}

/// Settings of `check` itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckEntry {
    exclude: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SilenceEntry {
    code: Spanned<String>,
    reason: Spanned<String>,
    files: Option<Spanned<Vec<String>>>,
}

/// Reads a small regular file. A fifo could block the program, and a large file could fill its
/// memory.
fn read(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Err(io::Error::other("it is not a small regular file"));
    }
    std::fs::read_to_string(path)
}

impl SilenceRules {
    /// Reads the file that is nearest to a folder: in it, or in one above it.
    ///
    /// The search ends at the root of a repository. A file inside a skill belongs to the skill.
    pub(in crate::commands) fn beside(folder: &Path) -> Result<Self, Failure> {
        let is_skill = folder.join(SKILL_FILE).exists();
        for base in folder.ancestors().skip(usize::from(is_skill)) {
            let path = base.join(FILE);
            match read(&path) {
                Ok(text) => return Self::parse(base, &text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("`{}` cannot be read.", path.display());
                    return Err(Failure::usage(message).because(error));
                }
            }
            if base.join(".git").exists() {
                break;
            }
        }
        Ok(Self::default())
    }

    fn parse(base: &Path, text: &str) -> Result<Self, Failure> {
        let refuse = |at: usize, problem: &str| {
            let Position { line, column } = Position::of(text.as_bytes(), at);
            let place = base.join(FILE);
            Failure::usage(format!(
                "`{}`, line {line}, column {column}: {problem}",
                place.display()
            ))
        };
        let file: SilenceFile = toml::from_str(text).map_err(|error| {
            let problem = error.message().trim_end_matches('.').replace('\n', " ");
            refuse(error.span().map_or(0, |span| span.start), &format!("{problem}."))
                .hint("Write `[[silence]]` with a `code`, a `reason` and, if need be, `files`.")
        })?;
        let mut all = Vec::new();
        for SilenceEntry { code, reason, files } in file.silence {
            let known = Code::parse(code.get_ref()).ok_or_else(|| {
                refuse(code.span().start, &format!("There is no code `{}`.", code.get_ref()))
                    .hint("`skillwire check` prints the code of each finding in brackets.")
            })?;
            if matches!(known.effect(), Effect::Skip | Effect::SkipUnlessLenient) {
                let problem = format!("`{known}` cannot be silenced: the skill is not served.");
                return Err(refuse(code.span().start, &problem)
                    .hint(format!("`skillwire check --explain {known}` says how to fix it.")));
            }
            if reason.get_ref().trim().is_empty() {
                let problem = "The reason is empty.";
                return Err(refuse(reason.span().start, problem)
                    .hint("Say to the next reader why this is as it should be."));
            }
            let files = files.map(|files| {
                PathPatterns::parse(files.get_ref())
                    .map_err(|error| refuse(files.span().start, &format!("{error}.")))
            });
            let reason = reason.into_inner();
            all.push(SilenceRule { code: known, reason, files: files.transpose()? });
        }
        let excluded = file.check.exclude.map(|exclude| {
            PathPatterns::parse(exclude.get_ref())
                .map_err(|error| refuse(exclude.span().start, &format!("{error}.")))
        });
        let excluded = excluded.transpose()?.unwrap_or_default();
        Ok(Self { base: base.to_owned(), all, excluded })
    }

    /// Whether a path is left out of the check.
    pub(in crate::commands) fn excludes(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.base).ok().and_then(Path::to_str);
        relative.is_some_and(|relative| self.excluded.matches(relative))
    }

    /// The author's reason for silencing a finding; `None` if the finding is reported.
    pub(in crate::commands) fn reason(
        &self,
        finding: &Finding,
        path: Option<&Path>,
    ) -> Option<&str> {
        let relative = || path?.strip_prefix(&self.base).ok()?.to_str();
        let fits = |silence: &&SilenceRule| {
            silence.code == finding.code
                && silence
                    .files
                    .as_ref()
                    .is_none_or(|files| relative().is_some_and(|relative| files.matches(relative)))
        };
        self.all.iter().find(fits).map(|silence| silence.reason.as_str())
    }
}
