//! Where skills come from.
//!
//! A [`Source`](source::Source) reports its sites: skills that can be served, and for everything
//! else the findings that say why not. Nothing is dropped in silence. What a request asks for never
//! becomes a file name here.
//!
//! Every source with files works in the same steps: a `tree` says what is there, a `survey` decides
//! from names and sizes what may be read, and `assemble` makes skills of the content.

pub mod collect;
pub mod collection;
pub mod directory;
pub mod elsewhere;
pub mod embedded;
pub mod generated;
pub mod ledger;
pub mod memory;
pub mod namespace;
pub mod patterns;
pub mod placed;
pub mod progress;
pub mod rules;
pub mod skill;
pub mod source;
pub mod store;
pub mod watch;

mod assemble;
mod place;
mod survey;
mod tree;
