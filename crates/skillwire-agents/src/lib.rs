//! Knows the agents on a machine: where they keep skills and servers, and how to change their files without losing anything.
