//! Finds the words of a command line that name files of the user.

use std::path::{Component, Path};

use skillwire_sandbox::ScriptJob;

use super::{InputError, InputSource, UserInputs, is_inside, name_of};

impl UserInputs {
    /// Copies each file that a word names, and returns the words as the script needs them: with the
    /// place of the copy where that differs.
    ///
    /// A word names a file if it is a path, or if it is an option such as `--data=PATH`. A folder is
    /// copied only if it is an input already; other folders are kept for
    /// [`folders_in_words`](Self::folders_in_words).
    pub fn add_words(&mut self, words: &[String]) -> Result<Vec<String>, InputError> {
        words.iter().map(|word| self.add_word(word)).collect()
    }

    fn add_word(&mut self, word: &str) -> Result<String, InputError> {
        let (option, path) = match word.split_once('=') {
            Some((option, path)) if word.starts_with('-') => (Some(option), path),
            _ => (None, word),
        };
        let is_path = !path.is_empty() && (option.is_some() || !word.starts_with('-'));
        let Some(place) = is_path.then(|| self.place_of(path)).transpose()?.flatten() else {
            return Ok(word.to_owned());
        };
        Ok(match option {
            Some(option) => format!("{option}={place}"),
            None => place,
        })
    }

    /// Where the copy of a file lies, if the word names one. Words that need no change come back as
    /// they are.
    fn place_of(&mut self, path: &str) -> Result<Option<String>, InputError> {
        let Ok(metadata) = self.base.join(path).metadata() else { return Ok(None) };
        let Ok(real) = self.base.join(path).canonicalize() else { return Ok(None) };
        if let Some(place) = self.sources.iter().find_map(|source| place_in(source, &real)) {
            return Ok(Some(if is_same(path, &place) { path.to_owned() } else { place }));
        }
        if metadata.is_dir() {
            if path != "/" && !self.folders_in_words.iter().any(|known| known == path) {
                self.folders_in_words.push(path.to_owned());
            }
            return Ok(None);
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        // Two files of the same name from different folders both get a place.
        let name = name_of(path, &real)?;
        let taken = |name: &str| self.files.iter().any(|file| file.path.as_str() == name);
        let name = if taken(&name) {
            // There are fewer files than that.
            let numbers = 2..=ScriptJob::MAX_INPUT_FILES + 1;
            let other = numbers.map(|number| numbered(&name, number)).find(|name| !taken(name));
            other.unwrap_or(name)
        } else {
            name
        };
        self.add(path, Some(&name), false)?;
        Ok(Some(if is_same(path, &name) { path.to_owned() } else { name }))
    }
}

/// Whether a word already leads to this place from the working folder.
fn is_same(path: &str, place: &str) -> bool {
    is_inside(Path::new(path))
        && Path::new(path)
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .eq(Path::new(place).components())
}

/// The place of a file in an input that is the file or holds it.
fn place_in(source: &InputSource, real: &Path) -> Option<String> {
    let below = real.strip_prefix(&source.real).ok()?.to_str()?;
    Some(match (source.name.as_str(), below) {
        ("", "") => ".".to_owned(),
        ("", below) => below.to_owned(),
        (name, "") => name.to_owned(),
        (name, below) => format!("{name}/{below}"),
    })
}

/// `data-2.csv` for `data.csv`.
fn numbered(name: &str, number: usize) -> String {
    let (folder, file) = name.rsplit_once('/').map_or(("", name), |(folder, file)| (folder, file));
    let file = match file.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{stem}-{number}.{extension}"),
        _ => format!("{file}-{number}"),
    };
    if folder.is_empty() { file } else { format!("{folder}/{file}") }
}
