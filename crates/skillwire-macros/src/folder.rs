//! From a folder to the code that holds its skills.

use std::{fmt::Write as _, path::Path};

use skillwire_core::{Finding, Strictness};
use skillwire_source::{DirectoryOptions, DirectorySource, Skill, SkillContent, scan_all};

/// The name under which `skillwire_server::embed_skills!` brings the type `EmbeddedSkill` into scope.
const EMBEDDED_SKILL: &str = "SkillwireEmbeddedSkill";

/// Writes the expression for all skills of a folder, or says why they cannot all be served.
pub(crate) fn embed(folder: &Path) -> Result<String, String> {
    let source = DirectorySource::new(folder, DirectoryOptions::default());
    let source = source.map_err(|error| error.to_string())?;
    let collected = scan_all(&[&source]).map_err(|error| error.to_string())?;
    let mut errors: Vec<String> = collected.findings.iter().map(describe).collect();
    let skipped = collected.skills.iter().filter(|place| place.skill.is_none());
    errors.extend(skipped.flat_map(|place| place.reasons(Strictness::Normal)).map(describe));
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let skills: Vec<_> = collected.skills.iter().filter_map(|i| i.skill.as_deref()).collect();
    let mut code = String::from("&[");
    // A nested skill comes with the files of the one around it.
    for skill in skills.iter().filter(|skill| !skills.iter().any(|other| is_inside(skill, other))) {
        write_skill(&mut code, skill)?;
    }
    code.push(']');
    Ok(code)
}

fn is_inside(skill: &Skill, other: &Skill) -> bool {
    let rest = skill.uri.root().as_str().strip_prefix(other.uri.root().as_str());
    rest.is_some_and(|rest| rest.starts_with('/'))
}

fn write_skill(code: &mut String, skill: &Skill) -> Result<(), String> {
    let SkillContent::Files(tree) = &skill.content else {
        return Err("It has no files.".to_owned());
    };
    let place = tree.store.directory().ok_or("Its folder is unknown.")?;
    let path = skill.path();
    let _ = write!(code, "{EMBEDDED_SKILL} {{ path: {path:?}, files: &[");
    for file in &tree.files {
        let (name, full) = (file.path.as_str(), place.join(file.path.as_str()));
        let full = full.to_str().ok_or("Its folder's name is not UTF-8.")?;
        let _ = write!(code, "({name:?}, ::core::include_bytes!({full:?}) as &[u8]),");
    }
    code.push_str("] },");
    Ok(())
}

fn describe(finding: &Finding) -> String {
    let place = match finding.position {
        Some(position) => format!("{}:{}", finding.file, position.line),
        None => finding.file.clone(),
    };
    let help = finding.help.as_deref().unwrap_or_default();
    format!("{place}: {} [{}] {help}", finding.message, finding.code)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    const OUTER: &str = "---\nname: outer\ndescription: Does it. Use when testing.\n---\n";
    const INNER: &str = "---\nname: inner\ndescription: Does it. Use when testing.\n---\n";

    #[test]
    fn a_skill_comes_with_the_files_that_would_be_served_and_no_others() {
        let folder = folder(&[
            ("team/outer/SKILL.md", OUTER),
            ("team/outer/inner/SKILL.md", INNER),
            ("team/outer/.DS_Store", "x"),
            ("notes.txt", "x"),
        ]);
        let code = embed(folder.path()).unwrap();
        assert_eq!(code.matches(EMBEDDED_SKILL).count(), 1, "{code}");
        assert_eq!(code.matches("include_bytes!").count(), 2, "{code}");
        assert!(code.contains(r#"path: "team/outer""#), "{code}");
        assert!(code.contains(r#"("inner/SKILL.md", "#), "{code}");
    }

    #[test]
    fn a_skill_that_could_not_be_served_does_not_compile() {
        let folder = folder(&[("outer/SKILL.md", OUTER), ("bad/SKILL.md", "# No frontmatter\n")]);
        let error = embed(folder.path()).unwrap_err();
        assert!(error.contains("bad/SKILL.md:1: "), "{error}");
        assert!(!error.contains("outer"), "{error}");
    }

    #[test]
    fn a_folder_without_skills_does_not_compile() {
        let folder = folder(&[("notes.txt", "x")]);
        assert!(embed(folder.path()).unwrap_err().contains("[no-skill-found]"));
        assert!(embed(&folder.path().join("none")).unwrap_err().contains("cannot be read"));
    }
}
