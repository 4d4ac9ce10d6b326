//! `server/discover` and `initialize`.

use std::borrow::Cow;

use serde_json::json;
use skillwire_protocol::{RpcError, message::string, meta, skills_server_capabilities, version};

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
        let info = json!({ meta::SERVER_INFO: self.state.config.identity.full() });
        result.json("_meta", &info.to_string());
        result.finish().into()
    }

    pub(super) fn initialize(&self) -> Outcome {
        let requested = match self.params.protocol_version {
            Some(raw) => string(raw, "params.protocolVersion")?,
            None => return Err(RpcError::invalid_params("`params.protocolVersion` is required.")),
        };
        let info = self.state.config.identity.full();
        let mut result = self.result();
        result.string("protocolVersion", version::negotiate_legacy(&requested));
        result.json("capabilities", &self.capabilities());
        result.json("serverInfo", &info.to_string());
        result.string("instructions", &self.instructions());
        Ok(result.finish().into())
    }

    /// Returns the instructions: the operator's own, then those about tools, because more clients
    /// know tools than skills, and at last what skills there are.
    fn instructions(&self) -> Cow<'_, str> {
        let mut own = Cow::Borrowed(self.snapshot.instructions());
        if self.speaks(Dialect::Usage) {
            own.to_mut()
                .push_str(&dialect::usage_sentence(&self.to_owned_call()).unwrap_or_default());
        }
        let config = &self.state.config;
        let operators = config.identity.instructions.as_deref();
        let offered = self.state.offers.instructions(&self.audience());
        let before: Vec<&str> = operators.into_iter().chain(offered.as_deref()).collect();
        if before.is_empty() {
            own
        } else if offered.is_some() && !config.catalogue_instructions {
            before.join("\n\n").into()
        } else {
            format!("{}\n\n{own}", before.join("\n\n")).into()
        }
    }

    fn capabilities(&self) -> String {
        let lists_change = self.offers().next().is_some();
        let directory_read = self.state.config.directory_read;
        let mut declared = skills_server_capabilities(directory_read, lists_change);
        if self.has_superset() {
            declared["skills"] = json!({ "listChanged": true });
            let runs_scripts = self.state.scripts.is_some() && self.caller.may_run;
            if runs_scripts && self.speaks(Dialect::SkillsPage) {
                declared["skills"]["scripts"] = true.into();
            }
        }
        declared.to_string()
    }
}
