//! `skills/list` and `skills/get`.

use skillwire_protocol::{
    error::{RpcError, truncated},
    method,
};

use super::{Call, Outcome};

impl Call<'_> {
    pub(super) fn list_skills(&self) -> Outcome {
        let page = self.page(self.snapshot.listed_skills(), method::SKILLS_LIST, "")?;
        let mut result = self.result();
        self.write_page(&mut result, "skills", &page, method::SKILLS_LIST, "");
        result.cacheable();
        Ok(result.finish())
    }

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
        Ok(result.finish())
    }
}
