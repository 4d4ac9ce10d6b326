//! What an Agent Skill is: names, paths, URIs, digests, frontmatter, manifests and findings.
//!
//! Everything here is a pure function of its arguments. The crate never knows where a skill comes
//! from or goes to: nothing in it touches a file, a socket, a clock or an environment variable.
//!
//! ```
//! use skillwire_core::{Code, ContentId, Digest, RelPath, skill_file};
//!
//! let text = b"---\nname: refunds\ndescription: Pays customers back.\n---\nAsk for the receipt.\n";
//! let (skill, findings) = skill_file::check(text);
//! assert_eq!(skill.expect("it can be served").frontmatter.name().as_str(), "refunds");
//! // It says what the skill does, and not when to use it.
//! assert_eq!(findings[0].code, Code::DescriptionWithoutWhen);
//!
//! let file = (RelPath::skill_file(), Digest::of(text), text.len() as u64);
//! assert!(ContentId::of([file])?.to_string().starts_with("sha256:"));
//! # Ok::<(), skillwire_core::NoContentId>(())
//! ```

// What a skill is made of.
mod annotations;
mod content_id;
mod content_set;
mod digest;
mod entry;
mod frontmatter;
mod frontmatter_diff;
mod name;
mod path;
mod uri;

// Reading and checking skills.
mod code;
mod excerpt;
mod file_rules;
pub mod file_set;
mod finding;
mod known_keys;
mod layout_rules;
pub mod limits;
mod link_rules;
pub mod links;
mod markdown;
mod named_paths;
pub mod portable;
pub mod received;
pub mod reference;
pub mod repair;
mod secret_text;
pub mod skill_file;
mod span;
pub mod yaml;

// Text and data from servers and authors.
pub mod agent_folders;
mod char_class;
mod line_diff;
pub mod media_type;
pub mod raw_text;
pub mod strict_json;
pub mod visible;

pub use self::{
    annotations::annotations,
    char_class::{CharClass, CharClasses},
    code::{Code, Effect, Level, Strictness},
    content_id::{ContentId, NoContentId},
    content_set::{ContentDiff, ContentSet, fingerprint},
    digest::{Digest, InvalidDigest},
    entry::{Resources, SkillEntry, SkillResource},
    excerpt::Excerpt,
    file_rules::{is_ignored, secret_kind},
    finding::{Exemption, Finding},
    frontmatter::{Frontmatter, InvalidField, MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS},
    frontmatter_diff::{FieldDifference, differences as frontmatter_differences},
    known_keys::{DocumentedKey, KNOWN_KEYS, documented_keys},
    line_diff::{DiffHunk, DiffLine, LineChange, NO_LINE_FEED, diff_lines},
    name::{InvalidName, MAX_NAME_CHARS, SkillName},
    path::{InvalidPath, RelPath, SKILL_FILE, SkillPath},
    repair::{Edit, Repair},
    span::{Position, Span},
    uri::{InvalidUri, LenientUri, ResourceUri, Scheme, SkillUri, percent},
};
