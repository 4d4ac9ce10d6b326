//! Writes results as text, so that parts that are already serialised are only copied.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{json, value::RawValue};
use skillwire_catalog::Page;
use skillwire_protocol::{Era, meta, quote::quote};

use crate::config::{CacheScope, Config};

/// The properties that all results of one request share; outlives the call that made it.
#[derive(Debug, Clone)]
pub(crate) struct ResultStyle {
    /// The era, which decides which members a result has.
    pub(crate) era: Era,
    /// How long a client may reuse the result.
    pub(crate) ttl_ms: u64,
    /// Which caches may reuse the result.
    pub(crate) scope: CacheScope,
    /// The server's name and version, as a `_meta` object.
    pub(crate) server_info: Arc<str>,
}

impl ResultStyle {
    /// Begins a complete result; legacy results have no `resultType`.
    pub(crate) fn begin(&self) -> ResultText {
        self.begin_as("complete")
    }

    /// Begins a result that asks the client for input before the request can be completed.
    pub(crate) fn begin_unfinished(&self) -> ResultText {
        self.begin_as("input_required")
    }

    fn begin_as(&self, kind: &str) -> ResultText {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        text.push(b'{');
        let mut result = ResultText { text, style: self.clone() };
        if self.era == Era::Modern {
            result.string("resultType", kind);
        }
        result
    }
}

/// Space for a result without its content, so that it is not reallocated while it grows.
const USUAL_BYTES: usize = 256;

/// A result object under construction.
pub(crate) struct ResultText {
    text: Vec<u8>,
    style: ResultStyle,
}

impl ResultText {
    /// Adds a member that is JSON already.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.text.extend_from_slice(json.as_bytes());
    }

    /// Adds all members of an object.
    pub(crate) fn members(&mut self, object: &impl Serialize) {
        // Serialising fails only for values that JSON cannot represent, and no answer has those.
        let written = serde_json::to_vec(object).unwrap_or_default();
        let inside = written.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        let Some(members) = inside.filter(|members| !members.is_empty()) else { return };
        if !self.text.ends_with(b"{") {
            self.text.push(b',');
        }
        self.text.extend_from_slice(members);
    }

    /// Adds a string member.
    pub(crate) fn string(&mut self, name: &str, value: &str) {
        self.name(name);
        quote(&mut self.text, value);
    }

    /// Adds the items of a page, which are JSON already.
    pub(crate) fn page(&mut self, name: &str, page: &Page<'_>) {
        let length: usize = page.items.iter().map(|item| item.len() + 1).sum();
        self.text.reserve(length + name.len() + 256);
        self.name(name);
        self.text.push(b'[');
        for (index, item) in page.items.iter().enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            self.text.extend_from_slice(item.as_bytes());
        }
        self.text.push(b']');
    }

    /// Adds caching hints, which only the modern era has.
    pub(crate) fn cacheable(&mut self) {
        if self.style.era == Era::Modern {
            self.json("ttlMs", &self.style.ttl_ms.to_string());
            self.string("cacheScope", self.style.scope.as_str());
        }
    }

    /// Adds the members of another server's result, each as it was written, and this server's name
    /// and version. Members that say which era and server a result has are this server's own.
    pub(crate) fn passed_on(&mut self, object: &str) {
        self.passed_on_without(object, &["resultType", "_meta"]);
    }

    /// Adds the members of another server's answer to `resources/read`, with caching hints of this
    /// server's own.
    pub(crate) fn passed_on_read(&mut self, object: &str) {
        self.cacheable();
        self.passed_on_without(object, &["resultType", "_meta", "ttlMs", "cacheScope"]);
    }

    fn passed_on_without(&mut self, object: &str, own: &[&str]) {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(object).unwrap_or_default();
        let others = members.iter().filter(|(name, _)| !own.contains(&&***name));
        for (name, value) in others {
            self.json(name, value.get());
        }
        let meta = members.get("_meta").and_then(|raw| serde_json::from_str(raw.get()).ok());
        let mut meta: BTreeMap<String, &RawValue> = meta.unwrap_or_default();
        meta.remove(meta::SERVER_INFO);
        if meta.is_empty() {
            return self.server_info();
        }
        let info = Arc::clone(&self.style.server_info);
        let own = (self.style.era == Era::Modern).then(|| serde_json::from_str(&info).ok());
        let own: BTreeMap<String, &RawValue> = own.flatten().unwrap_or_default();
        meta.extend(own);
        self.json("_meta", &serde_json::to_string(&meta).unwrap_or_default());
    }

    /// Adds the server's name and version, which modern results carry in `_meta`.
    ///
    /// Never call this for `skills/*` and directory results: widely used clients lose such results
    /// when they carry `_meta`.
    pub(crate) fn server_info(&mut self) {
        if self.style.era == Era::Modern {
            let info = Arc::clone(&self.style.server_info);
            self.json("_meta", &info);
        }
    }

    /// Begins the list of contents with one file, up to the place where its bytes follow.
    pub(crate) fn open_contents(&mut self, uri: &str, media_type: &str, meta: Option<&str>) {
        self.name("contents");
        self.text.extend_from_slice(br#"[{"uri":"#);
        quote(&mut self.text, uri);
        self.text.extend_from_slice(br#","mimeType":"#);
        quote(&mut self.text, media_type);
        if let Some(meta) = meta {
            self.text.extend_from_slice(br#","_meta":"#);
            self.text.extend_from_slice(meta.as_bytes());
        }
    }

    /// Ends this piece of the object and begins the piece that closes the list of contents.
    pub(crate) fn close_contents(self) -> (Bytes, Self) {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        text.push(b']');
        (Bytes::from(self.text), Self { text, style: self.style })
    }

    /// Closes the object.
    pub(crate) fn finish(mut self) -> Bytes {
        self.text.push(b'}');
        Bytes::from(self.text)
    }

    fn name(&mut self, name: &str) {
        if !self.text.ends_with(b"{") {
            self.text.push(b',');
        }
        quote(&mut self.text, name);
        self.text.push(b':');
    }
}

/// Creates the `_meta` object that names this server.
pub(crate) fn server_info(config: &Config) -> Arc<str> {
    json!({ meta::SERVER_INFO: config.identity.short() }).to_string().into()
}
