//! Whole skills as archives, made when somebody reads them and kept within a bound.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use skillwire_catalog::snapshot::Snapshot;
use skillwire_protocol::error::RpcError;
use skillwire_source::skill::Skill;

use super::scene::Scene;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Format;
impl Format {
    pub(crate) fn media_type(self) -> &'static str {
        ""
    }
}

pub(crate) struct Archive {
    pub(crate) bytes: Bytes,
}

pub(super) fn named_by<'a>(_: &'a Snapshot, _: &str) -> Option<(&'a Arc<Skill>, Format)> {
    None
}
pub(super) async fn read(_: &Scene, _: &Skill, _: Format) -> Result<Option<Archive>, RpcError> {
    Ok(None)
}

/// The archives that a document lists.
#[derive(Debug, Default)]
pub(super) struct Archived;

impl Archived {
    pub(super) async fn for_index(_scene: &Scene) -> Result<Self, RpcError> {
        Ok(Self)
    }

    pub(super) fn of(&self, _skill: &Skill) -> Vec<Value> {
        Vec::new()
    }
}
