//! Finding the skills below a folder.

use std::{ffi::OsString, io};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, FileType};
use skillwire_core::{
    file_rules::is_ignored,
    finding::{Code, Finding},
    path::SKILL_FILE,
};

use super::{
    stopped::Stopped,
    walk::{MAX_DEPTH, name_not_utf8, unreadable},
};
use crate::{place::below, source::Inspected};

/// The most entries listed outside skills.
const MAX_ENTRIES: usize = 1_000_000;

/// The most entries listed of one directory, so that a single one does not use up all.
const MAX_ENTRIES_EACH: usize = 100_000;

/// What is below a folder.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// The directories of the outermost skills, as segments below the folder.
    pub(super) skills: Vec<Vec<String>>,
    /// Places that tried to be skills.
    pub(super) inspected: Vec<Inspected>,
    /// What is noteworthy between skills.
    pub(super) findings: Vec<Finding>,
}

/// Looks for skills in a folder; a directory with a `SKILL.md` is not looked into.
pub(super) fn discover(root: &Dir, label: &str) -> Result<Discovery, Stopped> {
    let mut explorer = Explorer { label, found: Discovery::default(), left: MAX_ENTRIES };
    let listed = explorer.list(root).map_err(Stopped::Root)?;
    explorer.look_through(root, &mut Vec::new(), listed)?;
    Ok(explorer.found)
}

struct Explorer<'a> {
    label: &'a str,
    found: Discovery,
    left: usize,
}

impl Explorer<'_> {
    fn visit(&mut self, dir: &Dir, segments: &mut Vec<String>) -> Result<(), Stopped> {
        match self.list(dir) {
            Ok(listed) => self.look_through(dir, segments, listed),
            Err(error) => {
                let error = Stopped::unless(error)?;
                self.found.findings.push(unreadable(&self.name_of(segments), &error));
                Ok(())
            }
        }
    }

    fn look_through(
        &mut self,
        dir: &Dir,
        segments: &mut Vec<String>,
        listed: Option<Vec<(OsString, FileType)>>,
    ) -> Result<(), Stopped> {
        let Some(mut listed) = listed else {
            if dir.symlink_metadata(SKILL_FILE).is_ok() {
                // It is far too large; inspecting it says so in the terms of a skill.
                self.found.skills.push(segments.clone());
            } else {
                self.too_many(segments);
            }
            return Ok(());
        };
        if listed.iter().any(|(name, _)| name == SKILL_FILE) {
            self.found.skills.push(segments.clone());
            return Ok(());
        }
        listed.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.check_case(segments, &listed);
        for (name, kind) in listed {
            self.enter(dir, segments, &name, kind)?;
        }
        Ok(())
    }

    fn enter(
        &mut self,
        dir: &Dir,
        segments: &mut Vec<String>,
        name: &OsString,
        kind: FileType,
    ) -> Result<(), Stopped> {
        let text = name.to_string_lossy();
        if is_ignored(&text) || !(kind.is_dir() || kind.is_symlink()) {
            return Ok(());
        }
        let shown = below(&self.name_of(segments), &text);
        if kind.is_symlink() {
            self.not_followed(dir, name, shown);
            return Ok(());
        }
        let Some(name) = name.to_str() else {
            self.found.findings.push(name_not_utf8(shown));
            return Ok(());
        };
        if segments.len() == MAX_DEPTH {
            self.too_deep(shown);
            return Ok(());
        }
        match dir.open_dir_nofollow(name) {
            Ok(opened) => {
                segments.push(name.to_owned());
                self.visit(&opened, segments)?;
                segments.pop();
            }
            // Whatever was here is gone, and so is any skill that was in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let error = Stopped::unless(error)?;
                self.found.findings.push(unreadable(&shown, &error));
            }
        }
        Ok(())
    }

    /// Names and kinds, or nothing when there are more than may be listed.
    fn list(&mut self, dir: &Dir) -> io::Result<Option<Vec<(OsString, FileType)>>> {
        let mut listed = Vec::new();
        for entry in dir.entries()? {
            if self.left == 0 || listed.len() == MAX_ENTRIES_EACH {
                return Ok(None);
            }
            self.left -= 1;
            let entry = entry?;
            match kind(&entry) {
                Ok(kind) => listed.push((entry.file_name(), kind)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(listed))
    }

    /// Points out a `skill.md`, which other tools may take for a skill.
    fn check_case(&mut self, segments: &[String], listed: &[(OsString, FileType)]) {
        let other_case = listed.iter().find_map(|(name, kind)| {
            let name = name.to_str()?;
            (!kind.is_dir() && name.eq_ignore_ascii_case(SKILL_FILE)).then_some(name)
        });
        if let Some(name) = other_case {
            let origin = self.name_of(segments);
            let message = format!("The file must be called `{SKILL_FILE}`, in this case.");
            let finding = Finding::new(Code::SkillFileCase, below(&origin, name), message)
                .help(format!("Rename `{name}` to `{SKILL_FILE}`."));
            self.found.inspected.push(Inspected { origin, findings: vec![finding], skill: None });
        }
    }

    /// Points out a link that might lead to skills; one to a file beside it cannot.
    fn not_followed(&mut self, dir: &Dir, name: &OsString, shown: String) {
        if dir.metadata(name).is_ok_and(|metadata| metadata.is_file()) {
            return;
        }
        let finding = Finding::new(
            Code::SymlinkNotScanned,
            shown,
            "The symbolic link is not followed, so no skill behind it is served.",
        )
        .help("Name the folder it leads to as a further folder to serve.");
        self.found.findings.push(finding);
    }

    fn too_many(&mut self, segments: &[String]) {
        let message = format!(
            "There are more than {MAX_ENTRIES_EACH} files and directories in this folder, or more \
             than {MAX_ENTRIES} outside skills; it was not looked through."
        );
        let finding = Finding::new(Code::TooManyFiles, self.name_of(segments), message)
            .help("Name the folders that hold the skills instead.");
        self.found.findings.push(finding);
    }

    fn too_deep(&mut self, shown: String) {
        let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
        let finding = Finding::new(Code::TooDeep, shown, message)
            .help("Name a folder nearer to the skills in it.");
        self.found.findings.push(finding);
    }

    fn name_of(&self, segments: &[String]) -> String {
        below(self.label, &segments.join("/"))
    }
}

/// The kind of an entry, also on file systems that do not list it.
fn kind(entry: &DirEntry) -> io::Result<FileType> {
    let kind = entry.file_type()?;
    let listed = kind.is_dir() || kind.is_file() || kind.is_symlink();
    if listed { Ok(kind) } else { Ok(entry.metadata()?.file_type()) }
}
