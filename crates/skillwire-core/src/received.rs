//! Reads an entry that a server sent, and checks everything that the extension demands of it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    digest::Digest,
    entry::{Resources, SkillEntry, SkillResource},
    frontmatter::Frontmatter,
    limits,
    raw_text::as_text,
    strict_json::{self, JsonLimits},
    uri::{ResourceUri, SkillUri},
    visible::truncated,
    yaml,
};

/// The largest frontmatter that is read, as JSON; escapes may make it longer than the file's.
const MAX_FRONTMATTER_BYTES: usize = 256 * 1024;

/// The largest size that a manifest can state; some readers of JSON round larger numbers.
const MAX_SIZE: u64 = 1 << 53;

/// Limits on the size of one skill; both are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryLimits {
    /// Most files.
    pub files: usize,
    /// Most bytes in all files together.
    pub bytes: u64,
}

impl Default for EntryLimits {
    fn default() -> Self {
        Self::new()
    }
}

impl EntryLimits {
    /// Returns the limits of the released extension.
    pub const fn new() -> Self {
        Self { files: limits::MAX_FILES, bytes: limits::MAX_BYTES }
    }

    /// Sets the most files.
    #[must_use]
    pub const fn with_files(self, files: usize) -> Self {
        Self { files, ..self }
    }

    /// Sets the most bytes in all files together.
    #[must_use]
    pub const fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }
}

/// The rule that an entry breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryProblem {
    /// It is not an object of the required shape.
    Malformed,
    /// Its URI is not one of a `SKILL.md` in normal form.
    Uri,
    /// Its frontmatter breaks the skill format.
    Frontmatter,
    /// Its name breaks the naming rules.
    Name,
    /// Its name is not the last segment of its path.
    NameMismatch,
    /// `resources` is neither a list nor `"dynamic"`.
    Resources,
    /// The manifest does not list `SKILL.md`.
    SkillFileNotListed,
    /// A file is listed twice.
    Duplicate,
    /// Something outside the skill is listed.
    Outside,
    /// A digest is not `sha256:` and 64 lower-case hexadecimal digits.
    Digest,
    /// A size is not a number of bytes.
    Size,
    /// There are more files than allowed.
    TooManyFiles,
    /// There are more bytes than allowed.
    TooLarge,
}

/// The reason why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {actual}")]
pub struct EntryFault {
    /// The rule that the entry breaks.
    pub problem: EntryProblem,
    /// The element of the manifest it is about, as it was written.
    pub file: Option<String>,
    /// What the extension demands.
    pub expected: String,
    /// What the entry says instead.
    pub actual: String,
}

impl EntryFault {
    fn new(problem: EntryProblem, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { problem, file: None, expected: expected.into(), actual: actual.into() }
    }

    fn of(self, file: &str) -> Self {
        Self { file: Some(truncated(file)), ..self }
    }
}

#[derive(Deserialize)]
struct RawEntry<'a> {
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    frontmatter: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resources: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawResource<'a> {
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    digest: Option<&'a RawValue>,
    #[serde(borrow, default)]
    size: Option<&'a RawValue>,
}

/// Reads one entry from JSON text; its name must be the last segment of its path.
pub fn read(text: &str, limits: EntryLimits) -> Result<SkillEntry, EntryFault> {
    let entry = read_any_name(text, limits)?;
    if entry.frontmatter.name().as_str() != entry.uri.root().name() {
        return Err(EntryFault::new(
            EntryProblem::NameMismatch,
            format!("the name `{}`, as in the URI", entry.uri.root().name()),
            format!("`{}`", entry.frontmatter.name()),
        ));
    }
    Ok(entry)
}

/// Reads an entry that this machine wrote down: the user's limits and the rules of the dialect it
/// came in held when it was approved.
pub fn read_kept(text: &str) -> Result<SkillEntry, EntryFault> {
    read_any_name(text, EntryLimits { files: usize::MAX, bytes: u64::MAX })
}

fn read_any_name(text: &str, limits: EntryLimits) -> Result<SkillEntry, EntryFault> {
    let malformed = |actual: String| {
        EntryFault::new(
            EntryProblem::Malformed,
            "an object with `uri`, `frontmatter` and `resources`",
            actual,
        )
    };
    if !text.trim_ascii_start().starts_with('{') {
        return Err(malformed(describe(text)));
    }
    let raw: RawEntry<'_> =
        serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
    let uri = read_uri(raw.uri)?;
    let frontmatter = read_frontmatter(raw.frontmatter)?;
    let resources = read_resources(raw.resources, &uri, limits)?;
    Ok(SkillEntry { uri, frontmatter, resources })
}

/// Reads only the URI of an entry, so that a refusal can name the skill.
pub fn read_only_uri(text: &str) -> Option<SkillUri> {
    let raw: RawEntry<'_> = serde_json::from_str(text).ok()?;
    read_uri(raw.uri).ok()
}

fn read_uri(raw: Option<&RawValue>) -> Result<SkillUri, EntryFault> {
    let fault = |actual: String| {
        EntryFault::new(EntryProblem::Uri, "the URI of a `SKILL.md` in normal form", actual)
    };
    let text = raw.and_then(as_text).ok_or_else(|| fault(shown(raw)))?;
    SkillUri::parse(&text).map_err(|error| fault(format!("`{}`, which {error}", truncated(&text))))
}

fn read_frontmatter(raw: Option<&RawValue>) -> Result<Frontmatter, EntryFault> {
    let fault = |expected: &str, actual: String| {
        EntryFault::new(EntryProblem::Frontmatter, expected, actual)
    };
    let Some(raw) = raw else { return Err(fault("an object `frontmatter`", "nothing".to_owned())) };
    if raw.get().len() > MAX_FRONTMATTER_BYTES {
        let actual = format!("{} bytes", raw.get().len());
        return Err(fault("frontmatter of at most 262144 bytes", actual));
    }
    let yaml::Limits { depth, nodes, .. } = yaml::Limits::default();
    let fields =
        strict_json::object(raw.get(), JsonLimits::new(depth, nodes)).map_err(|error| {
            fault("an object `frontmatter` that JSON carries exactly", error.to_string())
        })?;
    Frontmatter::from_fields(fields).map_err(|error| {
        let problem =
            if error.about_name() { EntryProblem::Name } else { EntryProblem::Frontmatter };
        EntryFault::new(problem, error.expected(), error.actual())
    })
}

fn read_resources(
    raw: Option<&RawValue>,
    skill: &SkillUri,
    limits: EntryLimits,
) -> Result<Resources, EntryFault> {
    let fault = || EntryFault::new(EntryProblem::Resources, "a list or `\"dynamic\"`", shown(raw));
    let raw = raw.ok_or_else(fault)?;
    if raw.get() == "\"dynamic\"" {
        return Ok(Resources::Dynamic);
    }
    if !raw.get().starts_with('[') {
        return Err(fault());
    }
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|_| fault())?;
    if elements.len() > limits.files {
        return Err(EntryFault::new(
            EntryProblem::TooManyFiles,
            format!("at most {} files", limits.files),
            format!("{} files", elements.len()),
        ));
    }
    let mut files = Vec::with_capacity(elements.len());
    let mut total = 0_u64;
    for element in elements {
        let file = read_resource(element, skill)?;
        total = total.saturating_add(file.size);
        files.push(file);
    }
    files.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
    if let Some(twice) = files.windows(2).find(|pair| pair[0].uri == pair[1].uri) {
        let uri = twice[0].uri.as_str();
        return Err(
            EntryFault::new(EntryProblem::Duplicate, "each file once", "a file twice").of(uri)
        );
    }
    if files.binary_search_by(|file| file.uri.cmp(skill.file())).is_err() {
        let expected = format!("an element for `{skill}`");
        return Err(EntryFault::new(EntryProblem::SkillFileNotListed, expected, "none"));
    }
    if total > limits.bytes {
        return Err(EntryFault::new(
            EntryProblem::TooLarge,
            format!("at most {} bytes", limits.bytes),
            format!("{total} bytes"),
        ));
    }
    Ok(Resources::Listed(files))
}

fn read_resource(raw: &RawValue, skill: &SkillUri) -> Result<SkillResource, EntryFault> {
    let malformed = |actual: String| {
        EntryFault::new(EntryProblem::Resources, "elements with `uri`, `digest` and `size`", actual)
    };
    if !raw.get().starts_with('{') {
        return Err(malformed(describe(raw.get())));
    }
    let element: RawResource<'_> =
        serde_json::from_str(raw.get()).map_err(|error| malformed(error.to_string()))?;
    let text = element.uri.and_then(as_text).ok_or_else(|| malformed(shown(element.uri)))?;
    let outside = |actual: String| {
        EntryFault::new(EntryProblem::Outside, format!("a URI below `{}`", skill.root()), actual)
            .of(&text)
    };
    let uri = skill.resource(&text).ok_or_else(|| match ResourceUri::parse(&text) {
        Err(error) => outside(format!("one that {error}")),
        Ok(_) => outside(format!("`{}`", truncated(&text))),
    })?;
    let digest = element.digest.and_then(as_text).and_then(|text| text.parse::<Digest>().ok());
    let digest = digest.ok_or_else(|| {
        let expected = "`sha256:` and 64 lower-case hexadecimal digits";
        EntryFault::new(EntryProblem::Digest, expected, shown(element.digest)).of(&text)
    })?;
    let size = element.size.and_then(|raw| size(raw.get())).ok_or_else(|| {
        EntryFault::new(EntryProblem::Size, "a whole number of bytes", shown(element.size))
            .of(&text)
    })?;
    Ok(SkillResource { uri, digest, size })
}

/// Reads a size spelt as plain digits; fractions and exponents are other spellings of something
/// else.
fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|size| digits && *size <= MAX_SIZE)
}

fn shown(raw: Option<&RawValue>) -> String {
    raw.map_or_else(|| "nothing".to_owned(), |raw| format!("`{}`", truncated(raw.get())))
}

fn describe(text: &str) -> String {
    format!("`{}`", truncated(text))
}

#[cfg(test)]
mod tests;
