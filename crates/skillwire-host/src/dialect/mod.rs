//! The shapes in which skills travelled before the extension was released.
//!
//! Each reader turns what a server says into [`Listed`](skillwire_trust::Listed) skills that carry an
//! [`Offer`]: where their bytes are and what was promised about them. From there on every dialect
//! goes the one way to a model: settled by reading `SKILL.md`, approved, loaded, read through a
//! window.

mod archive;
mod by_name;
mod draft;
mod fastmcp;
mod fetching;
mod found;
mod index;
mod instructions;
mod ladder;
mod over_mcp;
mod page;
mod resources;
mod scoped;
mod settle;
mod skilljack;
mod templates;
mod tools;
mod usage;
mod well_known;

use skillwire_dialects::Dialect;
use skillwire_trust::{FetchRoute, Offer};

pub use self::templates::SkillTemplate;
pub(crate) use self::{
    draft::{Age, read as read_draft},
    found::unlisted,
    instructions::named_skills,
    settle::{pin, with_frontmatter},
};
