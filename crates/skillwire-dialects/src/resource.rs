//! Entries of `resources/list`, which half of the dialects are carried in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Value, value::RawValue};
use skillwire_core::{ResourceUri, SkillUri};

use crate::InvalidDocument;

/// The key in `_meta` under which an alias names the URI of the skill that it stands for.
pub const ALIAS_OF: &str = "dev.skillwire/aliasOf";

/// How much a resource matters that only repeats a skill under another address.
const ALIAS_PRIORITY: f64 = 0.1;

/// The members of a resource in a listing that some dialect uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedResource {
    /// The URI under which a client reads it.
    pub uri: String,
    /// The name that the server gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server's description of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// One page of `resources/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourcePage {
    /// The resources that can be read as such.
    pub resources: Vec<ListedResource>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

impl ResourcePage {
    /// Reads a page; an element that is not a resource is left out.
    pub fn read(text: &str) -> Result<Self, InvalidDocument> {
        let page: RawPage<'_> = serde_json::from_str(text).map_err(|_| "no list `resources`")?;
        let resources = page.resources.iter();
        let resources = resources.filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
        Ok(Self { resources, next: page.next })
    }

    /// Returns the result that a server answers with.
    pub fn write(&self) -> Value {
        let mut page = serde_json::json!({ "resources": self.resources });
        if let Some(next) = &self.next {
            page["nextCursor"] = next.as_str().into();
        }
        page
    }
}

#[derive(Debug, Clone, Serialize)]
struct AnnotatedPriority {
    priority: f64,
}

#[derive(Debug, Clone)]
struct AliasMeta {
    canonical: ResourceUri,
    fastmcp: Option<Value>,
}

impl Serialize for AliasMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut meta = serializer.serialize_map(None)?;
        meta.serialize_entry(ALIAS_OF, &self.canonical)?;
        if let Some(fastmcp) = &self.fastmcp {
            meta.serialize_entry("fastmcp", fastmcp)?;
        }
        meta.end()
    }
}

/// A resource that stands for a skill under another address than the extension's.
///
/// It has the lowest priority and names the skill, so that a client can tell that it is no other.
#[derive(Debug, Clone, Serialize)]
pub struct AliasResource<'a> {
    annotations: AnnotatedPriority,
    #[serde(rename = "_meta")]
    meta: AliasMeta,
    uri: String,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Cow<'a, str>>,
    #[serde(rename = "mimeType")]
    media_type: &'a str,
}

impl<'a> AliasResource<'a> {
    pub(crate) fn new(
        skill: &SkillUri,
        uri: String,
        name: impl Into<Cow<'a, str>>,
        media_type: &'a str,
    ) -> Self {
        Self {
            annotations: AnnotatedPriority { priority: ALIAS_PRIORITY },
            meta: AliasMeta { canonical: skill.file().clone(), fastmcp: None },
            uri,
            name: name.into(),
            description: None,
            media_type,
        }
    }

    pub(crate) fn description(self, description: impl Into<Cow<'a, str>>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    pub(crate) fn fastmcp(mut self, meta: Value) -> Self {
        self.meta.fastmcp = Some(meta);
        self
    }
}

/// A document about all skills as a resource.
#[derive(Debug, Clone, Serialize)]
pub struct DocumentResource {
    uri: &'static str,
    name: &'static str,
    description: &'static str,
    #[serde(rename = "mimeType")]
    media_type: &'static str,
    annotations: AnnotatedPriority,
}

impl DocumentResource {
    pub(crate) const fn new(
        uri: &'static str,
        name: &'static str,
        description: &'static str,
        media_type: &'static str,
    ) -> Self {
        let annotations = AnnotatedPriority { priority: ALIAS_PRIORITY };
        Self { uri, name, description, media_type, annotations }
    }

    pub(crate) const fn priority(mut self, priority: f64) -> Self {
        self.annotations = AnnotatedPriority { priority };
        self
    }
}

/// Writes something as JSON text. The types of this crate have nothing that JSON cannot hold.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_written_d4() {
        let resource = |uri: &str, name: Option<&str>| ListedResource {
            uri: uri.to_owned(),
            name: name.map(str::to_owned),
            description: None,
            media_type: Some("text/markdown".to_owned()),
        };
        let page = ResourcePage {
            resources: vec![resource("skill://a/SKILL.md", Some("a")), resource("x:y", None)],
            next: Some("2".to_owned()),
        };
        assert_eq!(ResourcePage::read(&page.write().to_string()), Ok(page));
    }

    #[test]
    fn elements_that_are_no_resources_are_left_out_d4() {
        let page = json!({ "resources": [5, { "name": "x" }, { "uri": "x:y" }, { "uri": 5 }] });
        let page = ResourcePage::read(&page.to_string()).unwrap();
        assert_eq!((page.resources.len(), page.next), (1, None));
        for bad in ["[]", "5", "{}", r#"{"resources":{}}"#, r#"{"resources":"#] {
            assert!(ResourcePage::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_alias_names_the_skill_that_it_stands_for() {
        let skill = SkillUri::parse("skill://acme/a/SKILL.md").unwrap();
        let alias = AliasResource::new(&skill, "skill://a".to_owned(), "a", "text/markdown");
        assert_eq!(
            json_text(&alias.description("x")),
            r#"{"annotations":{"priority":0.1},"_meta":{"dev.skillwire/aliasOf":"skill://acme/a/SKILL.md"},"uri":"skill://a","name":"a","description":"x","mimeType":"text/markdown"}"#
        );
    }
}
