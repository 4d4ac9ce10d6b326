//! Text of skills as HTML. Every byte of it is taken for an attack.

mod markdown;
mod visible;

pub(crate) use self::{
    markdown::{ContentLinks, rendered},
    visible::{marked, marked_line, numbered_lines, worded},
};
