//! Finds skills by words, best first.
//!
//! A [`SearchIndex`] is built once from a list of skills and never changes. It answers with
//! positions in that list: this crate never knows approvals, servers or permissions. The
//! caller keeps the list and decides which positions are visible. With the feature `tool`, the
//! crate also has `SearchTool`, which offers such a search to the clients of a server.
//!
//! ```
//! use serde_json::json;
//! use skillwire_search::{SearchIndex, SkillText};
//!
//! let skills = [
//!     ("refunds", json!({ "description": "Handles a refund for a customer." })),
//!     ("weather", json!({ "description": "Says what the weather will be." })),
//! ];
//! let index: SearchIndex = skills
//!     .iter()
//!     .map(|(name, frontmatter)| {
//!         let frontmatter = frontmatter.as_object().expect("frontmatter is an object");
//!         SkillText::new(name, &format!("acme:{name}"), frontmatter)
//!     })
//!     .collect();
//!
//! let hits = index.search("customer ref", 10, |_| true);
//! assert_eq!(hits.best, [0]);
//! ```

mod builder;
mod index;
mod query;
#[cfg(feature = "tool")]
mod search_tool;
mod skill_text;
mod words;

#[cfg(feature = "tool")]
pub use skillwire_catalog::Catalog;

#[cfg(feature = "tool")]
pub use self::search_tool::SearchTool;
pub use self::{
    index::{SearchHits, SearchIndex},
    query::MAX_QUERY_BYTES,
    skill_text::SkillText,
};
