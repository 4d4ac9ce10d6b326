//! Addresses within the page.

use form_urlencoded::Serializer;

use crate::model::{CatalogueQuery, SkillKey, TableQuery};

fn with(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// A skill, in one of its views.
pub(crate) fn skill(key: &SkillKey, view: &str) -> String {
    with("/skill", &[("id", key.as_str()), ("view", view)])
}

/// A page of the files of a skill.
pub(crate) fn files(key: &SkillKey, page: usize) -> String {
    let page = if page == 0 { String::new() } else { page.to_string() };
    with("/skill", &[("id", key.as_str()), ("view", "files"), ("page", &page)])
}

/// A file of a skill.
pub(crate) fn file(key: &SkillKey, path: &str) -> String {
    with("/file", &[("id", key.as_str()), ("path", path)])
}

/// A line of a file of a skill.
pub(crate) fn line(key: &SkillKey, path: &str, line: Option<usize>) -> String {
    match line {
        None => file(key, path),
        Some(line) => {
            let from = crate::render::first_line_of_page(line).to_string();
            let pairs = [("id", key.as_str()), ("path", path), ("from", from.as_str())];
            format!("{}#L{line}", with("/file", &pairs))
        }
    }
}

/// A part of a long file.
pub(crate) fn file_from(key: &SkillKey, path: &str, from: usize) -> String {
    with("/file", &[("id", key.as_str()), ("path", path), ("from", &from.to_string())])
}

/// An image of a skill.
pub(crate) fn image(key: &SkillKey, path: &str) -> String {
    with("/image", &[("id", key.as_str()), ("path", path)])
}

/// What changed in a skill.
pub(crate) fn diff(key: &SkillKey, since: &str, layout: &str, path: &str) -> String {
    let pairs = [("id", key.as_str()), ("since", since), ("layout", layout), ("path", path)];
    with("/diff", &pairs)
}

/// The way to a place where readers sign in.
pub(crate) fn sign_in_with(place: &str) -> String {
    with(crate::signing_in::WITH, &[("place", place)])
}

/// The review of a skill.
pub(crate) fn review(key: &SkillKey) -> String {
    with("/review", &[("id", key.as_str())])
}

/// A page of a list of skills.
pub(crate) fn list(path: &str, query: &CatalogueQuery, page: usize) -> String {
    filtered(path, &query.words, &query.filters, page)
}

/// A page of a table.
pub(crate) fn table(path: &str, query: &TableQuery, page: usize) -> String {
    filtered(path, &query.words, &query.filters, page)
}

/// Everything in a table that fits a query.
pub(crate) fn export(path: &str, query: &TableQuery, format: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = vec![("q", query.words.as_str()), ("format", format)];
    pairs.extend(query.filters.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    with(&format!("{path}/export"), &pairs)
}

fn filtered(path: &str, words: &str, filters: &[(String, String)], page: usize) -> String {
    let page = if page == 0 { String::new() } else { page.to_string() };
    let mut pairs: Vec<(&str, &str)> = vec![("q", words)];
    pairs.extend(filters.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    pairs.push(("page", &page));
    with(path, &pairs)
}
