//! What goes into archives and what comes out of them.

mod opening;
mod packing;
