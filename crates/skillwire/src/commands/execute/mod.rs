//! Running scripts of skills in isolation.

pub(super) mod doctor;
#[cfg(feature = "host")]
pub(super) mod run;

use super::Outcome;
