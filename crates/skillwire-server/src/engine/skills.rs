//! `skills/get`.

use skillwire_protocol::error::{RpcError, truncated};

use super::{Call, Outcome};

impl Call<'_> {
    pub(super) fn get_skill(&self) -> Outcome {
        let uri = self.uri()?;
        let Some(skill) = self.snapshot.skill(&uri) else {
            return Err(RpcError::invalid_params(format!(
                "No skill is served at `{}`; `params.uri` must be the URI of a skill's `SKILL.md`.",
                truncated(&uri)
            )));
        };
        let mut result = self.result();
        result.json("skill", &skill.entry);
        result.cacheable();
        Ok(result.finish().into())
    }
}
