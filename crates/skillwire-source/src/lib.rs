//! Where skills come from.
//!
//! A [`Source`](source::Source) reads everything it has into a [`Scan`](source::Scan): skills that
//! can be served, and for everything else the findings that say why not. Nothing is dropped in
//! silence. What a request asks for never becomes a file name here.

pub mod directory;
pub mod generated;
pub mod memory;
pub mod merge;
pub mod skill;
pub mod source;
