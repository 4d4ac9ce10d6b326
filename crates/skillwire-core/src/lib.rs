//! What an Agent Skill is: names, URIs, digests, frontmatter, manifests and findings.
//!
//! Nothing in this crate touches a file, a socket, a clock or an environment variable. Only
//! [`line_diff`] looks at the time, since its callers give it a deadline.

pub mod agent_folders;
pub mod char_class;
pub mod code;
pub mod content_id;
pub mod content_set;
pub mod digest;
pub mod entry;
pub mod excerpt;
pub mod file_rules;
pub mod file_set;
pub mod finding;
pub mod foreign;
pub mod frontmatter;
pub mod frontmatter_diff;
mod layout_rules;
pub mod limits;
pub mod line_diff;
mod link_rules;
pub mod links;
pub mod markdown;
pub mod media_type;
pub mod name;
pub mod path;
pub mod portable;
pub mod raw_text;
pub mod received;
pub mod reference;
pub mod repair;
pub mod secret_text;
pub mod skill_file;
pub mod span;
pub mod strict_json;
pub mod uri;
pub mod visible;
pub mod yaml;
