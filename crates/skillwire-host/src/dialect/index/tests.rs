//! Documents of every form, and documents that lie.
