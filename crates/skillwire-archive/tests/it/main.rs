//! Tests of packing and opening archives.

mod opening;
mod packing;
