//! Reads skills from git repositories at a ref, fetching only what is needed; by the `git` program.
