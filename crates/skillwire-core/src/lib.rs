//! What an Agent Skill is: names, URIs, digests, frontmatter, manifests and findings.
//!
//! Nothing in this crate touches a file, a socket, a clock or an environment variable.

pub mod content_set;
pub mod digest;
pub mod entry;
pub mod file_rules;
pub mod file_set;
pub mod finding;
pub mod frontmatter;
pub mod frontmatter_diff;
pub mod limits;
pub mod links;
pub mod media_type;
pub mod name;
pub mod path;
pub mod portable;
pub mod received;
pub mod skill_file;
pub mod span;
pub mod strict_json;
pub mod uri;
pub mod yaml;
