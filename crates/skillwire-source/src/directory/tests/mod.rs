//! Tests that need to interrupt a scan or to count the files it opens.

mod races;
mod rereads;
