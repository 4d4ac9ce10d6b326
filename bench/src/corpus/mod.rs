//! Generates the skills that are served, with the same bytes on every machine.
//!
//! A corpus of N skills is a folder with a marker beside it. It is written once and used again as
//! long as the marker says that it was finished by the same generator.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::broken::{Broken, Result};

mod flaws;
pub(crate) mod rng;
mod text;

use rng::Rng;

const SEED: u64 = 20_260_728;
/// Changes whenever the generator writes other bytes.
const FORMAT: u32 = 1;
/// About this many skills share a parent directory.
const SKILLS_PER_DIRECTORY: usize = 64;
const SKILL_FILE_BYTES: (usize, usize) = (3_800, 4_300);
const OTHER_FILE_BYTES: (usize, usize) = (2_000, 20_000);

/// A folder of generated skills.
#[derive(Debug, Clone)]
pub(crate) struct Corpus {
    /// The folder to serve.
    pub(crate) folder: PathBuf,
    /// How many skills it holds.
    pub(crate) count: usize,
    /// The number of its first skill.
    first: usize,
}

/// Whether the skills of a corpus have flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No skill has a flaw.
    Sound,
    /// Two of three skills have a flaw.
    Flawed,
}

/// One skill of a corpus.
#[derive(Debug)]
pub(crate) struct Skill {
    /// The path below the folder, which is also the path in its URIs.
    pub(crate) path: String,
    /// Every file below the skill, with its content; `SKILL.md` first.
    pub(crate) files: Vec<(String, String)>,
}

impl Corpus {
    /// Finds or writes the corpus of that many skills below `scratch`.
    pub(crate) fn at(scratch: &Path, count: usize, kind: Kind) -> Result<Self> {
        let home = match kind {
            Kind::Sound => scratch.join(format!("corpus-{count}")),
            Kind::Flawed => scratch.join(format!("flawed-{count}")),
        };
        Self::in_home(&home, 0, count, kind)
    }

    /// Finds or writes one of several corpora of which none has a skill of another.
    pub(crate) fn part(scratch: &Path, part: usize, count: usize) -> Result<Self> {
        let home = scratch.join(format!("part-{part}-of-{count}"));
        Self::in_home(&home, part * count, count, Kind::Sound)
    }

    fn in_home(home: &Path, first: usize, count: usize, kind: Kind) -> Result<Self> {
        let (folder, marker) = (home.join("skills"), home.join("finished"));
        let corpus = Self { folder, count, first };
        let expected = format!("format {FORMAT}, seed {SEED}, {count} skills\n");
        if fs::read_to_string(&marker).is_ok_and(|found| found == expected) {
            return Ok(corpus);
        }
        if corpus.folder.exists() {
            return Err(Broken::new(format!(
                "{} holds an unfinished or older corpus. Remove it, or name another `--scratch`.",
                home.display()
            )));
        }
        for at in first..first + count {
            let mut skill = skill(at);
            if kind == Kind::Flawed {
                flaws::spoil(&mut skill, at);
            }
            corpus.write(&skill)?;
        }
        fs::write(&marker, expected).map_err(Broken::at(&marker))?;
        Ok(corpus)
    }

    /// The URIs of all files, without looking at the disk.
    pub(crate) fn file_uris(&self) -> impl Iterator<Item = String> {
        (self.first..self.first + self.count).flat_map(|at| {
            let (path, files, _) = layout(at);
            std::iter::once("SKILL.md".to_owned())
                .chain(files)
                .map(move |file| format!("skill://{path}/{file}"))
        })
    }

    fn write(&self, skill: &Skill) -> Result<()> {
        let root = self.folder.join(&skill.path);
        for (file, content) in &skill.files {
            let path = root.join(file);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(Broken::at(parent))?;
            }
            fs::write(&path, content).map_err(Broken::at(&path))?;
        }
        Ok(())
    }
}

/// One skill in full.
pub(crate) fn skill(at: usize) -> Skill {
    let (path, names, mut rng) = layout(at);
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    let size = rng.between(SKILL_FILE_BYTES.0, SKILL_FILE_BYTES.1);
    let mut files = vec![("SKILL.md".to_owned(), text::skill_file(&mut rng, &name, size, &names))];
    for file in names {
        let size = rng.between(OTHER_FILE_BYTES.0, OTHER_FILE_BYTES.1);
        let content = match file.rsplit('.').next() {
            Some("py") => text::python(&mut rng, size),
            Some("json") => text::json(&mut rng, size),
            _ => {
                let mut content = format!("# {name}\n");
                text::prose(&mut rng, &mut content, size);
                content
            }
        };
        files.push((file, content));
    }
    Skill { path, files }
}

/// The paths of a skill and its supporting files, and the generator for their content.
fn layout(at: usize) -> (String, Vec<String>, Rng) {
    let mut rng = Rng::new(SEED, at as u64);
    let group = at / SKILLS_PER_DIRECTORY;
    let name = format!("{}-{}-{at:06}", text::word(&mut rng), text::word(&mut rng));
    let path = format!("area-{:02}/team-{group:04}/{name}", group % 32);
    let files = vec![
        format!("references/{}.md", text::word(&mut rng)),
        format!("scripts/{}.py", text::word(&mut rng)),
        format!("assets/{}.json", text::word(&mut rng)),
    ];
    (path, files, rng)
}
