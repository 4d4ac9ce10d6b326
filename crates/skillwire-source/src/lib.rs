//! Where skills come from.
//!
//! A [`Source`](source::Source) reads everything it has into a [`Scan`](source::Scan): skills that
//! can be served, and for everything else the findings that say why not. Nothing is dropped in
//! silence. What a request asks for never becomes a file name here.
//!
//! Every source with files works in the same steps: a `tree` says what is there, a `survey` decides
//! from names and sizes what may be read, and `assemble` makes skills of the content.

pub mod directory;
pub mod generated;
pub mod memory;
pub mod merge;
pub mod rules;
pub mod skill;
pub mod source;

mod assemble;
mod place;
mod survey;
mod tree;
