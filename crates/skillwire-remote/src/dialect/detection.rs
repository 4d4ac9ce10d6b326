//! Finding out how a server offers skills: from the released extension down, one dialect at a time.
//!
//! The host asks a server only for what it declares, and searches all its resources only if the
//! user allowed that.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::Value;
use skillwire_client::ServerDescription;
use skillwire_core::SkillUri;
use skillwire_dialects::{
    Dialect, ListedResource, OfferedSkill, RefusedEntry, fastmcp, index, named_skills, scoped_list,
    sep_2076::{self, NamePage, NamedSkill},
    skilljack, skills_over_mcp, skills_page, usage,
};
use skillwire_protocol::{NextPage, PageLimits, Pager, method};
use skillwire_trust::{Origin, Reason, Refusal, Remedy, UnreadSkill};
use tokio::time::Instant;

use super::{
    SkillServer,
    resources::{self, MOST_ITEMS, MOST_PAGES, Resources},
    tools,
};
use crate::{
    page::protocol_error,
    remote::{Listing, ListingInProgress, NoListing},
};

/// How long the host uses a listing of an older dialect; none of them states a lifetime.
pub(super) const LIFETIME: Duration = Duration::from_mins(1);

/// The largest index that the host reads.
const MOST_INDEX_BYTES: u64 = 4 << 20;

/// A listing, or `None` if the server does not offer skills in that way.
type ListingAttempt = Result<Option<Listing>, Refusal>;

/// One way to ask a server for its skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListingMethod {
    Released,
    Index,
    Scope,
    Names,
    /// Searching all resources, which only the user can allow.
    Resources,
}

impl ListingMethod {
    /// The order in which they are tried.
    const IN_ORDER: [Self; 5] =
        [Self::Released, Self::Index, Self::Scope, Self::Names, Self::Resources];

    /// Returns the method with which to begin for a server that used this dialect before.
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

/// Lists a server that speaks the released extension.
pub(crate) trait ListReleased {
    /// Requests `skills/list`, page after page, until the deadline.
    fn list_released(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = Result<(Listing, Duration), NoListing>> + Send;
}

/// One server, with its description and what the user allows.
pub(crate) struct DialectDetection<'a, S> {
    server: &'a S,
    description: Arc<ServerDescription>,
    allows_legacy: bool,
    deadline: Instant,
}

impl<'a, S: SkillServer + ListReleased> DialectDetection<'a, S> {
    pub(crate) fn new(
        server: &'a S,
        description: Arc<ServerDescription>,
        allows_legacy: bool,
        deadline: Instant,
    ) -> Self {
        Self { server, description, allows_legacy, deadline }
    }

    /// Lists the server in the first dialect that it answers in, beginning with the one it used
    /// before.
    pub(crate) async fn list(
        &self,
        known: Option<Dialect>,
    ) -> Result<(Listing, Duration), Refusal> {
        let found = match known {
            Some(dialect) => match self.boxed_step(ListingMethod::of(dialect), known).await {
                Ok(Some(found)) => Some(found),
                Err(NoListing::Refused(refusal)) if is_silence(&refusal) => return Err(refusal),
                // The server no longer answers in the remembered dialect.
                _ => None,
            },
            None => None,
        };
        let (listing, lifetime) = match found {
            Some(found) => found,
            None => self.try_each().await?,
        };
        Ok((self.point_out(listing).await, lifetime))
    }

    async fn try_each(&self) -> Result<(Listing, Duration), Refusal> {
        let mut unanswered = None;
        for way in ListingMethod::IN_ORDER {
            match self.boxed_step(way, None).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(NoListing::NoMethod(refusal)) => unanswered = Some(refusal),
                Err(NoListing::Refused(refusal)) => return Err(refusal),
            }
        }
        let refusal = unanswered.unwrap_or_else(|| self.not_offered());
        Err(match tools::that_hand_out_skills(self.server, &self.description).await {
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

    /// Tries one dialect. The future is boxed, because its code is large and would otherwise be
    /// copied into each caller; a listing happens rarely.
    fn boxed_step(
        &self,
        way: ListingMethod,
        known: Option<Dialect>,
    ) -> BoxFuture<'_, Result<Option<(Listing, Duration)>, NoListing>> {
        Box::pin(self.step(way, known))
    }

    /// Tries one dialect, if the server declared what it needs.
    async fn step(
        &self,
        way: ListingMethod,
        known: Option<Dialect>,
    ) -> Result<Option<(Listing, Duration)>, NoListing> {
        let declares = |key: &str| declares(&self.description, key);
        let extension = self.description.skills.is_some();
        let resources = declares("resources");
        let listing = match way {
            ListingMethod::Released if extension => {
                return self.server.list_released(self.deadline).await.map(Some);
            }
            ListingMethod::Index if extension && resources => self.index().await?,
            ListingMethod::Scope if extension && resources => self.scope().await?,
            ListingMethod::Names if declares("skills") => self.names(known).await?,
            ListingMethod::Resources if self.allows_legacy && resources => {
                Some(self.look_through().await?)
            }
            _ => None,
        };
        // No older dialect says that its listings are for everybody.
        Ok(listing.map(|listing| (Listing { private: true, ..listing }, LIFETIME)))
    }

    /// Adds the skills that the server's instructions name and, if it lists none, a note about
    /// tools that return skills.
    async fn point_out(&self, mut listing: Listing) -> Listing {
        let instructions = self.description.instructions.as_deref().unwrap_or_default();
        let listed = |uri: &SkillUri| listing.skills.iter().any(|skill| skill.id().uri == *uri);
        let named = named_skills(instructions);
        listing.references = named.into_iter().filter(|uri| !listed(uri)).collect();
        let empty = listing.skills.is_empty() && listing.refused.is_empty();
        if empty && listing.dialect != Some(Dialect::V1) {
            let tools = tools::that_hand_out_skills(self.server, &self.description).await;
            let origin = self.server.origin();
            listing.warnings.extend(tools.map(|tools| format!("{origin}: {tools}")));
        }
        listing
    }

    /// Refuses because the server offers no skills, and says what the user could try.
    fn not_offered(&self) -> Refusal {
        let label = self.server.origin();
        let refusal = Refusal::new(Reason::SkillsNotOffered)
            .about(&label)
            .expected("a server that declares `io.modelcontextprotocol/skills`");
        let resources = declares(&self.description, "resources");
        if !resources && self.description.instructions.is_none() {
            return refusal;
        }
        match label.server() {
            Some(server) => refusal.remedy(Remedy::SearchResources(server.clone())),
            None => refusal,
        }
    }

    /// Reads `skill://index.json`, if it exists.
    async fn index(&self) -> ListingAttempt {
        let label = self.server.origin();
        let content = match self.server.read_resource(index::URI, MOST_INDEX_BYTES).await {
            Ok(content) => content,
            Err(refusal) if is_absence(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let text = String::from_utf8_lossy(&content.bytes);
        let found = index::read(&text).map_err(|invalid| {
            Refusal::new(Reason::ProtocolError)
                .about(&label)
                .file(index::URI)
                .expected(format!("an object with at most {} `skills`", index::MAX_ENTRIES))
                .actual(invalid)
        })?;
        let mut listing = collect(&label, found.dialect.unwrap_or(Dialect::Index), found.skills);
        if !found.templates.is_empty() {
            listing.warnings.push(format!(
                "The index of `{label}` has {} templates. Browse that server's skills to fill them in.",
                found.templates.len()
            ));
        }
        listing.warnings.extend(unknown_types(&label, found.unknown));
        listing.templates = found.templates;
        Ok(Some(listing))
    }

    /// Lists the resources of the scope that holds all skills.
    async fn scope(&self) -> ListingAttempt {
        let origin = self.server.origin();
        let resources = match resources::list(self.server, Some(scoped_list::SCOPE)).await {
            Ok(resources) => resources?,
            Err(error) if error.is_unanswered() => return Ok(None),
            Err(error) => return Err(self.server.unanswered(error)),
        };
        let skills = scoped_list::offered(&resources.items);
        if skills.is_empty() {
            return Ok(None);
        }
        let mut listing = collect(&origin, Dialect::ScopedList, skills);
        listing.truncated = resources.truncated;
        if resources.items.iter().any(|item| !item.uri.starts_with(scoped_list::SCOPE)) {
            listing.warnings.push(format!("`{origin}` ignores the scope of `resources/list`."));
        }
        Ok(Some(listing))
    }

    /// Lists skills that have only names.
    async fn names(&self, known: Option<Dialect>) -> ListingAttempt {
        let origin = self.server.origin();
        let mut skills = Vec::new();
        let mut pager = Pager::new(PageLimits::new(MOST_PAGES, MOST_ITEMS));
        let truncated = loop {
            let answer = self.server.ask(method::SKILLS_LIST, pager.params()).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) if pager.pages() == 0 && error.is_unanswered() => return Ok(None),
                Err(error) => return Err(self.server.unanswered(error)),
            };
            let page = NamePage::read(answer.text())
                .map_err(|invalid| protocol_error(&origin, method::SKILLS_LIST, invalid))?;
            let received = page.skills.len();
            skills.extend(page.skills);
            match pager.received(received, page.next) {
                NextPage::Ask => {}
                NextPage::End => break None,
                NextPage::Stop(_) => {
                    let most = format!("at most {MOST_PAGES} pages and {MOST_ITEMS} skills");
                    break Some(self.server.exhausted(most, "more"));
                }
            }
        };
        skills.truncate(MOST_ITEMS);
        let dialect = match known {
            Some(dialect) => dialect,
            None => self.name_dialect(&skills).await?,
        };
        let offered = skills.iter().map(|skill| skill.offered(dialect));
        let mut listing = collect(&origin, dialect, offered);
        listing.truncated = truncated;
        Ok(Some(listing))
    }

    /// Distinguishes the two dialects that use names: one declares itself, otherwise the host
    /// requests a skill, if possible one that needs no arguments.
    async fn name_dialect(&self, skills: &[NamedSkill]) -> Result<Dialect, Refusal> {
        let declared = self.description.capabilities.get("skills");
        if declared.is_some_and(|skills| skills.get("scripts").is_some()) {
            return Ok(Dialect::SkillsPage);
        }
        let plain = skills.iter().find(|skill| !skill.facts.needs_arguments());
        let Some(first) = plain.or_else(|| skills.first()) else { return Ok(Dialect::Sep2076) };
        let ways =
            [(method::SKILLS_GET, Dialect::Sep2076), (skills_page::READ, Dialect::SkillsPage)];
        for (method, dialect) in ways {
            match self.server.ask(method, sep_2076::params(&first.name)).await {
                Err(error) if error.is_unknown_method() => {}
                // The server knows the method, and refuses this one skill or wants arguments.
                Err(error) if error.is_unanswered() => return Ok(dialect),
                Err(error) => return Err(self.server.unanswered(error)),
                Ok(_) => return Ok(dialect),
            }
        }
        Err(Refusal::new(Reason::SkillsNotOffered)
            .about(self.server.origin())
            .expected("an answer to `skills/get` or `skills/read`")
            .actual("neither"))
    }

    /// Searches all resources for skills, which only the user can allow.
    async fn look_through(&self) -> Result<Listing, Refusal> {
        let listed = resources::list(self.server, None).await;
        let Resources { items, truncated } =
            listed.map_err(|error| self.server.unanswered(error))??;
        let listed: HashSet<&str> = items.iter().map(|item| item.uri.as_str()).collect();
        let mut listing = if listed.contains(index::URI)
            && let Some(listing) = self.index().await?
        {
            listing
        } else if listed.contains(skills_over_mcp::INDEX)
            || listed.contains(skills_over_mcp::PROMPT_XML)
        {
            self.over_mcp().await?
        } else {
            by_look(&self.server.origin(), &items, &listed)
        };
        listing.truncated = listing.truncated.or(truncated);
        Ok(listing)
    }

    async fn over_mcp(&self) -> Result<Listing, Refusal> {
        let origin = self.server.origin();
        let uri = skills_over_mcp::INDEX;
        let content = self.server.read_resource(uri, MOST_INDEX_BYTES).await?;
        let text = String::from_utf8_lossy(&content.bytes);
        let skills = skills_over_mcp::read_index(&text).map_err(|invalid| {
            Refusal::new(Reason::ProtocolError)
                .about(&origin)
                .file(uri)
                .expected("a list of skills")
                .actual(invalid)
        })?;
        Ok(collect(&origin, Dialect::SkillsOverMcp, skills))
    }
}

/// Assigns each resource to the first dialect that fits, so that no skill appears twice.
fn by_look(origin: &Origin, items: &[ListedResource], listed: &HashSet<&str>) -> Listing {
    let is_listed = |uri: &str| listed.contains(uri);
    let found: Vec<_> = items
        .iter()
        .filter_map(|item| {
            let manifest = || fastmcp::offered(item, is_listed).map(|s| (Dialect::FastMcp, s));
            let pair = || skilljack::offered(item, is_listed).map(|s| (Dialect::Skilljack, s));
            let plain = || scoped_list::by_look(item).map(|s| (Dialect::PlainResources, s));
            manifest().or_else(pair).or_else(plain)
        })
        .collect();
    match found.iter().map(|(dialect, _)| *dialect).min() {
        // If there are skills, a resource that looks like a guide is one of their files.
        Some(dialect) => collect(origin, dialect, found.into_iter().map(|(_, skill)| skill)),
        None => collect(origin, Dialect::Usage, items.iter().filter_map(usage::offered)),
    }
}

/// Builds a listing from skills of one dialect.
pub(super) fn collect(
    origin: &Origin,
    dialect: Dialect,
    skills: impl IntoIterator<Item = Result<OfferedSkill, RefusedEntry>>,
) -> Listing {
    let mut collecting = ListingInProgress::default();
    for skill in skills {
        collecting.add_one(match skill {
            Ok(skill) => Ok(UnreadSkill::offered(origin, skill).into()),
            Err(refused) => Err(Refusal::of_entry(origin, refused)),
        });
    }
    Listing { dialect: Some(dialect), ..collecting.finish(origin, false).0 }
}

/// Returns the warning about entries of unknown types, if there are any.
pub(super) fn unknown_types(label: &Origin, count: usize) -> Option<String> {
    let said = || {
        format!("The index of `{label}` has entries of types that are not known here ({count}).")
    };
    (count > 0).then(said)
}

/// Tells whether a server declares a capability.
pub(super) fn declares(description: &ServerDescription, capability: &str) -> bool {
    description.capabilities.get(capability).is_some_and(Value::is_object)
}

/// Tells whether the server does not have what the host asked for.
fn is_absence(refusal: &Refusal) -> bool {
    matches!(refusal.reason, Reason::FileMissing | Reason::ServerError)
}

/// Tells whether the server does not respond at all, so that other requests are useless.
fn is_silence(refusal: &Refusal) -> bool {
    refusal.reason.is_server_away()
}
