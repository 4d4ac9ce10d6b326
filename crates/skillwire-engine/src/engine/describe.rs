//! `server/discover` and `initialize`.

use std::borrow::Cow;

use serde_json::json;
use skillwire_protocol::{RpcError, message::string, skills_server_capabilities, version};

use super::{Call, Outcome};
use crate::{
    dialect::{self, Dialect},
    payload::Payload,
};

impl Call<'_> {
    pub(super) fn discover(&self) -> Payload {
        let mut result = self.result();
        result.json("supportedVersions", &json!(version::SUPPORTED).to_string());
        result.json("capabilities", &self.capabilities());
        result.string("instructions", &self.instructions());
        result.cacheable();
        result.server_info();
        result.finish().into()
    }

    pub(super) fn initialize(&self) -> Outcome {
        let requested = match self.params.protocol_version {
            Some(raw) => string(raw, "params.protocolVersion")?,
            None => return Err(RpcError::invalid_params("`params.protocolVersion` is required.")),
        };
        let config = &self.state.config;
        let info = json!({ "name": config.name, "version": config.version });
        let mut result = self.result();
        result.string("protocolVersion", version::negotiate_legacy(&requested));
        result.json("capabilities", &self.capabilities());
        result.json("serverInfo", &info.to_string());
        result.string("instructions", &self.instructions());
        Ok(result.finish().into())
    }

    /// Returns the instructions; those about tools come first, because more clients know tools than
    /// skills.
    fn instructions(&self) -> Cow<'_, str> {
        let mut own = Cow::Borrowed(self.snapshot.instructions());
        if self.speaks(Dialect::Usage) {
            own.to_mut()
                .push_str(&dialect::usage_sentence(&self.to_owned_call()).unwrap_or_default());
        }
        match self.state.offers.instructions(self.caller) {
            None => own,
            Some(offered) => format!("{offered}\n\n{own}").into(),
        }
    }

    fn capabilities(&self) -> String {
        let lists_change = self.offers().next().is_some();
        let directory_read = self.state.config.directory_read;
        let mut declared = skills_server_capabilities(directory_read, lists_change);
        if self.has_superset() {
            declared["skills"] = json!({ "listChanged": true });
            if self.state.scripts.is_some() && self.speaks(Dialect::SkillsPage) {
                declared["skills"]["scripts"] = true.into();
            }
        }
        declared.to_string()
    }
}
