//! Skills that become known only when somebody asks for them by name.

use std::time::Duration;

use skillwire_core::uri::SkillUri;

use crate::store::Later;

/// Where a server looks for a skill that its catalogue does not have.
pub trait Elsewhere: Send + Sync + std::fmt::Debug {
    /// The URIs under which the catalogue may have what is called `uri` elsewhere.
    ///
    /// The caller uses one only if no other of them is in the catalogue.
    fn other_names(&self, uri: &SkillUri) -> Vec<SkillUri>;

    /// Asks for the skill at a URI of the catalogue; nothing when there is nobody to ask.
    ///
    /// What is found is reported by its source, so that the catalogue has it soon after.
    fn find(&self, uri: &SkillUri) -> Option<Later<Sought>>;

    /// How long, and by whom, answers made from what is known now may be reused.
    fn reuse(&self) -> Reuse;
}

/// What came of asking for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// There is one, and its source reports it.
    Found,
    /// There is none that may be served.
    NotFound,
    /// Nobody answered.
    Failed,
}

/// How answers may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reuse {
    /// At most this long; nothing when it does not matter.
    pub at_most: Option<Duration>,
    /// Only by the caller they were made for.
    pub private: bool,
}
