//! `skills/get`.

use std::sync::Arc;

use skillwire_protocol::error::{RpcError, truncated};

use super::{Answer, Call};
use crate::{dialect::Dialect, payload::Payload};

impl Call<'_> {
    /// By URI, or in an older dialect by name; never by both.
    pub(super) fn get_skill(&self) -> Answer {
        let named = self.params.name.is_some() && self.speaks(Dialect::Sep2076);
        match (named, self.params.uri.is_some()) {
            (true, false) => self.get_by_name(),
            (true, true) => Answer::Now(Err(RpcError::invalid_params(
                "`params.uri` and `params.name` exclude each other.",
            ))),
            (false, _) => self.get_by_uri(),
        }
    }

    fn get_by_uri(&self) -> Answer {
        let found = self.uri().and_then(|uri| {
            self.snapshot.skill(&uri).ok_or_else(|| {
                RpcError::invalid_params(format!(
                    "No skill is served at `{}`; `params.uri` must be the URI of a skill's \
                     `SKILL.md`.",
                    truncated(&uri)
                ))
            })
        });
        match found {
            Err(error) => Answer::Now(Err(error)),
            Ok(skill) if self.has_superset() => self.get_superset(Arc::clone(skill)),
            Ok(skill) => Answer::Now(Ok(self.entry(&skill.entry))),
        }
    }

    fn entry(&self, entry: &str) -> Payload {
        let mut result = self.result();
        result.json("skill", entry);
        result.cacheable();
        result.finish().into()
    }
}
