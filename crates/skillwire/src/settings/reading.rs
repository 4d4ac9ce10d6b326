//! The settings for scanning folders of skills.

use std::path::{Path, PathBuf};

use skillwire_core::{Digest, RelPath, Scheme, Strictness};
use skillwire_source::{
    DirectoryOptions, DirectorySource, ScanProgress, SecretAllowList, SourceUnavailable,
};

use crate::{args::ReadingArgs, failure::Failure};

/// The resolved settings.
pub(crate) struct FolderReading {
    pub(crate) strictness: Strictness,
    pub(super) scheme: Scheme,
    allow_secret: SecretAllowList,
    single_link: bool,
    follow_links: bool,
    /// Whether findings that do not matter to a server are left out.
    brief: bool,
    /// The folder of the index that is kept between starts, if there is one.
    index: Option<PathBuf>,
    /// The counter of scanned skills, which all sources share.
    pub(crate) progress: ScanProgress,
}

impl FolderReading {
    pub(crate) fn resolve(args: &ReadingArgs) -> Result<Self, Failure> {
        let strictness = match (args.strict, args.lenient) {
            (true, true) => {
                return Err(Failure::usage("`strict` and `lenient` exclude each other.")
                    .hint("Keep one of them."));
            }
            (true, false) => Strictness::Strict,
            (false, true) => Strictness::Lenient,
            (false, false) => Strictness::Normal,
        };
        let scheme = match &args.scheme {
            None => Scheme::default(),
            Some(text) => Scheme::parse(text).map_err(|error| {
                Failure::usage(format!("`--scheme {text}` cannot be used: the URI {error}."))
                    .hint("Use a scheme such as `skill` or `acme-skills`.")
            })?,
        };
        let allow_secret =
            SecretAllowList::parse(args.allow_secret_file.iter().map(String::as_str))
                .map_err(|error| bad_pattern("--allow-secret-file", error))?;
        Ok(Self {
            strictness,
            scheme,
            allow_secret,
            single_link: args.require_single_link,
            follow_links: args.follow_links,
            brief: false,
            index: None,
            progress: ScanProgress::default(),
        })
    }

    /// Leaves out findings that do not matter to a server, and keeps an index in this folder.
    pub(super) fn for_serving(self, index: Option<PathBuf>) -> Self {
        Self { brief: true, index, ..self }
    }

    /// Opens a `[PREFIX=]DIR` argument.
    pub(crate) fn source(&self, argument: &str) -> Result<DirectorySource, Failure> {
        let (prefix, dir) = split_prefix(argument);
        let options = DirectoryOptions::default()
            .label(folder_of(argument))
            .prefix(prefix.iter().flat_map(|prefix| prefix.split('/')))
            .scheme(self.scheme.clone())
            .strictness(self.strictness)
            .allow_secret(self.allow_secret.clone())
            .single_link(self.single_link)
            .follow_links(self.follow_links)
            .brief(self.brief)
            .index(self.index.as_ref().map(|cache| cache.join(index_name(argument))))
            .progress(self.progress.clone());
        DirectorySource::new(dir, options).map_err(unavailable)
    }
}

/// Makes the failure for a folder that cannot be read.
pub(crate) fn unavailable(error: SourceUnavailable) -> Failure {
    let failure = Failure::usage(format!("`{}` cannot be read.", error.origin));
    let cause = error.source.as_ref().map(ToString::to_string);
    match cause.as_ref().and_then(|cause| error.reason.strip_prefix(cause.as_str())) {
        // The reason is the error of the system and what to do about it.
        Some(advice) => {
            failure.because(cause.unwrap_or_default()).hint(advice.trim_start_matches(". "))
        }
        None => failure.hint(error.reason),
    }
}

pub(super) fn bad_pattern(
    option: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Failure {
    Failure::usage(format!("`{option}`."))
        .because(error)
        .hint("`*` stays within a path segment, `**` does not, and `[[]` stands for `[`.")
}

/// The folder of a `[PREFIX=]DIR` argument, as findings name it.
pub(crate) fn folder_of(argument: &str) -> &str {
    split_prefix(argument).1.trim_end_matches('/')
}

/// Splits off a prefix, unless a folder with the whole name exists.
fn split_prefix(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((prefix, dir)) if RelPath::parse(prefix).is_ok() && !Path::new(argument).exists() => {
            (Some(prefix), dir)
        }
        _ => (None, argument),
    }
}

pub(super) fn absolute(argument: &str) -> String {
    let (prefix, dir) = split_prefix(argument);
    let path =
        std::path::absolute(dir).map_or_else(|_| dir.to_owned(), |p| p.display().to_string());
    match prefix {
        Some(prefix) => format!("{prefix}={path}"),
        None => path,
    }
}

/// The name of the index of a `[PREFIX=]DIR` argument: one for each folder and each prefix.
fn index_name(argument: &str) -> String {
    let digest = Digest::of(absolute(argument).as_bytes());
    let hex: String = digest.to_string().chars().skip("sha256:".len()).take(32).collect();
    format!("index-{hex}")
}
