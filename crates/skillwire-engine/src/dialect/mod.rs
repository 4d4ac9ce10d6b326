//! Older ways of serving skills, each a projection of the one catalogue.
//!
//! A projection is computed when a client requests it, and cached within a bound; nothing is
//! computed ahead. A request that the extension itself can answer never reaches a projection. Which
//! projections exist depends on the era of the request and on the operator's [`Dialects`], never on
//! the identity of the client.

mod alias;
mod archives;
mod dependencies;
mod documents;
mod fastmcp;
mod index;
mod listing;
mod names;
mod projections;
mod reading;
mod scoped;
mod sep_2076;
mod skilljack;
mod skilljack_offer;
mod skills_over_mcp;
mod skills_page;
mod templates;
mod usage;
mod well_known;

/// The era in which clients may use every dialect.
pub const LEGACY: Era = Era::Legacy;

pub(crate) use self::{
    alias::{AliasTarget, resolve_now},
    dependencies::missing,
    listing::{LISTED, list as list_resources},
    names::{LookupNames, NameLookup},
    projections::Projections,
    reading::read as read_resource,
    scoped::list as list_scope,
    sep_2076::{get as get_by_name, superset},
    skilljack_offer::SkilljackOffer,
    skills_page::{execute, read as read_skill, read_reference},
    templates::{complete, list as list_templates},
    usage::sentence as usage_sentence,
    well_known::get as published,
};
use skillwire_protocol::Era;

pub use skillwire_dialects::{
    ALIAS_OF, Dialect, DialectPart, Dialects, InvalidSwitch, Switch, Switchable, usage::Usage,
};

pub use self::{
    dependencies::Missing,
    skills_page::{NotRun, RunScripts, Script},
    well_known::{Published, is_well_known},
};
