//! `resources/list` with the additions of dialects: skills first, then documents, then aliases, then
//! resources that are offered besides skills.

use std::{borrow::Cow, sync::Arc};

use skillwire_catalog::Page;
use skillwire_dialects::{
    SKILL_PRIORITY,
    fastmcp::manifest_resource,
    index, skilljack,
    skills_over_mcp::{self as over_mcp, document_resource, documents_resource},
};
use skillwire_protocol::method;
use skillwire_source::Skill;

use super::{Dialect, fastmcp, names::LookupNames, skills_over_mcp, usage};
use crate::{
    engine::{Outcome, OwnedCall, item},
    offer::{self, Items},
};

/// The priority of a supporting file, relative to its skill.
const FILE_PRIORITY: f64 = 0.3;

/// Begins the key of an item that is neither a skill nor one of its files; no URI begins with it.
const MARK: char = '\u{1}';

/// The section of documents about all skills.
const DOCUMENTS: char = '1';

/// The section of other URIs of one skill.
const ALIASES: char = '2';

/// The dialects that add to the listing.
pub(crate) const LISTED: [Dialect; 5] =
    [Dialect::Index, Dialect::FastMcp, Dialect::Skilljack, Dialect::SkillsOverMcp, Dialect::Usage];

type KeyedEntry = (String, Cow<'static, str>);

/// The place at which a page begins among the additions of dialects.
#[derive(Debug, Default)]
struct PageStart<'a> {
    section: char,
    uri: &'a str,
    inner: &'a str,
}

/// Answers `resources/list`.
pub(crate) async fn list(
    call: OwnedCall,
    cursor: Option<String>,
    lists: Vec<Arc<Items>>,
) -> Outcome {
    let walk = (method::RESOURCES_LIST, "");
    let after = call.after(walk, cursor.as_deref())?;
    let size = call.config().page_size;
    let by_name = [Dialect::Skilljack, Dialect::SkillsOverMcp];
    let by_name = call.config().dialects.any(&by_name, call.era());
    let names = if by_name { Some(call.names().await?) } else { None };
    let added = after.as_deref().and_then(|key| key.strip_prefix(MARK));
    let offered = offer::offered_key(after.as_deref());
    let mut page = Page::default();
    if added.is_none() && offered.is_none() {
        page = call.snapshot.resources_page(after.as_deref(), size);
        page.items.iter_mut().for_each(prioritise);
    }
    if page.next.is_none() && offered.is_none() {
        let from = added.map(parse).unwrap_or_default();
        let room = size - page.items.len();
        let more = Page::cut(room, additions(&call, names.as_deref(), &from));
        page.items.extend(more.items);
        // If the page has no space for any addition, the next page begins with the first one.
        page.next = more.next.map(|key| if key.is_empty() { MARK.to_string() } else { key });
    }
    offer::append(&mut page, &lists, offered, size);
    let mut result = call.begin_page(walk, "resources", &page);
    result.cacheable();
    result.server_info();
    Ok(result.finish().into())
}

fn parse(key: &str) -> PageStart<'_> {
    let mut parts = key.splitn(3, '\n');
    let section = parts.next().and_then(|part| part.chars().next()).unwrap_or_default();
    PageStart { section, uri: parts.next().unwrap_or(""), inner: parts.next().unwrap_or("") }
}

/// Iterates over the additions of dialects from a place on, in order.
fn additions<'a>(
    call: &'a OwnedCall,
    names: Option<&'a LookupNames>,
    from: &'a PageStart<'a>,
) -> impl Iterator<Item = KeyedEntry> + 'a {
    let documents = documents(call)
        .into_iter()
        .enumerate()
        .map(|(index, item)| (format!("{MARK}{DOCUMENTS}\n{index:02}"), item))
        .filter(move |(key, _)| from.section < ALIASES && after(from, DOCUMENTS, key));
    let resumes = from.section == ALIASES;
    let shown = resumes.then(|| call.snapshot.skill(from.uri)).flatten();
    let rest = call.snapshot.listed_after(resumes.then_some(from.uri));
    let aliases = shown.into_iter().chain(rest).flat_map(move |skill| {
        let same = resumes && skill.uri.as_str() == from.uri;
        let all = aliases(call, names, skill).into_iter();
        all.filter(move |(inner, _)| !same || inner.as_str() > from.inner)
            .map(move |(inner, item)| (format!("{MARK}{ALIASES}\n{}\n{inner}", skill.uri), item))
    });
    documents.chain(aliases)
}

/// Tells whether a document comes after the last one on the previous page.
fn after(from: &PageStart<'_>, section: char, key: &str) -> bool {
    from.section != section || key.rsplit('\n').next() > Some(from.uri)
}

fn documents(call: &OwnedCall) -> Vec<Cow<'static, str>> {
    let mut found = Vec::new();
    if call.speaks(Dialect::Index) {
        found.push(item(&index::RESOURCE));
    }
    if call.speaks(Dialect::SkillsOverMcp) {
        found.extend(over_mcp::RESOURCES.iter().map(item));
    }
    found.extend(usage::resource(call));
    found
}

/// Lists the other URIs of one skill, each with a sort key.
fn aliases(call: &OwnedCall, names: Option<&LookupNames>, skill: &Skill) -> Vec<KeyedEntry> {
    let uri = &skill.uri;
    let mut found = Vec::new();
    if call.speaks(Dialect::FastMcp) && fastmcp::tree(skill).is_some() {
        found.push(("a".to_owned(), item(&manifest_resource(uri, skill.name()))));
    }
    let name = names.and_then(|names| names.of_skill(&call.snapshot, skill));
    if let Some(name) = name {
        let description = skill.description();
        found.push(("b".to_owned(), item(&skilljack::resource(uri, name, &description))));
        if call.speaks(Dialect::Skilljack) {
            found.push(("c".to_owned(), item(&skilljack::collection(uri, name))));
        }
        if call.speaks(Dialect::SkillsOverMcp) {
            let documents = skills_over_mcp::documents(skill);
            let list = (!documents.is_empty()).then(|| item(&documents_resource(uri, name)));
            found.extend(list.map(|list| ("d".to_owned(), list)));
            found.extend(documents.iter().map(|document| {
                let resource = item(&document_resource(uri, name, document));
                (format!("d/{}", document.path), resource)
            }));
        }
    }
    found
}

/// Adds a priority, unless the author gave the skill one: a skill comes before its files, and both
/// before everything else.
fn prioritise(item: &mut Cow<'_, str>) {
    // Quotation marks inside a text are escaped, so both are members.
    const ANNOTATIONS: &str = r#","annotations":{"#;
    const PRIORITY: &str = r#""priority":"#;
    // Only skills have a description.
    let is_skill = item.contains(r#","description":"#);
    let priority = if is_skill { SKILL_PRIORITY } else { FILE_PRIORITY };
    let prioritised = match item.split_once(ANNOTATIONS) {
        Some((_, rest)) if rest.contains(PRIORITY) => return,
        Some((before, rest)) => format!("{before}{ANNOTATIONS}{PRIORITY}{priority},{rest}"),
        None => match item.strip_suffix('}') {
            Some(open) => format!("{open}{ANNOTATIONS}{PRIORITY}{priority}}}}}"),
            None => return,
        },
    };
    *item = Cow::Owned(prioritised);
}
