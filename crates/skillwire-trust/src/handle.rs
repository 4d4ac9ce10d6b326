//! The names by which users and models refer to a skill.

use std::fmt;

use skillwire_archive::ArchiveFormat;
use skillwire_core::{SKILL_FILE, SkillUri};

use crate::{
    origin::Origin,
    refusal::{Reason, Refusal},
    remedy::Remedy,
};

/// A name for a skill, as the user or model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handle {
    /// A name alone; it does not resolve if it is ambiguous.
    Bare(String),
    /// A name or path at one origin, such as `acme:refunds` or `acme:billing/refunds`.
    At(Origin, String),
    /// A URI at one origin, which also names a skill that no listing mentions.
    Uri(Origin, SkillUri),
    /// The URI of an archive at one origin, and the skill whose files are in it.
    Archive(Origin, SkillUri, String),
}

impl Handle {
    /// Reads `label:name`, `label:path/name`, `label:URI` or `name`; the URI is that of a `SKILL.md`
    /// or of an archive, whose skill then stands beside it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let unknown = |reason| Refusal::new(reason).about(text.escape_debug().to_string());
        let Some((label, rest)) = text.split_once(':') else {
            return Ok(Self::Bare(text.to_owned()));
        };
        if rest.starts_with("//") {
            return Err(unknown(Reason::SkillNotFound)
                .expected("a URI together with the server it is read from")
                .hint(format!("Write `LABEL:{}`.", text.escape_debug())));
        }
        let origin = Origin::parse(label).map_err(|error| {
            unknown(Reason::ServerUnknown)
                .actual(format!("a label that {error}"))
                .remedy(Remedy::ListServers)
        })?;
        if !rest.contains("://") {
            return Ok(Self::At(origin, rest.to_owned()));
        }
        if let Some(skill) = archived_skill(rest) {
            return Ok(Self::Archive(origin, skill, rest.to_owned()));
        }
        let uri = SkillUri::parse(rest).map_err(|error| {
            unknown(Reason::SkillNotFound)
                .expected("the URI of a `SKILL.md` or of an archive")
                .actual(format!("one that {error}"))
        })?;
        Ok(Self::Uri(origin, uri))
    }

    /// Returns the origin, unless the handle is a name alone.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Bare(_) => None,
            Self::At(origin, _) | Self::Uri(origin, _) | Self::Archive(origin, ..) => Some(origin),
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(name) => f.write_str(name),
            Self::At(origin, path) => write!(f, "{origin}:{path}"),
            Self::Uri(origin, uri) => write!(f, "{origin}:{uri}"),
            Self::Archive(origin, _, archive) => write!(f, "{origin}:{archive}"),
        }
    }
}

/// Returns the skill that stands beside an archive, if the URI is one of an archive.
fn archived_skill(uri: &str) -> Option<SkillUri> {
    let format = ArchiveFormat::of_name(uri)?;
    let endings = [format.suffix(), ".tgz"];
    let root = endings.iter().find_map(|ending| uri.strip_suffix(ending))?;
    SkillUri::parse(&format!("{root}/{SKILL_FILE}")).ok()
}
