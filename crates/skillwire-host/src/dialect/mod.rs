//! The shapes in which skills travelled before the extension was released.
//!
//! Each reader turns what a server says into [`Listed`](crate::listed::Listed) skills that carry an
//! [`Offer`]: where their bytes are and what was promised about them. From there on every dialect
//! goes the one way to a model: settled by reading `SKILL.md`, approved, loaded, read through a
//! window.

mod archive;
mod by_name;
mod convert;
mod draft;
mod fastmcp;
mod index;
mod instructions;
mod ladder;
mod memory;
mod over_mcp;
mod page;
mod resources;
mod road;
mod scoped;
mod settle;
mod skilljack;
mod templates;
mod tools;
mod usage;
mod well_known;

mod offer;

pub use self::{
    convert::{DOCUMENTS, NotConverted, convert},
    memory::{DialectMemory, KnownDialect},
    offer::Offer,
    templates::SkillTemplate,
};
pub(crate) use self::{
    draft::{Age, read as read_draft},
    instructions::named_skills,
    offer::{Road, unlisted},
    settle::{pin, with_frontmatter},
};
pub use skillwire_dialects::Dialect;
