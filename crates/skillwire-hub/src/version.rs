//! Versions: how a text becomes one, which one a publication gets, and what is kept of it.

use semver::{BuildMetadata, Prerelease, Version};
use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, Digest, RelPath};

use crate::{
    name::{SkillId, Subject},
    refusal::Refusal,
    state::VersionState,
    timestamp::Timestamp,
};

/// The reason why a text is not a version of the hub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a version such as `1.2.0`: it {reason}.", text.escape_debug())]
pub struct InvalidVersion {
    /// The refused text, cut to a bounded length.
    pub text: Box<str>,
    /// What is wrong with it, continuing "it".
    pub reason: &'static str,
}

/// The longest text of a version.
const MAX_VERSION_CHARS: usize = 64;

/// Reads a semantic version; `1` and `1.2` are read as `1.0.0` and `1.2.0`.
///
/// Many skills say `version: "1.0"` in their metadata. Build metadata is refused: two versions that
/// differ in nothing else have no order.
pub fn parse_version(text: &str) -> Result<Version, InvalidVersion> {
    let refuse = |reason| InvalidVersion { text: text.chars().take(80).collect(), reason };
    if text.len() > MAX_VERSION_CHARS {
        return Err(refuse("has more than 64 characters"));
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    let full = match parts.as_slice() {
        [major] if digits(major) => format!("{text}.0.0"),
        [major, minor] if digits(major) && digits(minor) => format!("{text}.0"),
        _ => text.to_owned(),
    };
    let version = Version::parse(&full).map_err(|_| refuse("is not a semantic version"))?;
    if version.build != BuildMetadata::EMPTY {
        return Err(refuse("has build metadata after a `+`"));
    }
    Ok(version)
}

/// Decides which version a publication gets.
///
/// `requested` is what the publisher asked for, `declared` is `metadata.version` of the skill, and
/// `highest` the highest version that exists. Where both are given they must be equal; where
/// none is, it is the next patch after the highest, or `1.0.0`.
pub fn choose_version(
    highest: Option<&Version>,
    requested: Option<&Version>,
    declared: Option<&str>,
) -> Result<Version, Refusal> {
    let declared = declared.map(parse_version).transpose().map_err(Refusal::DeclaredVersion)?;
    match (requested, declared) {
        (Some(requested), Some(declared)) if *requested != declared => {
            Err(Refusal::VersionsDiffer { requested: requested.clone(), declared })
        }
        (Some(version), _) if version.build != BuildMetadata::EMPTY => {
            Err(Refusal::DeclaredVersion(InvalidVersion {
                text: version.to_string().into(),
                reason: "has build metadata after a `+`",
            }))
        }
        (Some(version), _) => Ok(version.clone()),
        (None, Some(declared)) => Ok(declared),
        (None, None) => match highest {
            None => Ok(Version::new(1, 0, 0)),
            Some(highest) => next_patch(highest),
        },
    }
}

/// The next patch; of a pre-release it is the release that it leads to.
fn next_patch(highest: &Version) -> Result<Version, Refusal> {
    let mut next = highest.clone();
    if next.pre.is_empty() {
        next.patch = next.patch.checked_add(1).ok_or(Refusal::NoNextVersion(highest.clone()))?;
    }
    next.pre = Prerelease::EMPTY;
    Ok(next)
}

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFile {
    /// The path below the skill's root.
    pub path: RelPath,
    /// The digest of its bytes, under which the hub keeps them.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// Where a publication came from, as authentication and the publisher said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// What vouched for the publisher: `token`, `oidc`, `import` or `jwt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The repository or address the files came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The commit or revision of that source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The workflow that published, if a workflow did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// A version as it is kept. Everything but its state, reason and time of change is immutable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRecord {
    /// The skill it belongs to.
    pub skill: SkillId,
    /// Its number.
    pub version: Version,
    /// The identity of its files.
    pub content: ContentId,
    /// Where it stands in its life.
    pub state: VersionState,
    /// Why it is in that state, if a person said so.
    pub reason: Option<String>,
    /// When the state last changed.
    pub changed_at: Timestamp,
    /// Who published it. A purge replaces the name with a pseudonym.
    pub publisher: Subject,
    /// When it was published.
    pub published_at: Timestamp,
    /// Where it came from.
    pub provenance: Provenance,
    /// Its files, in order of their paths. Empty after a purge.
    pub files: Vec<VersionFile>,
    /// The bytes of its files together.
    pub size: u64,
    /// What the server layer needs to list it without opening its files; opaque here.
    pub entry: String,
    /// Whether its files were erased for legal reasons.
    pub purged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        parse_version(text).unwrap()
    }

    #[test]
    fn short_versions_are_filled_with_zeros_and_build_metadata_is_refused() {
        assert_eq!(version("1").to_string(), "1.0.0");
        assert_eq!(version("1.2").to_string(), "1.2.0");
        assert_eq!(version("1.2.3-rc.1").to_string(), "1.2.3-rc.1");
        for bad in ["", "v1.2.3", "1.2.3+7", "01.2.3", "1..2", "1.x", "1.2.3.4", &"1".repeat(65)] {
            assert!(parse_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_that_differs_from_the_metadata_is_refused() {
        let refused = choose_version(None, Some(&version("1.2.0")), Some("1.3.0"));
        assert!(matches!(refused, Err(Refusal::VersionsDiffer { .. })));
        // The same version written in two ways does not differ.
        assert_eq!(
            choose_version(None, Some(&version("1.2.0")), Some("1.2")),
            Ok(version("1.2.0"))
        );
        assert!(choose_version(None, None, Some("newest")).is_err());
    }

    #[test]
    fn without_a_request_it_is_the_next_patch() {
        assert_eq!(choose_version(None, None, None), Ok(version("1.0.0")));
        let next = |highest: &str| choose_version(Some(&version(highest)), None, None);
        assert_eq!(next("1.2.9"), Ok(version("1.2.10")));
        assert_eq!(next("2.0.0-rc.3"), Ok(version("2.0.0")));
        assert!(next("1.0.18446744073709551615").is_err());
    }
}
