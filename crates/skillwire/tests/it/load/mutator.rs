//! Keeps changing a tree of skills: saves, checkouts, deletions, additions and swaps.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_testkit::SkillFolder;

use super::history::{Manifest, SWAPPED, TreeHistory, digest};

/// How many skills are edited file by file.
const EDITED_SKILLS: usize = 12;

/// How many skills are replaced as a whole.
const SWAPPED_SKILLS: usize = 4;

/// How many skills a checkout rewrites.
const CHECKED_OUT_SKILLS: usize = 30;

/// How many files each skill has besides its `SKILL.md`.
const FILES_PER_SKILL: usize = 9;

/// Changes a tree until it is stopped.
pub(super) struct Mutator {
    root: PathBuf,
    /// A folder on the same file system that is not served.
    aside: PathBuf,
    history: Arc<TreeHistory>,
    version: u64,
    random: u64,
}

impl Mutator {
    /// Fills a folder with a tree. The mutator changes `skills` in it.
    pub(super) fn new(folder: &SkillFolder, history: Arc<TreeHistory>) -> Self {
        let (root, aside) = (folder.join("skills"), folder.join("aside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&aside).unwrap();
        let random = 0x9e37_79b9_7f4a_7c15;
        let mut mutator = Self { root, aside, history, version: 0, random };
        mutator.history.will_hold(b"");
        for number in 0..EDITED_SKILLS {
            mutator.add(&format!("edited/e{number}"));
        }
        for number in 0..SWAPPED_SKILLS {
            mutator.swap(&format!("{SWAPPED}s{number}"));
        }
        mutator.check_out();
        mutator
    }

    /// Makes one change after the other until `over` says so. Returns how many it made.
    pub(super) fn run(mut self, over: impl Fn() -> bool) -> usize {
        let mut changes = 0;
        while !over() {
            let edited = format!("edited/e{}", self.below(EDITED_SKILLS));
            match self.below(20) {
                0..=6 => self.save(&edited),
                7..=9 => self.write_in_place(&edited),
                10..=11 => {
                    fs::remove_dir_all(self.root.join(&edited)).unwrap();
                    self.add(&edited);
                }
                12 => self.check_out(),
                _ => {
                    let whole = self.below(SWAPPED_SKILLS);
                    self.swap(&format!("{SWAPPED}s{whole}"));
                }
            }
            changes += 1;
        }
        changes
    }

    /// The manifests of all skills as they are on disk now.
    pub(super) fn on_disk(root: &Path) -> Vec<Manifest> {
        let mut skills = Vec::new();
        for group in fs::read_dir(root).unwrap() {
            for skill in fs::read_dir(group.unwrap().path()).unwrap() {
                skills.push(manifest_of(root, &skill.unwrap().path()));
            }
        }
        skills.sort();
        skills
    }

    /// Saves as editors do: a new file replaces the old one.
    fn save(&mut self, skill: &str) {
        let (path, text) = self.some_file(skill);
        let new = path.with_extension("md.new");
        self.write(&new, &text);
        fs::rename(new, path).unwrap();
    }

    /// Writes as scripts do: the file is empty, then half written, then complete.
    fn write_in_place(&mut self, skill: &str) {
        let (path, text) = self.some_file(skill);
        let half = text.len() / 2;
        self.history.will_hold(&text.as_bytes()[..half]);
        self.history.will_hold(text.as_bytes());
        let mut file = fs::File::create(path).unwrap();
        file.write_all(&text.as_bytes()[..half]).unwrap();
        file.write_all(&text.as_bytes()[half..]).unwrap();
    }

    /// Rewrites as `git checkout` does: removes and writes hundreds of files one by one.
    fn check_out(&mut self) {
        for number in 0..CHECKED_OUT_SKILLS {
            let skill = format!("repository/r{number}");
            fs::create_dir_all(self.root.join(&skill)).unwrap();
            for (name, text) in self.texts(&skill) {
                let path = self.root.join(&skill).join(name);
                let _first_time = fs::remove_file(&path);
                self.write(&path, &text);
            }
        }
    }

    fn add(&mut self, skill: &str) {
        fs::create_dir_all(self.root.join(skill)).unwrap();
        for (name, text) in self.texts(skill) {
            self.write(&self.root.join(skill).join(name), &text);
        }
    }

    /// Replaces a skill by a folder that was prepared elsewhere.
    fn swap(&mut self, skill: &str) {
        let (new, old, place) =
            (self.aside.join("new"), self.aside.join("old"), self.root.join(skill));
        fs::create_dir_all(&new).unwrap();
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let mut manifest = Manifest::new();
        for (name, text) in self.texts(skill) {
            self.write(&new.join(&name), &text);
            manifest.insert(format!("skill://{skill}/{name}"), digest(text.as_bytes()));
        }
        self.history.will_appear(manifest);
        let _first_time = fs::rename(&place, &old);
        fs::rename(new, place).unwrap();
        let _first_time = fs::remove_dir_all(old);
    }

    /// Writes a file in one piece.
    fn write(&self, path: &Path, text: &str) {
        self.history.will_hold(text.as_bytes());
        fs::write(path, text).unwrap();
    }

    /// A file of a skill, and its next content.
    fn some_file(&mut self, skill: &str) -> (PathBuf, String) {
        let texts = self.texts(skill);
        let chosen = self.below(texts.len());
        let (name, text) = texts.into_iter().nth(chosen).unwrap();
        (self.root.join(skill).join(name), text)
    }

    /// All files of the next version of a skill. No two versions share bytes.
    fn texts(&mut self, skill: &str) -> Vec<(String, String)> {
        self.version += 1;
        let version = self.version;
        let name = skill.rsplit('/').next().unwrap();
        let own = format!(
            "---\nname: {name}\ndescription: Version {version}. Use when testing.\n---\n\n# {name}\n"
        );
        let filler = "No client reads half of this line.\n".repeat(40);
        let rest = (0..FILES_PER_SKILL).map(|number| {
            (format!("f{number}.md"), format!("{name} {number} {version}\n{filler}{version}\n"))
        });
        std::iter::once(("SKILL.md".to_owned(), own)).chain(rest).collect()
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % bound as u64).unwrap()
    }
}

fn manifest_of(root: &Path, skill: &Path) -> Manifest {
    let files = fs::read_dir(skill).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| {
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap();
            (format!("skill://{relative}"), digest(&fs::read(&path).unwrap()))
        })
        .collect()
}
