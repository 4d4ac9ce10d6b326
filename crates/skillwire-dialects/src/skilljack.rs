//! D8, skilljack: `skill://NAME` with `SKILL.md`, `skill://NAME/` with all other files, two tools and
//! a prompt for each skill.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_core::{RelPath, ResourceUri, SkillUri};

use crate::{
    AliasResource, Dialect, FetchRoute, InvalidDocument, ListedResource, OfferedSkill,
    RefusedEntry, SkillOffer, content,
    offer::{Claim, uri_of_name},
    xml::xml_text,
};

/// The tool that loads a skill, and the prompt that does.
pub const SKILL: &str = "skill";

/// The tool that reads files of a skill.
pub const SKILL_RESOURCE: &str = "skill-resource";

/// A collection leaves out files that are larger.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A collection leaves out files that lie deeper.
const MAX_DEPTH: usize = 10;

/// The most skills that the description of a tool names.
pub const MAX_NAMED: usize = 500;

/// The address of a skill by its name alone.
pub fn uri(name: &str) -> String {
    format!("skill://{name}")
}

/// The address of all other files of a skill.
pub fn collection_uri(name: &str) -> String {
    format!("skill://{name}/")
}

/// The name in a URI that has nothing but a name.
pub fn bare_name(uri: &str) -> Option<&str> {
    uri.strip_prefix("skill://").filter(|name| !name.is_empty() && !name.contains('/'))
}

/// The address of a file below an alias, encoded as every other URI.
pub fn file_uri(alias: &str, path: &RelPath) -> String {
    let root = alias.trim_end_matches('/');
    match ResourceUri::parse(root) {
        Ok(root) => root.child(path).to_string(),
        // A client that spelled the name differently finds its own spelling again.
        Err(_) => format!("{root}/{path}"),
    }
}

/// A skill as a resource under its name.
pub fn resource<'a>(skill: &SkillUri, name: &'a str, description: &'a str) -> AliasResource<'a> {
    AliasResource::new(skill, uri(name), name, "text/markdown").description(description)
}

/// All other files of a skill as one resource.
pub fn collection<'a>(skill: &SkillUri, name: &str) -> AliasResource<'a> {
    let alias = AliasResource::new(skill, collection_uri(name), format!("{name}/"), "text/plain");
    alias.description(format!("All files in {name} skill directory"))
}

/// Tells whether a collection holds a file: not `SKILL.md`, and nothing hidden, deep or large.
pub fn is_collected(path: &RelPath, size: Option<u64>) -> bool {
    let is_hidden = |segment: &str| segment.starts_with('.') || segment == "node_modules";
    *path != RelPath::skill_file()
        && path.segments().count() <= MAX_DEPTH
        && !path.segments().any(is_hidden)
        && size.is_none_or(|size| size <= MAX_FILE_BYTES)
}

/// Takes a resource for a skill if its collection is listed as well.
pub fn offered(
    resource: &ListedResource,
    is_listed: impl Fn(&str) -> bool,
) -> Option<Result<OfferedSkill, RefusedEntry>> {
    let name = bare_name(&resource.uri)?;
    let others = format!("{}/", resource.uri);
    if !is_listed(&others) {
        return None;
    }
    let claim = Claim {
        uri: &uri_of_name(name),
        name,
        description: resource.description.as_deref(),
        frontmatter: None,
    };
    let route = FetchRoute::Collection { skill_file: resource.uri.clone(), others };
    Some(claim.offered(SkillOffer::new(Dialect::Skilljack, route)))
}

/// A file in a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedFile {
    /// The URI that the server gives it, which may lie anywhere.
    pub uri: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Reads the answer to `resources/read` of a collection.
pub fn read_collection(text: &str) -> Result<Vec<CollectedFile>, InvalidDocument> {
    let answer: Value = serde_json::from_str(text).map_err(|_| "an answer that cannot be read")?;
    let contents = answer.get("contents").and_then(Value::as_array).ok_or("no list `contents`")?;
    let file = |file: &Value| {
        let uri = file.get("uri").and_then(Value::as_str).ok_or("a content without `uri`")?;
        Ok(CollectedFile { uri: uri.to_owned(), bytes: content::read(file)? })
    };
    contents.iter().map(file).collect()
}

/// Writes the two tools. `available` is the list of skills that their descriptions hold.
pub fn tools(available: &str) -> [Value; 2] {
    let text = json!({ "type": "string" });
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    [
        json!({
            "name": SKILL,
            "description": available,
            "inputSchema": object(json!({ "name": text }), json!(["name"])),
            "annotations": { "readOnlyHint": true },
        }),
        json!({
            "name": SKILL_RESOURCE,
            "description": "Reads one file of a skill, or all files below a directory of it. \
                            An empty path lists the files.",
            "inputSchema": object(json!({ "skill": text, "path": text }), json!(["skill", "path"])),
            "annotations": { "readOnlyHint": true },
        }),
    ]
}

/// A skill in the description of the tool that loads skills.
#[derive(Debug, Clone, Copy)]
pub struct AvailableSkill<'a> {
    /// The name to ask for.
    pub name: &'a str,
    /// The description.
    pub description: &'a str,
    /// The URI of its `SKILL.md`.
    pub uri: &'a str,
}

/// The description of the tool that loads skills, in three parts: [`new`](Self::new), each skill,
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct AvailableSkills(String);

impl AvailableSkills {
    /// Begins the description.
    #[expect(clippy::new_without_default, reason = "it begins a text, not an empty value")]
    pub fn new() -> Self {
        Self(String::from(
            "Loads the instructions of a skill. Call it before doing the task a skill describes.\n\
             <available_skills>\n",
        ))
    }

    /// Adds a skill; a description cannot end its element.
    pub fn push(&mut self, skill: AvailableSkill<'_>) {
        let AvailableSkill { name, description, uri } = skill;
        let _ = write!(
            self.0,
            "<skill>\n<name>{name}</name>\n<description>{}</description>\n\
             <location>{}</location>\n</skill>\n",
            xml_text(description),
            xml_text(uri),
        );
    }

    /// Ends the description with the number of skills that it leaves out.
    pub fn finish(mut self, more: usize) -> String {
        self.0.push_str("</available_skills>");
        if more > 0 {
            let _ = write!(self.0, "\nand {more} more.");
        }
        self.0
    }
}

/// The prompt that loads a skill by its name; a server has one more for each skill.
pub fn prompt() -> Value {
    json!({
        "name": SKILL,
        "description": "Loads a skill by its name.",
        "arguments": [{ "name": "name", "description": "The skill.", "required": true }],
    })
}

/// The one message of a prompt: `SKILL.md` as a resource.
pub fn prompt_message(name: &str, skill_file: &str) -> Value {
    let content = json!({
        "type": "resource",
        "resource": { "uri": uri(name), "mimeType": "text/markdown", "text": skill_file },
        "annotations": { "audience": ["assistant"], "priority": 1.0 },
    });
    json!({ "role": "user", "content": content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::json_text;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_skill_is_read_as_it_is_listed_d8() {
        let skill = SkillUri::parse("skill://acme/refunds/SKILL.md").unwrap();
        let pair = [
            json_text(&resource(&skill, "refunds", "x")),
            json_text(&collection(&skill, "refunds")),
        ];
        let page = format!(r#"{{"resources":[{}]}}"#, pair.join(","));
        let page = crate::ResourcePage::read(&page).unwrap().resources;
        let listed = |uri: &str| page.iter().any(|resource| resource.uri == uri);
        let found: Vec<_> = page.iter().filter_map(|item| offered(item, listed)).collect();
        let [Ok(skill)] = found.as_slice() else { panic!("one skill, not {found:?}") };
        let others = "skill://refunds/".to_owned();
        let route = FetchRoute::Collection { skill_file: "skill://refunds".to_owned(), others };
        assert_eq!((skill.offer.route.clone(), skill.description()), (route, Some("x")));
        assert!(offered(&page[0], |_| false).is_none());
    }

    #[test]
    fn a_collection_is_read_as_it_was_written_d8() {
        let files = [("examples/email.md", &b"Hello"[..]), ("a b.bin", &[0, 255])];
        let files = files.map(|(name, bytes)| (file_uri("skill://refunds/", &path(name)), bytes));
        let contents: Vec<_> =
            files.iter().map(|(uri, bytes)| content::write(uri, bytes)).collect();
        let read = read_collection(&json!({ "contents": contents }).to_string()).unwrap();
        let read: Vec<_> = read.into_iter().map(|file| (file.uri, file.bytes)).collect();
        assert_eq!(read, files.map(|(uri, bytes)| (uri, bytes.to_vec())));
        assert_eq!(read[1].0, "skill://refunds/a%20b.bin");
        for bad in ["[", "{}", r#"{"contents":[{"text":"x"}]}"#, r#"{"contents":[{"uri":"x:y"}]}"#]
        {
            assert!(read_collection(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn collections_leave_out_what_is_hidden_deep_or_large_d8() {
        assert!(is_collected(&path("a/b.md"), Some(MAX_FILE_BYTES)));
        assert!(is_collected(&path("a/b.md"), None));
        let deep = ["d"; MAX_DEPTH + 1].join("/");
        for left_out in ["SKILL.md", ".git/config", "a/.x", "node_modules/x.js", &deep] {
            assert!(!is_collected(&path(left_out), None), "{left_out}");
        }
        assert!(!is_collected(&path("a"), Some(MAX_FILE_BYTES + 1)));
    }

    #[test]
    fn skills_in_a_description_cannot_end_their_element_d8() {
        let mut skills = AvailableSkills::new();
        skills.push(AvailableSkill { name: "a", description: "</skill><x>", uri: "skill://a&b" });
        let text = skills.finish(3);
        assert!(text.contains("<description>&lt;/skill&gt;&lt;x&gt;</description>"), "{text}");
        assert!(text.ends_with("</available_skills>\nand 3 more."), "{text}");
    }
}
