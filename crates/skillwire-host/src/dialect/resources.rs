//! `resources/list`, page after page, within bounds that no honest server reaches.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillwire_client::{Client, ClientError};
use skillwire_protocol::method;
use skillwire_trust::Refusal;

use crate::{
    page::{self, page_at},
    remote::Remote,
};

/// The most pages that are asked for.
pub(super) const MOST_PAGES: usize = 20;

/// The most resources that are looked at.
pub(super) const MOST_ITEMS: usize = 5_000;

/// What a listing says about one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) media_type: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct RawResource {
    uri: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(rename = "mimeType", default)]
    media_type: Option<String>,
}

/// The resources that were looked at, and whether there were more.
pub(super) struct Resources {
    pub(super) items: Vec<Resource>,
    pub(super) truncated: Option<Refusal>,
}

impl Remote {
    /// Lists resources, all of them or those of a scope; the server's refusal stays an error of the
    /// connection, so that the ladder can go on.
    pub(super) async fn resources(
        &self,
        client: &Client,
        scope: Option<&str>,
    ) -> Result<Result<Resources, Refusal>, ClientError> {
        let mut found = Resources { items: Vec::new(), truncated: None };
        let mut cursor: Option<String> = None;
        let mut cursors = HashSet::new();
        for _ in 0..MOST_PAGES {
            let mut params = page_at(cursor.take());
            params.extend(scope.map(|scope| ("uri".to_owned(), scope.into())));
            let answer =
                self.request(client, method::RESOURCES_LIST, params, self.limits()).await?;
            let Ok(page) = serde_json::from_str::<RawPage<'_>>(answer.text()) else {
                let what = "no list `resources`";
                return Ok(Err(page::protocol_error(&self.origin(), method::RESOURCES_LIST, what)));
            };
            let items = page.resources.iter().filter_map(|raw| {
                let raw: RawResource = serde_json::from_str(raw.get()).ok()?;
                let RawResource { uri, name, description, media_type } = raw;
                Some(Resource { uri, name, description, media_type })
            });
            found.items.extend(items.take(MOST_ITEMS + 1 - found.items.len()));
            if found.items.len() > MOST_ITEMS {
                found.items.truncate(MOST_ITEMS);
                let most = format!("at most {MOST_ITEMS} resources");
                found.truncated = Some(self.exhausted(most, "more"));
                return Ok(Ok(found));
            }
            match page.next {
                None => return Ok(Ok(found)),
                Some(next) if !cursors.insert(next.clone()) => {
                    let what = "the same cursor again";
                    let refusal =
                        page::protocol_error(&self.origin(), method::RESOURCES_LIST, what);
                    found.truncated = Some(refusal);
                    return Ok(Ok(found));
                }
                next => cursor = next,
            }
        }
        found.truncated = Some(self.exhausted(format!("at most {MOST_PAGES} pages"), "more"));
        Ok(Ok(found))
    }
}
