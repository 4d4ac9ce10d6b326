//! Copies the files of a folder, and follows no link out of it.

use std::path::PathBuf;

use cap_std::{ambient_authority, fs::Dir};

use super::{InputError, InputSource, UserInputs, read_error};

/// How deep folders are followed.
const MAX_DEPTH: usize = 64;

impl UserInputs {
    pub(super) fn add_folder(
        &mut self,
        typed: &str,
        real: PathBuf,
        name: String,
        writable: bool,
    ) -> Result<(), InputError> {
        let folder = Dir::open_ambient_dir(&real, ambient_authority())
            .map_err(|source| read_error(typed, source))?;
        let before = (self.files.len(), self.bytes);
        let mut walk = FolderWalk { typed, writable, left_out: 0 };
        walk.add(self, &folder, &folder, "", &name, 0)?;
        self.sources.push(InputSource {
            typed: typed.to_owned(),
            real,
            name,
            files: self.files.len() - before.0,
            bytes: (self.bytes - before.1) as u64,
            left_out: walk.left_out,
            writable,
        });
        Ok(())
    }
}

struct FolderWalk<'a> {
    typed: &'a str,
    writable: bool,
    left_out: usize,
}

impl FolderWalk<'_> {
    /// Adds what lies in `folder`. `below` is its path from `top`, `name` its place in the working
    /// folder.
    fn add(
        &mut self,
        inputs: &mut UserInputs,
        top: &Dir,
        folder: &Dir,
        below: &str,
        name: &str,
        depth: usize,
    ) -> Result<(), InputError> {
        let entries = folder.entries().map_err(|source| read_error(self.typed, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| read_error(self.typed, source))?;
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else {
                self.left_out += 1;
                continue;
            };
            let kind = entry.file_type().map_err(|source| read_error(self.typed, source))?;
            let below = joined(below, file_name);
            let name = joined(name, file_name);
            if kind.is_dir() && depth < MAX_DEPTH {
                let inner =
                    folder.open_dir(file_name).map_err(|source| read_error(&below, source))?;
                self.add(inputs, top, &inner, &below, &name, depth + 1)?;
                continue;
            }
            // A link is resolved from the top, and an error if it leads above it.
            let is_file = kind.is_file()
                || (kind.is_symlink() && top.metadata(&below).is_ok_and(|found| found.is_file()));
            if !is_file {
                self.left_out += 1;
                continue;
            }
            let file = top.open(&below).map_err(|source| read_error(&below, source))?;
            inputs.push(self.typed, &name, file, self.writable)?;
        }
        Ok(())
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
