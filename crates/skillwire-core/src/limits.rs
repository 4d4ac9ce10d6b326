//! The two limits every conforming host accepts; both are inclusive.

/// The most files a skill may have, `SKILL.md` included.
pub const MAX_FILES: usize = 512;

/// The most bytes a skill's files may have together.
pub const MAX_BYTES: u64 = 16_777_216;
