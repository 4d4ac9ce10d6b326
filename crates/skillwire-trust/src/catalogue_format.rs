//! The three notations of a catalogue of skills, for a model.
//!
//! Every string goes through `one_line` first and is then escaped for the notation, so no
//! description can end its element, its line or its string.

use std::path::PathBuf;

use serde_json::json;
use skillwire_core::{MAX_DESCRIPTION_CHARS, visible::one_line};

use crate::origin::Origin;

/// One skill of the catalogue; the caller passes only enabled skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueItem {
    /// The qualified handle, which the model sees as the name and passes to the loader.
    pub handle: String,
    /// The skill's own description.
    pub description: String,
    /// The origin of the skill.
    pub origin: Origin,
    /// The path of the `SKILL.md`, for a skill in a folder of this machine.
    pub location: Option<PathBuf>,
}

/// Options of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueOptions {
    /// The notation.
    pub format: CatalogueFormat,
    /// The most tokens, estimated as a quarter of the bytes; `None` shows every skill.
    pub budget: Option<usize>,
    /// The tool with which a model finds skills that the catalogue does not show.
    pub list_tool: String,
}

impl Default for CatalogueOptions {
    fn default() -> Self {
        Self { format: CatalogueFormat::Xml, budget: None, list_tool: "list_skills".to_owned() }
    }
}

impl CatalogueOptions {
    /// Sets the notation.
    #[must_use]
    pub fn with_format(self, format: CatalogueFormat) -> Self {
        Self { format, ..self }
    }

    /// Sets the most tokens; `None` shows every skill.
    #[must_use]
    pub fn with_budget(self, budget: Option<usize>) -> Self {
        Self { budget, ..self }
    }

    /// Sets the tool with which a model finds skills that the catalogue does not show.
    #[must_use]
    pub fn with_list_tool(self, list_tool: impl Into<String>) -> Self {
        Self { list_tool: list_tool.into(), ..self }
    }
}

/// A notation for the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogueFormat {
    /// XML: `<available_skills>` with one element per skill.
    #[default]
    Xml,
    /// Markdown: a heading and a list.
    Markdown,
    /// JSON: one object.
    Json,
}

impl CatalogueFormat {
    /// Returns the size of a piece in bytes, including the separator to the next.
    pub fn with_separator(piece: &str) -> usize {
        piece.len() + 1
    }

    /// Writes one skill.
    pub fn item(self, item: &CatalogueItem) -> String {
        let handle = one_line(&item.handle);
        let origin = named(&item.origin);
        let description = description(&item.description);
        let location = item.location.as_ref().map(|path| one_line(&path.display().to_string()));
        match self {
            Self::Xml => {
                let location = location.map_or_else(String::new, |path| {
                    format!("<location>{}</location>\n", xml(&path))
                });
                format!(
                    "<skill>\n<name>{}</name>\n<description>{}</description>\n\
                     <origin>{}</origin>\n{location}</skill>",
                    xml(&handle),
                    xml(&description),
                    xml(&origin)
                )
            }
            Self::Markdown => {
                format!("- {} ({origin}): {}", code(&handle), markdown(&description))
            }
            Self::Json => {
                let mut item =
                    json!({"name": handle, "description": description, "origin": origin});
                if let Some(location) = location {
                    item["location"] = location.into();
                }
                item.to_string()
            }
        }
    }

    /// Writes how many skills an origin has and how the model finds them.
    pub fn summary(self, origin: &Origin, count: usize, list_tool: &str) -> String {
        let search = format!("Call {list_tool} with server {} to search them.", origin.label());
        let origin = named(origin);
        match self {
            Self::Xml => format!(
                "<more_skills>\n<origin>{}</origin>\n<count>{count}</count>\n\
                 <search>{}</search>\n</more_skills>",
                xml(&origin),
                xml(&search)
            ),
            Self::Markdown => format!("- {} from {origin}: {search}", skills(count)),
            Self::Json => json!({"origin": origin, "count": count, "search": search}).to_string(),
        }
    }

    /// Writes how many skills there are in all.
    pub fn overall(self, count: usize, origins: usize, list_tool: &str) -> String {
        let search = format!("Call {list_tool} to search them.");
        match self {
            Self::Xml => format!(
                "<more_skills>\n<count>{count}</count>\n<origins>{origins}</origins>\n\
                 <search>{}</search>\n</more_skills>",
                xml(&search)
            ),
            Self::Markdown => {
                let plural = if origins == 1 { "" } else { "s" };
                format!("- {} from {origins} origin{plural}: {search}", skills(count))
            }
            Self::Json => json!({"count": count, "origins": origins, "search": search}).to_string(),
        }
    }

    /// Joins the pieces.
    pub fn frame<'a>(
        self,
        skills: impl Iterator<Item = &'a str>,
        more: impl Iterator<Item = &'a str>,
    ) -> String {
        let lines = |pieces: Vec<&str>| -> String {
            pieces.iter().flat_map(|piece| [*piece, "\n"]).collect()
        };
        match self {
            Self::Xml => {
                let pieces = lines(skills.chain(more).collect());
                format!("<available_skills>\n{pieces}</available_skills>\n")
            }
            Self::Markdown => {
                format!("## Available skills\n\n{}", lines(skills.chain(more).collect()))
            }
            Self::Json => {
                let (skills, more): (Vec<_>, Vec<_>) = (skills.collect(), more.collect());
                format!(
                    "{{\"available_skills\":[{}],\"more_skills\":[{}]}}\n",
                    skills.join(","),
                    more.join(",")
                )
            }
        }
    }
}

/// Returns the name of an origin, worded so that no server's label reads like a folder of this
/// machine.
fn named(origin: &Origin) -> String {
    match origin {
        Origin::Local => "local".to_owned(),
        Origin::Project => "project".to_owned(),
        Origin::Server(label) => format!("server {label}"),
    }
}

/// Shortens a description: a local one may be longer than the format allows.
fn description(text: &str) -> String {
    match text.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        None => one_line(text),
        Some((at, _)) => format!("{}…", one_line(&text[..at])),
    }
}

fn skills(count: usize) -> String {
    format!("{count} skill{}", if count == 1 { "" } else { "s" })
}

/// Escapes the five characters that mean something in XML.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c => out.push(c),
        }
    }
    out
}

/// Escapes what could become a link, an image, code or HTML in one line of Markdown.
fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '[' | ']' | '<' | '>' | '*' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Formats text as code and escapes its backticks, so that it cannot end the code.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "\\u{60}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_five_characters_are_escaped_fmt_34() {
        assert_eq!(xml("&<>\"'a"), "&amp;&lt;&gt;&quot;&apos;a");
    }

    #[test]
    fn json_pieces_are_json() {
        let text = CatalogueFormat::Json.frame(
            std::iter::once(&*CatalogueFormat::Json.overall(3, 1, "x")),
            std::iter::once(&*CatalogueFormat::Json.summary(&Origin::Local, 2, "x")),
        );
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["more_skills"][0]["count"], 2);
    }
}
