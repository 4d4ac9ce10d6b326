//! What the scripts of a skill get when they run: destinations, variables, files, memory and time.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Component, Path},
    str::FromStr,
};

use serde::{Deserialize, Serialize};
use skillwire_core::RelPath;

use crate::network_grant::NetworkGrant;

mod request;
#[cfg(test)]
mod tests;

pub use self::request::{RunRequest, WiderThanGranted};

/// Tells whether a file of a skill looks like a script that can be run, by its path alone.
pub fn is_script(path: &RelPath) -> bool {
    let extension = path.file_name().rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some(extension) => ["py", "sh", "bash", "js", "mjs", "cjs"].contains(&extension),
        None => path.segments().next() == Some("scripts"),
    }
}

/// The most destinations, variables or folders that one skill is granted each.
const MAX_GRANTED: usize = 64;

/// What the scripts of a skill get besides the files of the skill, each item granted by the user.
///
/// A run gets this or less: [`RunGrants::narrowed`] refuses a run that asks for more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RunGrants {
    /// The destinations that they may connect to.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "few")]
    pub network: BTreeSet<NetworkGrant>,
    /// The variables of the user's environment that they see. Their values are never recorded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "few")]
    pub env: BTreeSet<VariableName>,
    /// The files and folders of the user that a model may copy files from, as inputs of a run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "few")]
    pub inputs: BTreeSet<InputPath>,
    /// The most memory of a run; [`MemoryLimit::USUAL`] if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLimit>,
    /// The longest time of a run; [`TimeLimit::USUAL`] if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeLimit>,
}

/// One part of what is granted, under the name that records, options and cards use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantKind {
    /// A destination.
    Network,
    /// A variable.
    Env,
    /// A file or folder.
    Input,
    /// A limit of memory, in MiB.
    Memory,
    /// A limit of time, in seconds.
    Time,
}

impl GrantKind {
    /// Returns the word for it; it never changes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Env => "env",
            Self::Input => "input",
            Self::Memory => "memory",
            Self::Time => "time",
        }
    }
}

impl RunGrants {
    /// Tells whether nothing is granted besides the usual memory and time.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a destination.
    #[must_use]
    pub fn with_network(mut self, destination: NetworkGrant) -> Self {
        self.network.insert(destination);
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn with_variable(mut self, name: VariableName) -> Self {
        self.env.insert(name);
        self
    }

    /// Adds a file or folder of the user.
    #[must_use]
    pub fn with_input(mut self, path: InputPath) -> Self {
        self.inputs.insert(path);
        self
    }

    /// Sets the most memory.
    #[must_use]
    pub fn with_memory(mut self, memory: MemoryLimit) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the longest time.
    #[must_use]
    pub fn with_time(mut self, time: TimeLimit) -> Self {
        self.time = Some(time);
        self
    }

    /// Returns the most memory of a run.
    pub fn memory_limit(&self) -> MemoryLimit {
        self.memory.unwrap_or(MemoryLimit::USUAL)
    }

    /// Returns the longest time of a run.
    pub fn time_limit(&self) -> TimeLimit {
        self.time.unwrap_or(TimeLimit::USUAL)
    }

    /// Returns each granted item with its kind, in a fixed order.
    pub fn items(&self) -> Vec<(GrantKind, String)> {
        let network = self.network.iter().map(|it| (GrantKind::Network, it.to_string()));
        let env = self.env.iter().map(|it| (GrantKind::Env, it.to_string()));
        let inputs = self.inputs.iter().map(|it| (GrantKind::Input, it.to_string()));
        let memory = self.memory.iter().map(|it| (GrantKind::Memory, it.mebibytes().to_string()));
        let time = self.time.iter().map(|it| (GrantKind::Time, it.seconds().to_string()));
        network.chain(env).chain(inputs).chain(memory).chain(time).collect()
    }

    /// Returns one line for each thing that a card shows, also for what is not granted.
    pub fn lines(&self) -> Vec<String> {
        let joined = |items: Vec<String>| {
            if items.is_empty() { "none".to_owned() } else { items.join(", ") }
        };
        let network = joined(self.network.iter().map(ToString::to_string).collect());
        let env = joined(self.env.iter().map(ToString::to_string).collect());
        let inputs: Vec<_> = self.inputs.iter().map(InputPath::visible).collect();
        let inputs = if inputs.is_empty() {
            "only those that you name yourself".to_owned()
        } else {
            format!("those that you name, and any that the model names in {}", inputs.join(", "))
        };
        vec![
            format!("network: {network}"),
            format!("your variables: {env}"),
            format!("your files: {inputs}"),
            format!(
                "at most {} of memory and {} for each run",
                self.memory_limit(),
                self.time_limit()
            ),
        ]
    }
}

/// The name of an environment variable: letters, digits and `_`, not beginning with a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VariableName(String);

/// A file or folder of the user, as an absolute path without `.` and `..`.
///
/// The path is compared as text. The caller resolves links before it asks whether a grant covers a
/// file: a link inside a granted folder may lead out of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct InputPath(String);

/// The most memory of a run, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct MemoryLimit(u64);

/// The longest time of a run, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct TimeLimit(u64);

/// The error for a value that cannot be granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRunGrant {
    /// The text is not the name of a variable.
    #[error("`{}` is not the name of a variable", .0.escape_debug())]
    Variable(String),
    /// The text is not a path that can be granted.
    #[error("`{}` is not an absolute path without `..`", .0.escape_debug())]
    Input(String),
    /// The number is outside what a run may be given.
    #[error("the memory of a run is {min} to {max} MiB, and not {0}", min = MemoryLimit::MIN, max = MemoryLimit::MAX)]
    Memory(u64),
    /// The number is outside what a run may be given.
    #[error("the time of a run is 1 to {max} seconds, and not {0}", max = TimeLimit::MAX)]
    Time(u64),
}

impl VariableName {
    /// Reads a name.
    pub fn parse(text: &str) -> Result<Self, InvalidRunGrant> {
        let is_name = !text.is_empty()
            && text.len() <= 128
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let invalid = || InvalidRunGrant::Variable(text.chars().take(128).collect());
        is_name.then(|| Self(text.to_owned())).ok_or_else(invalid)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl InputPath {
    /// Reads an absolute path.
    pub fn parse(text: &str) -> Result<Self, InvalidRunGrant> {
        let path = Path::new(text);
        let is_plain = |part: Component<'_>| {
            matches!(part, Component::Prefix(_) | Component::RootDir | Component::Normal(_))
        };
        let fits = path.is_absolute()
            && text.len() <= 4096
            && !text.contains('\0')
            && path.components().all(is_plain);
        if !fits {
            return Err(InvalidRunGrant::Input(text.chars().take(256).collect()));
        }
        // Components leave out doubled and trailing separators.
        let text: std::path::PathBuf = path.components().collect();
        Ok(Self(text.to_string_lossy().into_owned()))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Tells whether a path is this one or below it.
    pub fn covers(&self, path: &Path) -> bool {
        path.starts_with(self.as_path())
            && path.components().all(|part| !matches!(part, Component::ParentDir))
    }

    fn visible(&self) -> String {
        skillwire_core::visible::one_line(&self.0)
    }
}

impl MemoryLimit {
    const MIN: u64 = 16;
    const MAX: u64 = 1024 * 1024;

    /// What a run gets if nothing else is granted: 512 MiB.
    pub const USUAL: Self = Self(512);

    /// Takes a number of MiB.
    pub fn from_mebibytes(mebibytes: u64) -> Result<Self, InvalidRunGrant> {
        let fits = (Self::MIN..=Self::MAX).contains(&mebibytes);
        fits.then_some(Self(mebibytes)).ok_or(InvalidRunGrant::Memory(mebibytes))
    }

    /// Returns the number of MiB.
    pub fn mebibytes(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> u64 {
        self.0 * 1024 * 1024
    }
}

impl TimeLimit {
    const MAX: u64 = 24 * 60 * 60;

    /// What a run gets if nothing else is granted: 30 seconds.
    pub const USUAL: Self = Self(30);

    /// Takes a number of seconds.
    pub fn from_seconds(seconds: u64) -> Result<Self, InvalidRunGrant> {
        let fits = (1..=Self::MAX).contains(&seconds);
        fits.then_some(Self(seconds)).ok_or(InvalidRunGrant::Time(seconds))
    }

    /// Returns the number of seconds.
    pub fn seconds(self) -> u64 {
        self.0
    }

    /// Returns the time.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::from_secs(self.0)
    }
}

/// Reads a set that is not larger than what a user would look through.
fn few<'de, D, T>(deserializer: D) -> Result<BTreeSet<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Ord,
{
    let items = BTreeSet::deserialize(deserializer)?;
    if items.len() > MAX_GRANTED {
        let problem = format!("more than {MAX_GRANTED} items are granted");
        return Err(serde::de::Error::custom(problem));
    }
    Ok(items)
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for InputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0)
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

macro_rules! text_forms {
    ($($type:ident),*) => {$(
        impl FromStr for $type {
            type Err = InvalidRunGrant;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidRunGrant;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.0
            }
        }
    )*};
}

text_forms!(VariableName, InputPath);

impl TryFrom<u64> for MemoryLimit {
    type Error = InvalidRunGrant;

    fn try_from(mebibytes: u64) -> Result<Self, Self::Error> {
        Self::from_mebibytes(mebibytes)
    }
}

impl From<MemoryLimit> for u64 {
    fn from(limit: MemoryLimit) -> Self {
        limit.0
    }
}

impl TryFrom<u64> for TimeLimit {
    type Error = InvalidRunGrant;

    fn try_from(seconds: u64) -> Result<Self, Self::Error> {
        Self::from_seconds(seconds)
    }
}

impl From<TimeLimit> for u64 {
    fn from(limit: TimeLimit) -> Self {
        limit.0
    }
}
