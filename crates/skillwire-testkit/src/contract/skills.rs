//! The rules about the skills that a source reports.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;
use skillwire_core::{
    Digest, RelPath,
    limits::{MAX_BYTES, MAX_FILES},
    skill_file,
};
use skillwire_source::{FileTree, Skill, SkillContent, SkillSource, scan_all};

use super::{ContractResult, ContractViolation, first_scan, violated};

/// Checks every skill of a source.
fn for_each_skill<S: SkillSource>(
    make: impl Fn() -> S,
    check: impl Fn(&Skill) -> ContractResult,
) -> ContractResult {
    let source = make();
    let groups = first_scan(&source)?;
    let skills = groups.values().flatten().filter_map(|inspected| inspected.skill.as_deref());
    skills.into_iter().try_for_each(|skill| {
        check(skill).map_err(|ContractViolation(text)| {
            ContractViolation(format!("`{}`: {text}", skill.uri))
        })
    })
}

/// Each file can be read again, with the published digest and size; a missing file cannot be read.
pub fn files_read_back<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    let none = RelPath::parse("skillwire-contract/none").expect("a path");
    for_each_skill(make, |skill| match &skill.content {
        SkillContent::Files(tree) => {
            for file in &tree.files {
                let Ok(bytes) = tree.store.read(&file.path, file.size) else {
                    return violated(format!("The file `{}` cannot be read.", file.path));
                };
                if bytes.len() as u64 != file.size || Digest::of(&bytes) != file.digest {
                    return violated(format!("The file `{}` has other bytes.", file.path));
                }
            }
            match tree.store.read(&none, 0) {
                Ok(_) => violated("A file that does not exist can be read."),
                Err(_) => Ok(()),
            }
        }
        SkillContent::Generated(generator) => {
            let Ok(paths) = generator.paths() else {
                return violated("The generator cannot list its files.");
            };
            if !paths.contains(&RelPath::skill_file()) {
                return violated("The generator does not list its `SKILL.md`.");
            }
            for path in &paths {
                if !matches!(generator.read(path), Ok(Some(_))) {
                    return violated(format!("The generator does not make `{path}`."));
                }
            }
            match generator.read(&none) {
                Ok(None) => Ok(()),
                _ => {
                    violated("The generator does not return `None` for a file that does not exist.")
                }
            }
        }
    })
}

/// An entry matches the skill: it has the frontmatter of its `SKILL.md`, and each file once.
pub fn entries_match_their_files<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    for_each_skill(make, |skill| {
        let Ok(entry) = serde_json::from_str::<Value>(&skill.entry.text()) else {
            return violated("The entry is not JSON.");
        };
        if entry["uri"] != skill.uri.as_str() {
            return violated("The entry has another URI.");
        }
        if entry["frontmatter"] != frontmatter(skill)? {
            return violated("The entry's frontmatter is not that of `SKILL.md`.");
        }
        if entry["frontmatter"]["name"] != skill.name() {
            return violated("The URI does not end in the skill's name.");
        }
        match &skill.content {
            SkillContent::Generated(_) if entry["resources"] == "dynamic" => Ok(()),
            SkillContent::Generated(_) => violated("The entry of a generated skill lists files."),
            SkillContent::Files(tree) => check_tree(skill, tree, &entry["resources"]),
        }
    })
}

/// The frontmatter in the bytes of a `SKILL.md`.
fn frontmatter(skill: &Skill) -> Result<Value, ContractViolation> {
    let path = RelPath::skill_file();
    let bytes = match &skill.content {
        SkillContent::Files(tree) => {
            tree.file(&path).and_then(|file| tree.store.read(&path, file.size).ok())
        }
        SkillContent::Generated(generator) => generator.read(&path).ok().flatten(),
    };
    let checked = bytes.and_then(|bytes| skill_file::check(&bytes).0);
    let value = checked.and_then(|checked| serde_json::to_value(&checked.frontmatter).ok());
    value.map_or_else(|| violated("`SKILL.md` cannot be read or understood."), Ok)
}

fn check_tree(skill: &Skill, tree: &FileTree, listed: &Value) -> ContractResult {
    let ordered = tree.files.windows(2).all(|pair| pair[0].path < pair[1].path);
    if !ordered {
        return violated("The files are not in path order, each once.");
    }
    if tree.files.len() > MAX_FILES {
        return violated("There are more files than any host accepts.");
    }
    if tree.files.iter().map(|file| file.size).sum::<u64>() > MAX_BYTES {
        return violated("The files are larger together than any host accepts.");
    }
    let listed_file = |file: &Value| {
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        (text("uri"), text("digest"), file["size"].as_u64())
    };
    let listed: BTreeSet<_> = listed.as_array().into_iter().flatten().map(listed_file).collect();
    let expected: BTreeSet<_> = tree
        .files
        .iter()
        .map(|file| {
            let uri = skill.uri.root().child(&file.path).to_string();
            (uri, file.digest.to_string(), Some(file.size))
        })
        .collect();
    if listed == expected { Ok(()) } else { violated("The entry does not list exactly the files.") }
}

/// All skills of a source can be served together.
pub fn skills_can_be_served_together<S: SkillSource>(make: impl Fn() -> S) -> ContractResult {
    let groups = first_scan(&make())?;
    let reported = groups.values().flatten().filter_map(|one| one.skill.as_ref()).count();
    let source = make();
    let Ok(results) = scan_all(&[&source]) else {
        return violated("The source is unavailable.");
    };
    let served: Vec<&Arc<Skill>> =
        results.skills.iter().filter_map(|one| one.skill.as_ref()).collect();
    if served.len() == reported {
        return Ok(());
    }
    let refused = results.skills.iter().find(|one| one.skill.is_none());
    violated(format!("{} of {reported} skills can be served; {refused:?}.", served.len()))
}
