//! What the API of a hub takes and answers, below `/api/v1`.
//!
//! The hub writes these types and its clients read them, so that both have one description of each
//! message. This crate never knows how a message travels or who may send it.
//!
//! ```
//! use skillwire_hub_api::NewUpstream;
//!
//! let wish: NewUpstream = serde_json::from_str(
//!     r#"{"label": "docs", "mode": "pin", "source": {"kind": "folder", "path": "/srv/skills"}}"#,
//! )?;
//! assert_eq!(wish.label, "docs");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod reviews;
mod types;

pub use skillwire_hub::{
    ResourcePatterns, ReviewRules, ToolPatterns, UpstreamLimits, UpstreamSource,
};

pub use self::{reviews::*, types::*};
