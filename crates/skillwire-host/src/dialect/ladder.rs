//! Finding out how a server offers skills: from the released extension down, one rung at a time.
//!
//! Nothing is asked of a server that did not declare what the question needs, and looking through all
//! its resources needs the user's word.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value};
use skillwire_client::{Client, ClientError};
use skillwire_core::SkillUri;
use skillwire_protocol::method;
use skillwire_trust::{Origin, Reason, Refusal, Remedy, UnreadSkill};

use super::{
    Dialect, by_name, fastmcp, index, named_skills, over_mcp, page,
    resources::{MOST_ITEMS, MOST_PAGES, Resources},
    scoped, skilljack, usage,
};
use crate::{
    page::page_at,
    remote::{Collecting, Listing, Remote, Trouble},
};

/// How long a listing of an older dialect is used; none of them says.
pub(super) const LIFETIME: Duration = Duration::from_mins(1);

/// The largest index that is read.
const MOST_INDEX_BYTES: u64 = 4 << 20;

type Rung = Result<Option<Listing>, Refusal>;
type Step = Result<Option<(Listing, Duration)>, Trouble>;

/// One way to ask a server for its skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Released,
    Index,
    Scope,
    Names,
    /// Looking through all resources, which only the user can allow.
    Resources,
}

impl Way {
    /// From the released extension down.
    const LADDER: [Self; 5] =
        [Self::Released, Self::Index, Self::Scope, Self::Names, Self::Resources];

    /// Where a server is asked first that offered its skills like this before.
    fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::V1 | Dialect::Draft => Self::Released,
            Dialect::Index | Dialect::EarlyIndex => Self::Index,
            Dialect::ScopedList => Self::Scope,
            Dialect::Sep2076 | Dialect::SkillsPage => Self::Names,
            _ => Self::Resources,
        }
    }
}

impl Remote {
    /// Lists a server in the first dialect that it answers in, beginning with the one it spoke before.
    pub(crate) async fn climb(&self) -> Result<(Listing, Duration), Refusal> {
        if let Some(web) = self.web() {
            return self.well_known(web).await;
        }
        let client = self.client().await?;
        let known = self.recall_dialect(&client);
        let found = match known {
            Some(dialect) => match self.step(&client, Way::of(dialect), known).await {
                Ok(Some(found)) => Some(found),
                Err(Trouble::Refused(refusal)) if is_silence(&refusal) => return Err(refusal),
                // It no longer answers as it did.
                _ => None,
            },
            None => None,
        };
        let (listing, lifetime) = match found {
            Some(found) => found,
            None => self.climb_from_the_top(&client).await?,
        };
        if let Some(dialect) = listing.dialect {
            self.remember_dialect(&client, dialect);
        }
        Ok((self.pointed_out(&client, listing).await, lifetime))
    }

    async fn climb_from_the_top(&self, client: &Client) -> Result<(Listing, Duration), Refusal> {
        let mut unanswered = None;
        for way in Way::LADDER {
            match self.step(client, way, None).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(Trouble::NoMethod(refusal)) => unanswered = Some(refusal),
                Err(Trouble::Refused(refusal)) => return Err(refusal),
            }
        }
        let refusal = unanswered.unwrap_or_else(|| self.not_offered(client));
        Err(match self.tools_of_skills(client).await {
            Some(tools) => {
                let hint = match refusal.hint.as_deref() {
                    Some(hint) => format!("{hint} {tools}"),
                    None => tools,
                };
                Refusal { hint: Some(hint.into()), ..refusal }
            }
            None => refusal,
        })
    }

    /// Asks in one way, if the server declared what that needs.
    async fn step(&self, client: &Client, way: Way, known: Option<Dialect>) -> Step {
        let server = client.server();
        let declared = |key: &str| server.capabilities.get(key).is_some_and(Value::is_object);
        let (extension, resources) = (server.skills.is_some(), declared("resources"));
        let listing = match way {
            Way::Released if extension => return self.fetch_listing(client).await.map(Some),
            Way::Index if extension && resources => self.index().await?,
            Way::Scope if extension && resources => self.scope(client).await?,
            Way::Names if declared("skills") => self.names(client, known).await?,
            Way::Resources if self.allows_legacy() && resources => {
                Some(self.look_through(client).await?)
            }
            _ => None,
        };
        Ok(listing.map(|listing| (listing, LIFETIME)))
    }

    /// Adds what the server points to besides: skills in its instructions, and where it lists none,
    /// tools that hand some out.
    async fn pointed_out(&self, client: &Client, mut listing: Listing) -> Listing {
        let server = client.server();
        let named = named_skills(server.instructions.as_deref().unwrap_or_default());
        let listed = |uri: &SkillUri| listing.skills.iter().any(|skill| skill.id().uri == *uri);
        listing.references = named.into_iter().filter(|uri| !listed(uri)).collect();
        let empty = listing.skills.is_empty() && listing.refused.is_empty();
        if empty && listing.dialect != Some(Dialect::V1) {
            let tools = self.tools_of_skills(client).await;
            listing.warnings.extend(tools.map(|tools| format!("{}: {tools}", self.origin())));
        }
        listing
    }

    /// Says that a server offers no skills, and what could be tried.
    fn not_offered(&self, client: &Client) -> Refusal {
        let (server, label) = (client.server(), self.origin());
        let refusal = Refusal::new(Reason::SkillsNotOffered)
            .about(&label)
            .expected("a server that declares `io.modelcontextprotocol/skills`");
        let resources = server.capabilities.get("resources").is_some_and(Value::is_object);
        if !resources && server.instructions.is_none() {
            return refusal;
        }
        refusal.remedy(Remedy::SearchResources(self.label().clone()))
    }

    /// Reads `skill://index.json`, if there is one.
    async fn index(&self) -> Rung {
        let content = match self.read_text_uri(index::INDEX, MOST_INDEX_BYTES).await {
            Ok(content) => content,
            Err(refusal) if is_absence(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let text = String::from_utf8_lossy(&content.bytes);
        let found = index::read(&self.origin(), &text, MOST_ITEMS).map_err(|actual| {
            Refusal::new(Reason::ProtocolError)
                .about(self.origin())
                .file(index::INDEX)
                .expected(format!("an object with at most {MOST_ITEMS} `skills`"))
                .actual(actual)
        })?;
        let mut listing = collect(found.dialect.unwrap_or(Dialect::Index), found.skills);
        let label = self.origin();
        if !found.templates.is_empty() {
            listing.warnings.push(format!(
                "The index of `{label}` has templates ({}); `skillwire list --server {label} \
                 --browse` fills them in.",
                found.templates.len()
            ));
        }
        listing.warnings.extend(unknown_types(&label, found.unknown));
        listing.templates = found.templates;
        Ok(Some(listing))
    }

    /// Lists the resources of the scope that holds all skills.
    async fn scope(&self, client: &Client) -> Rung {
        let resources = match self.resources(client, Some(scoped::SCOPE)).await {
            Ok(resources) => resources?,
            Err(error) if is_unanswered(&error) => return Ok(None),
            Err(error) => return Err(self.refuse(&error)),
        };
        let skills = scoped::read(&self.origin(), &resources.items);
        let ignored = resources.items.iter().any(|item| !item.uri.starts_with(scoped::SCOPE));
        if skills.is_empty() {
            return Ok(None);
        }
        let mut listing = collect(Dialect::ScopedList, skills);
        listing.truncated = resources.truncated;
        if ignored {
            listing
                .warnings
                .push(format!("`{}` ignores the scope of `resources/list`.", self.origin()));
        }
        Ok(Some(listing))
    }

    /// Lists skills that are known by name alone.
    async fn names(&self, client: &Client, known: Option<Dialect>) -> Rung {
        let mut names = Vec::new();
        let mut truncated = None;
        let (mut cursor, mut cursors) = (None::<String>, HashSet::new());
        for number in 0.. {
            let params = page_at(cursor.take());
            let answer = self.request(client, method::SKILLS_LIST, params, self.limits()).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) if number == 0 && is_unanswered(&error) => return Ok(None),
                Err(error) => return Err(self.refuse(&error)),
            };
            let page = by_name::page(answer.text()).map_err(|actual| {
                crate::page::protocol_error(&self.origin(), method::SKILLS_LIST, &actual)
            })?;
            names.extend(page.names);
            let Some(next) = page.next else { break };
            if number + 1 == MOST_PAGES || names.len() > MOST_ITEMS || !cursors.insert(next.clone())
            {
                names.truncate(MOST_ITEMS);
                let most = format!("at most {MOST_PAGES} pages and {MOST_ITEMS} skills");
                truncated = Some(self.exhausted(most, "more"));
                break;
            }
            cursor = Some(next);
        }
        let first = names.first().map(|(name, _)| name.as_str());
        let dialect = match known {
            Some(dialect) => dialect,
            None => self.name_dialect(client, first).await?,
        };
        let origin = self.origin();
        let skills = names.iter().map(|(name, description)| {
            by_name::skill(&origin, dialect, name, description.as_deref())
        });
        let mut listing = collect(dialect, skills);
        listing.truncated = truncated;
        Ok(Some(listing))
    }

    /// Tells the two dialects with names apart: one says so, and else the first skill is asked for.
    async fn name_dialect(&self, client: &Client, first: Option<&str>) -> Result<Dialect, Refusal> {
        let server = client.server();
        let declared = server.capabilities.get("skills");
        if declared.is_some_and(|skills| skills.get("scripts").is_some()) {
            return Ok(Dialect::SkillsPage);
        }
        let Some(first) = first else { return Ok(Dialect::Sep2076) };
        for (method, dialect) in
            [(method::SKILLS_GET, Dialect::Sep2076), (page::READ, Dialect::SkillsPage)]
        {
            let params = Map::from_iter([("name".to_owned(), first.into())]);
            match self.request(client, method, params, self.limits()).await {
                Err(error) if is_unanswered(&error) => {}
                Err(error) => return Err(self.refuse(&error)),
                Ok(_) => return Ok(dialect),
            }
        }
        Err(Refusal::new(Reason::SkillsNotOffered)
            .about(self.origin())
            .expected("an answer to `skills/get` or `skills/read`")
            .actual("neither"))
    }

    /// Looks for skills among all resources, which only the user can allow.
    async fn look_through(&self, client: &Client) -> Result<Listing, Refusal> {
        let resources =
            self.resources(client, None).await.map_err(|error| self.refuse(&error))??;
        let Resources { items, truncated } = resources;
        let has = |uri: &str| items.iter().any(|item| item.uri == uri);
        let mut listing = if has(index::INDEX)
            && let Some(listing) = self.index().await?
        {
            listing
        } else if has(over_mcp::INDEX) || has(over_mcp::PROMPT) {
            self.over_mcp().await?
        } else {
            self.by_look(&items)
        };
        listing.truncated = listing.truncated.or(truncated);
        Ok(listing)
    }

    /// Each resource is claimed by the first dialect it fits, so that no skill appears twice.
    fn by_look(&self, items: &[super::resources::Resource]) -> Listing {
        let origin = self.origin();
        let manifest = |item| fastmcp::skill(&origin, item, items).map(|s| (Dialect::FastMcp, s));
        let pair = |item| skilljack::skill(&origin, item, items).map(|s| (Dialect::Skilljack, s));
        let plain = |item| {
            scoped::skill(&origin, Dialect::PlainResources, item)
                .map(|s| (Dialect::PlainResources, s))
        };
        let found: Vec<_> = items
            .iter()
            .filter_map(|item| manifest(item).or_else(|| pair(item)).or_else(|| plain(item)))
            .collect();
        let guides: Vec<_> = items.iter().filter_map(|item| usage::guide(&origin, item)).collect();
        let dialect = found.iter().map(|(dialect, _)| *dialect).min();
        match dialect {
            // Next to skills, such a resource is one of their files.
            Some(dialect) => collect(dialect, found.into_iter().map(|(_, skill)| skill)),
            None => collect(Dialect::Usage, guides),
        }
    }

    async fn over_mcp(&self) -> Result<Listing, Refusal> {
        let content = self.read_text_uri(over_mcp::INDEX, MOST_INDEX_BYTES).await?;
        let text = String::from_utf8_lossy(&content.bytes);
        let skills = over_mcp::read(&self.origin(), &text, MOST_ITEMS).map_err(|actual| {
            Refusal::new(Reason::ProtocolError)
                .about(self.origin())
                .file(over_mcp::INDEX)
                .expected("a list of skills")
                .actual(actual)
        })?;
        Ok(collect(Dialect::SkillsOverMcp, skills))
    }
}

/// Puts skills of one dialect together.
fn collect(
    dialect: Dialect,
    skills: impl IntoIterator<Item = Result<UnreadSkill, Refusal>>,
) -> Listing {
    let mut collecting = Collecting::default();
    skills.into_iter().for_each(|skill| collecting.add_one(skill.map(Into::into)));
    Listing { dialect: Some(dialect), ..collecting.finish().0 }
}

/// Says that some entries of an index were left out.
pub(super) fn unknown_types(label: &Origin, count: usize) -> Option<String> {
    let said =
        || format!("The index of `{label}` has entries of a type that nobody knows ({count}).");
    (count > 0).then(said)
}

/// Tells whether a server simply does not have what was asked for.
fn is_absence(refusal: &Refusal) -> bool {
    matches!(refusal.reason, Reason::FileMissing | Reason::ServerError)
}

/// Tells whether a server says nothing at all, so that asking it something else is of no use.
fn is_silence(refusal: &Refusal) -> bool {
    matches!(refusal.reason, Reason::ServerTimeout | Reason::ServerUnreachable)
}

/// Tells whether a server does not know a method or what it was asked about.
fn is_unanswered(error: &ClientError) -> bool {
    error.is_not_found() || error.is_unknown_method()
}
