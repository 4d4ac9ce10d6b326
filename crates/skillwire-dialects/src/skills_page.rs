//! D6, the "Skills" page: `skills/read`, `skills/read_reference` and `skills/execute`.
//!
//! Its `skills/list` is that of [`sep_2076`](crate::sep_2076).

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use skillwire_core::{
    RelPath, SkillName,
    links::{self, Target},
    strict_json,
};

use crate::{FileText, InvalidDocument, SkillCard, SkillFacts, content, sep_2076::ANSWER};

/// The method that reads a skill.
pub const READ: &str = "skills/read";

/// The method that reads a file of a skill.
pub const READ_REFERENCE: &str = "skills/read_reference";

/// The method that has the server run a script of a skill.
pub const EXECUTE: &str = "skills/execute";

/// The longest text of a link that describes a file.
const MAX_LABEL_BYTES: usize = 1_024;

/// The member `skill` of the answer to `skills/read`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageSkill<'a> {
    /// The name that the client asked for.
    pub name: Cow<'a, str>,
    /// The description.
    pub description: Option<Cow<'a, str>>,
    /// `SKILL.md` without its frontmatter.
    pub instructions: Cow<'a, str>,
    /// Files below `scripts`.
    pub scripts: Vec<&'a PageFile>,
    /// All other files.
    pub references: Vec<&'a PageFile>,
    /// Files below `assets`.
    pub assets: Vec<&'a PageFile>,
    /// The author's keys and values.
    pub metadata: Map<String, Value>,
    /// Audience, priority and date.
    pub annotations: Value,
}

/// The parts of an answer to `skills/read` that a client needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSkill {
    /// `SKILL.md` without its frontmatter.
    pub instructions: String,
    /// The paths of all scripts, references and assets; a path that leaves the skill is left out.
    pub paths: Vec<RelPath>,
    /// What the answer says about the skill.
    pub facts: SkillFacts,
}

/// Reads the answer to `skills/read`, which must be about the skill that was asked for.
pub fn read(text: &str, name: &str) -> Result<ReadSkill, InvalidDocument> {
    let answer = strict_json::object(text, ANSWER)?;
    let skill = answer.get("skill").filter(|skill| skill.is_object()).ok_or("no object `skill`")?;
    let text = |key: &str| skill.get(key).and_then(Value::as_str).map(str::to_owned);
    if text("name").is_some_and(|found| found != name) {
        return Err("another skill".into());
    }
    let instructions = text("instructions").ok_or("no text `instructions`")?;
    let items = ["scripts", "references", "assets"].into_iter();
    let items = items.filter_map(|key| skill.get(key)?.as_array()).flatten();
    let path = |item: &Value| {
        let path = item.get("path").or_else(|| item.get("name")).and_then(Value::as_str);
        path.and_then(|path| RelPath::parse(path).ok())
    };
    let paths = items.filter_map(path).collect();
    Ok(ReadSkill { instructions, paths, facts: SkillFacts::read(skill) })
}

/// Reads the bytes in the answer to `skills/read_reference`.
pub fn read_reference(text: &str) -> Result<Vec<u8>, InvalidDocument> {
    let answer = strict_json::object(text, ANSWER)?;
    content::read(answer.get("content").ok_or("no `content`")?)
}

/// Returns the parameters that ask for a file of a skill.
pub fn reference_params(name: &str, path: &RelPath) -> Map<String, Value> {
    let reference = ("reference".to_owned(), path.as_str().into());
    Map::from_iter([("name".to_owned(), name.into()), reference])
}

/// Returns the parameters that ask the server to run a script of a skill.
pub fn execute_params(name: &str, script: &RelPath, arguments: Value) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), name.into()),
        ("script".to_owned(), script.as_str().into()),
        ("arguments".to_owned(), arguments),
    ])
}

/// What a script that ran on its server answered: words of that server alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRun {
    /// The texts of the answer, as the server wrote them.
    pub texts: Vec<String>,
    /// What it links to or describes without content.
    pub links: Vec<RemoteLink>,
    /// How many blocks were neither text nor links, such as pictures.
    pub other_blocks: usize,
    /// Whether the server says that the script failed.
    pub is_error: bool,
}

/// Something that the answer of a script links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteLink {
    /// Its URI, as the server wrote it.
    pub uri: String,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// Reads the answer to `skills/execute`, which is the result of a tool.
///
/// The page's own example embeds a resource without its content; that counts as a link.
pub fn read_run(text: &str) -> Result<RemoteRun, InvalidDocument> {
    let answer = strict_json::object(text, ANSWER)?;
    let blocks = answer.get("content").and_then(Value::as_array).ok_or("no array `content`")?;
    let is_error = match answer.get("isError") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return Err("an `isError` that is neither true nor false".into()),
    };
    let mut run = RemoteRun { texts: Vec::new(), links: Vec::new(), other_blocks: 0, is_error };
    for block in blocks {
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        match (text(block, "type").as_deref(), block.get("resource")) {
            (Some("text"), _) => run.texts.push(text(block, "text").ok_or("a text without text")?),
            (Some("resource_link"), _) => {
                let uri = text(block, "uri").ok_or("a link without a URI")?;
                run.links.push(RemoteLink { uri, name: text(block, "name") });
            }
            (Some("resource"), Some(resource)) => {
                if let Some(written) = text(resource, "text") {
                    run.texts.push(written);
                } else {
                    let uri = text(resource, "uri").ok_or("a resource without a URI")?;
                    run.links.push(RemoteLink { uri, name: text(resource, "name") });
                }
            }
            _ => run.other_blocks += 1,
        }
    }
    Ok(run)
}

/// The kind of a file on the page, which its folder decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFileKind {
    /// A file below `scripts`.
    Script,
    /// A file that is neither a script nor an asset.
    Reference,
    /// A file below `assets`.
    Asset,
}

/// A file of a skill as the page lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// Which of the three lists it is in.
    pub kind: PageFileKind,
    /// Its path in the skill.
    pub path: RelPath,
    /// The text of the link that leads to it, or a sentence with its path.
    pub description: String,
}

impl Serialize for PageFile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PageItem<'a> {
            name: &'a str,
            description: &'a str,
            path: &'a str,
        }
        let (path, description) = (self.path.as_str(), self.description.as_str());
        PageItem { name: self.path.file_name(), description, path }.serialize(serializer)
    }
}

/// All files of a skill besides `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFiles(Vec<PageFile>);

impl PageFiles {
    /// Describes files by the texts of the links that lead to them.
    pub fn new(skill: &str, instructions: &str, paths: impl IntoIterator<Item = RelPath>) -> Self {
        let labels = labels(instructions);
        let others = paths.into_iter().filter(|path| *path != RelPath::skill_file());
        let file = |path: RelPath| {
            let kind = match path.segments().next() {
                Some("scripts") => PageFileKind::Script,
                Some("assets") => PageFileKind::Asset,
                _ => PageFileKind::Reference,
            };
            let label = labels.iter().find(|(linked, _)| linked == path.as_str());
            let description = label.map_or_else(
                || format!("`{path}` of the skill {skill}"),
                |(_, label)| label.clone(),
            );
            PageFile { kind, path, description }
        };
        Self(others.map(file).collect())
    }

    /// Describes files as their author does in the frontmatter, where the author does.
    #[must_use]
    pub fn described_by(mut self, card: &SkillCard) -> Self {
        for file in &mut self.0 {
            let FileText { title, description } = card.file_text(file.path.as_str());
            if let Some(text) = description.or(title) {
                file.description = text;
            }
        }
        self
    }

    /// Returns the files of one kind.
    pub fn of_kind(&self, kind: PageFileKind) -> Vec<&PageFile> {
        self.0.iter().filter(|file| file.kind == kind).collect()
    }

    /// Finds a file by its path, its name, its name without extension, or its description; what
    /// fits several files fits none.
    pub fn find(&self, asked: &str) -> Option<&PageFile> {
        find(&self.0, |_| true, asked)
    }

    /// Finds a script in the same way.
    pub fn find_script(&self, asked: &str) -> Option<&PageFile> {
        find(&self.0, |file| file.kind == PageFileKind::Script, asked)
    }
}

fn find<'a>(
    files: &'a [PageFile],
    is_candidate: impl Fn(&PageFile) -> bool,
    asked: &str,
) -> Option<&'a PageFile> {
    let stem = |file: &PageFile| {
        let name = file.path.file_name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    let slug = |file: &PageFile| SkillName::suggest(&file.description).map(|slug| slug.to_string());
    let ways: [&dyn Fn(&PageFile) -> bool; 4] = [
        &|file| file.path.as_str() == asked,
        &|file| file.path.file_name() == asked,
        &|file| stem(file) == asked,
        &|file| slug(file).as_deref() == Some(asked),
    ];
    ways.iter().find_map(|fits| {
        let mut fitting = files.iter().filter(|file| is_candidate(file) && fits(file));
        let first = fitting.next()?;
        // Something that two files fit is not looked for in a weaker way either.
        Some(fitting.next().is_none().then_some(first))
    })?
}

/// Returns the paths that instructions link to, each with the text of the link.
pub(crate) fn labels(body: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for link in links::find(body, 0) {
        let Target::Inside(path) = links::resolve("", &link.target) else { continue };
        let before = body[..link.span.start].trim_end_matches(['<', '(', ' ']);
        let label = before.strip_suffix(']').and_then(|text| text.rsplit('[').next());
        let label = label.map(str::trim);
        let label = label.filter(|label| !label.is_empty() && label.len() < MAX_LABEL_BYTES);
        found.extend(label.map(|label| (path, label.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(path: &str, description: &str) -> PageFile {
        PageFile {
            kind: PageFileKind::Reference,
            path: RelPath::parse(path).unwrap(),
            description: description.to_owned(),
        }
    }

    #[test]
    fn references_are_found_by_path_name_stem_and_description_d6() {
        let files = PageFiles(vec![
            file("references/templates.md", "Slide templates"),
            file("a/same.md", "one"),
            file("b/same.md", "two"),
            file("c/same", "three"),
        ]);
        let found = |asked| files.find(asked).map(|file| file.path.to_string());
        for asked in ["references/templates.md", "templates.md", "templates", "slide-templates"] {
            assert_eq!(found(asked).as_deref(), Some("references/templates.md"), "{asked}");
        }
        assert_eq!(found("same.md"), None, "two files have this name");
        assert_eq!(found("same").as_deref(), Some("c/same"), "a name wins over a stem");
        assert_eq!(found("../a/same.md"), None);
        assert_eq!(found(""), None);
        assert_eq!(files.find_script("same"), None, "it is no script");
    }

    #[test]
    fn the_answer_of_a_script_is_read_with_its_links_d6() {
        let answer = json!({ "content": [
            { "type": "text", "text": "90.0\n" },
            { "type": "resource", "resource": { "uri": "file:///output/x.pptx", "name": "x.pptx" } },
            { "type": "resource_link", "uri": "skill-output://1/a.csv", "name": "a.csv" },
            { "type": "image", "data": "AA==", "mimeType": "image/png" },
        ], "isError": true });
        let run = read_run(&answer.to_string()).unwrap();
        assert_eq!(
            (run.texts, run.other_blocks, run.is_error),
            (vec!["90.0\n".to_owned()], 1, true)
        );
        let uris: Vec<_> = run.links.iter().map(|link| link.uri.as_str()).collect();
        assert_eq!(uris, ["file:///output/x.pptx", "skill-output://1/a.csv"]);
        for bad in [
            json!({}),
            json!({ "content": "text" }),
            json!({ "content": [{ "type": "text" }] }),
            json!({ "content": [], "isError": "no" }),
        ] {
            assert!(read_run(&bad.to_string()).is_err(), "{bad}");
        }
    }

    #[test]
    fn descriptions_are_the_texts_of_links_d6() {
        let found = labels("See [Model answer](examples/email.md) and `x`, [out](../y).\n");
        assert_eq!(found, [("examples/email.md".to_owned(), "Model answer".to_owned())]);
    }

    #[test]
    fn a_skill_is_read_as_it_was_written_d6() {
        let paths = ["SKILL.md", "assets/a.png", "examples/email.md", "scripts/calc.py"];
        let paths = paths.map(|path| RelPath::parse(path).unwrap());
        let files = PageFiles::new("refunds", "See [Mail](examples/email.md).", paths);
        let written = json!({ "skill": PageSkill {
            name: "refunds".into(),
            description: Some("x".into()),
            instructions: "# Refunds\n".into(),
            scripts: files.of_kind(PageFileKind::Script),
            references: files.of_kind(PageFileKind::Reference),
            assets: files.of_kind(PageFileKind::Asset),
            metadata: Map::new(),
            annotations: json!({}),
        } });
        let mail =
            json!({ "name": "email.md", "description": "Mail", "path": "examples/email.md" });
        assert_eq!(written["skill"]["references"], json!([mail]));
        let described = &written["skill"]["assets"][0]["description"];
        assert_eq!(described, "`assets/a.png` of the skill refunds");
        let found = read(&written.to_string(), "refunds").unwrap();
        assert_eq!(found.instructions, "# Refunds\n");
        assert_eq!(found.facts, SkillFacts::read(&json!({ "description": "x" })));
        let paths: Vec<_> = found.paths.iter().map(RelPath::as_str).collect();
        assert_eq!(paths, ["scripts/calc.py", "examples/email.md", "assets/a.png"]);
        assert!(read(&written.to_string(), "other").is_err());
        for bad in ["{}", r#"{"skill":[]}"#, r#"{"skill":{"name":"refunds"}}"#] {
            assert!(read(bad, "refunds").is_err(), "{bad}");
        }
    }

    #[test]
    fn a_reference_is_read_as_it_was_written_d6() {
        for bytes in ["Hello, ü\n".as_bytes(), &[0, 255]] {
            let written = json!({ "content": content::write("skill://a/x", bytes) });
            assert_eq!(read_reference(&written.to_string()).as_deref(), Ok(bytes));
        }
        for bad in [
            "{}",
            r#"{"content":{}}"#,
            r#"{"content":{"blob":"%"}}"#,
            r#"{"content":{"text":"x","blob":"AA=="}}"#,
        ] {
            assert!(read_reference(bad).is_err(), "{bad}");
        }
    }
}
