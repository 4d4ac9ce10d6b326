//! A tree of skills that never stands still: saves, checkouts, deletions, additions and swaps.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use skillwire_testkit::SkillFolder;

use super::history::{History, Manifest, SWAPPED, digest};

/// Skills that are edited file by file.
const EDITED: usize = 12;

/// Skills that are replaced whole.
const WHOLE: usize = 4;

/// Skills that a checkout touches at once, with as many files each.
const CHECKED_OUT: usize = 30;

/// Files beside each `SKILL.md`.
const FILES: usize = 9;

/// Changes a tree until it is told to stop.
pub(super) struct Mutator {
    root: PathBuf,
    /// Outside of what is served, on the same file system.
    aside: PathBuf,
    history: Arc<History>,
    version: u64,
    random: u64,
}

impl Mutator {
    /// Fills a folder; `skills` in it is what changes.
    pub(super) fn new(folder: &SkillFolder, history: Arc<History>) -> Self {
        let (root, aside) = (folder.join("skills"), folder.join("aside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&aside).unwrap();
        let random = 0x9e37_79b9_7f4a_7c15;
        let mut mutator = Self { root, aside, history, version: 0, random };
        mutator.history.will_hold(b"");
        for number in 0..EDITED {
            mutator.add(&format!("edited/e{number}"));
        }
        for number in 0..WHOLE {
            mutator.swap(&format!("{SWAPPED}s{number}"));
        }
        mutator.check_out();
        mutator
    }

    /// Changes one thing after another until it is over, and says how many there were.
    pub(super) fn run(mut self, over: impl Fn() -> bool) -> usize {
        let mut changes = 0;
        while !over() {
            let edited = format!("edited/e{}", self.below(EDITED));
            match self.below(20) {
                0..=6 => self.save(&edited),
                7..=9 => self.write_in_place(&edited),
                10..=11 => {
                    fs::remove_dir_all(self.root.join(&edited)).unwrap();
                    self.add(&edited);
                }
                12 => self.check_out(),
                _ => {
                    let whole = self.below(WHOLE);
                    self.swap(&format!("{SWAPPED}s{whole}"));
                }
            }
            changes += 1;
        }
        changes
    }

    /// What each skill of the tree is now, by its URI.
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

    /// As editors save: a new file takes the place of the old one.
    fn save(&mut self, skill: &str) {
        let (path, text) = self.some_file(skill);
        let new = path.with_extension("md.new");
        self.write(&new, &text);
        fs::rename(new, path).unwrap();
    }

    /// As scripts write: the file is empty, then half, then whole.
    fn write_in_place(&mut self, skill: &str) {
        let (path, text) = self.some_file(skill);
        let half = text.len() / 2;
        self.history.will_hold(&text.as_bytes()[..half]);
        self.history.will_hold(text.as_bytes());
        let mut file = fs::File::create(path).unwrap();
        file.write_all(&text.as_bytes()[..half]).unwrap();
        file.write_all(&text.as_bytes()[half..]).unwrap();
    }

    /// As `git checkout` does: hundreds of files removed and written, one by one.
    fn check_out(&mut self) {
        for number in 0..CHECKED_OUT {
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

    /// Replaces a skill by one that was made elsewhere.
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

    /// A file of a skill and what it is to hold next.
    fn some_file(&mut self, skill: &str) -> (PathBuf, String) {
        let texts = self.texts(skill);
        let chosen = self.below(texts.len());
        let (name, text) = texts.into_iter().nth(chosen).unwrap();
        (self.root.join(skill).join(name), text)
    }

    /// All files of the next version of a skill; no two versions share bytes.
    fn texts(&mut self, skill: &str) -> Vec<(String, String)> {
        self.version += 1;
        let version = self.version;
        let name = skill.rsplit('/').next().unwrap();
        let own = format!(
            "---\nname: {name}\ndescription: Version {version}. Use when testing.\n---\n\n# {name}\n"
        );
        let filler = "Nobody reads half of this line.\n".repeat(40);
        let rest = (0..FILES).map(|number| {
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
