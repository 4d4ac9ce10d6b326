//! Text as rules see it: folded, cut into passages, and decoded.

pub(crate) mod decode;
pub(crate) mod fold;
pub(crate) mod mapped;
pub(crate) mod markdown;
pub(crate) mod passage;
pub(crate) mod tidy;
