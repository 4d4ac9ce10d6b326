//! Indexes that are damaged, and one that an earlier version wrote.

mod damage;
mod earlier_version;
