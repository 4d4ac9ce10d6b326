//! Writing results as text, so that what was serialised once is only copied.

use std::sync::Arc;

use serde_json::json;
use skillwire_catalog::listing::Page;
use skillwire_protocol::{meta, version::Era};

use crate::config::{CacheScope, Config};

/// What all results to one request have in common; outlives the call that made it.
#[derive(Debug, Clone)]
pub(crate) struct ResultStyle {
    /// Decides which members exist at all.
    pub(crate) era: Era,
    /// How long the result is fresh.
    pub(crate) ttl_ms: u64,
    /// Who may reuse it.
    pub(crate) scope: CacheScope,
    /// The server's name and version, as a `_meta` object.
    pub(crate) server_info: Arc<str>,
}

impl ResultStyle {
    /// Begins a complete result; legacy results have no `resultType`.
    pub(crate) fn begin(&self) -> ResultText {
        let mut result = ResultText { text: String::from("{"), style: self.clone() };
        if self.era == Era::Modern {
            result.json("resultType", r#""complete""#);
        }
        result
    }
}

/// A result object under construction.
pub(crate) struct ResultText {
    text: String,
    style: ResultStyle,
}

impl ResultText {
    /// Adds a member that is JSON already.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.text.push_str(json);
    }

    /// Adds a string member.
    pub(crate) fn string(&mut self, name: &str, value: &str) {
        self.json(name, &quoted(value));
    }

    /// Adds the items of a page, which are JSON already.
    pub(crate) fn page(&mut self, name: &str, page: &Page<'_>) {
        let length: usize = page.items.iter().map(|item| item.len() + 1).sum();
        self.text.reserve(length + name.len() + 256);
        self.name(name);
        self.text.push('[');
        for (index, item) in page.items.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.text.push_str(item);
        }
        self.text.push(']');
    }

    /// Adds caching hints, which only the modern era knows.
    pub(crate) fn cacheable(&mut self) {
        if self.style.era == Era::Modern {
            self.json("ttlMs", &self.style.ttl_ms.to_string());
            self.string("cacheScope", self.style.scope.as_str());
        }
    }

    /// Adds the server's name and version, which modern results carry in `_meta`.
    ///
    /// Never on `skills/*` and directory results: clients in wide use lose those when they carry
    /// `_meta`.
    pub(crate) fn server_info(&mut self) {
        if self.style.era == Era::Modern {
            let info = Arc::clone(&self.style.server_info);
            self.json("_meta", &info);
        }
    }

    /// Ends this piece of the object; the other one goes on with `text`.
    pub(crate) fn split_after(&self, text: &str) -> Self {
        Self { text: text.to_owned(), style: self.style.clone() }
    }

    /// The text so far, for a piece that does not end the object.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Closes the object.
    pub(crate) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn name(&mut self, name: &str) {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
    }
}

/// The `_meta` object that names this server.
pub(crate) fn server_info(config: &Config) -> Arc<str> {
    json!({ meta::SERVER_INFO: { "name": config.name, "version": config.version } })
        .to_string()
        .into()
}

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
