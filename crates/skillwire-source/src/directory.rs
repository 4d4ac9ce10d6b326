//! Skills in directories.
