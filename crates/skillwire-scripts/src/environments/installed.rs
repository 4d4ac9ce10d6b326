//! Finds packages that were installed for a script before, without installing any.

use std::path::{Path, PathBuf};

use skillwire_core::RelPath;
use skillwire_sandbox::{
    InterpreterFinder, InvalidJob, JobFile, ScriptInterpreter, ScriptJob, ScriptLanguage,
};

use super::{NodeNeeds, PackageCache, PackageError, PythonNeeds, first_closed_folder};

/// What a script is started with where no user can be asked.
pub(crate) struct InstalledPackages {
    pub(crate) interpreters: InterpreterFinder,
    /// Where packages appear in the skill, and the folder that they are installed in.
    modules: Option<(RelPath, PathBuf)>,
    /// The packages that the script lists and does not get.
    pub(crate) missing: Option<MissingPackages>,
}

/// Packages that a script lists and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingPackages {
    /// Why, as a sentence.
    why: String,
    /// Whether installing them would help.
    can_be_installed: bool,
}

impl MissingPackages {
    /// Says what is missing, and how to install it where that helps.
    pub(crate) fn note(&self, how_to_install: Option<&str>) -> String {
        match how_to_install.filter(|_| self.can_be_installed) {
            Some(how) => format!("{} {how}", self.why),
            None => self.why.clone(),
        }
    }

    fn never(why: String) -> Self {
        Self { why, can_be_installed: false }
    }
}

impl InstalledPackages {
    /// Looks for the packages that a script lists in a cache. Its folders are named by what was asked
    /// for, and each was filled after a user agreed to exactly that.
    pub(crate) fn find(
        cache: Option<&PackageCache>,
        interpreters: &InterpreterFinder,
        script: &RelPath,
        files: &[JobFile],
    ) -> Self {
        let mut found = Self { interpreters: interpreters.clone(), modules: None, missing: None };
        let bytes = files.iter().find(|file| file.path == *script).map(|file| &file.bytes);
        let interpreter = bytes.and_then(|bytes| interpreters.find(script, bytes).ok());
        let result = match interpreter {
            Some(ScriptInterpreter::Program { language: ScriptLanguage::Python, .. }) => {
                found.find_python(cache, script, files)
            }
            Some(ScriptInterpreter::Program { language: ScriptLanguage::Node, .. }) => {
                found.find_node(cache, script, files)
            }
            _ => Ok(()),
        };
        found.missing = result.err();
        found
    }

    fn find_python(
        &mut self,
        cache: Option<&PackageCache>,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<(), MissingPackages> {
        let needs = PythonNeeds::of(script, files).map_err(|error| unusable(&error))?;
        let Some(needs) = needs.filter(|needs| !needs.requirements.is_empty()) else {
            return Ok(());
        };
        let python = self.interpreters.program(ScriptLanguage::Python).ok();
        let venv =
            cache.zip(python).and_then(|(cache, (python, _))| cache.find_python(&needs, &python));
        let venv = venv.ok_or_else(|| not_installed(&needs.file))?;
        venv.roots.iter().try_for_each(|root| check_open(&needs.file, root))?;
        self.interpreters
            .use_environment(ScriptLanguage::Python, &venv.program, venv.roots)
            .map_err(|_| not_installed(&needs.file))
    }

    fn find_node(
        &mut self,
        cache: Option<&PackageCache>,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<(), MissingPackages> {
        let needs = NodeNeeds::of(script, files).map_err(|error| unusable(&error))?;
        let Some(needs) = needs else { return Ok(()) };
        let folder = cache.and_then(|cache| cache.find_node(&needs));
        let folder = folder.ok_or_else(|| not_installed(&needs.file))?;
        check_open(&needs.file, &folder)?;
        self.modules = Some((needs.modules, folder));
        Ok(())
    }

    /// Gives a job the packages that appear as files of its skill.
    pub(crate) fn add_to(self, job: &mut ScriptJob) -> Result<(), InvalidJob> {
        match self.modules {
            Some((at, folder)) => job.add_packages(at, folder),
            None => Ok(()),
        }
    }
}

fn not_installed(file: &str) -> MissingPackages {
    let why = format!("`{}` lists packages that are not installed.", file.escape_debug());
    MissingPackages { why, can_be_installed: true }
}

fn unusable(error: &PackageError) -> MissingPackages {
    MissingPackages::never(format!("{error}."))
}

/// Where this process is root, scripts run as another user.
fn check_open(file: &str, root: &Path) -> Result<(), MissingPackages> {
    match first_closed_folder(root) {
        None => Ok(()),
        Some(_) => Err(MissingPackages::never(format!(
            "`{}` lists packages that are installed where the user that scripts run as cannot read \
             them.",
            file.escape_debug()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Vec<JobFile> {
        let file = |(path, text): &(&str, &str)| JobFile {
            path: RelPath::parse(path).unwrap(),
            bytes: bytes::Bytes::copy_from_slice(text.as_bytes()),
        };
        all.iter().map(file).collect()
    }

    #[test]
    fn packages_that_are_not_installed_are_named_by_the_file_that_lists_them() {
        let script = RelPath::parse("a.py").unwrap();
        let find = |all: &[(&str, &str)]| {
            let cache = PackageCache::new("/nowhere");
            let interpreters = InterpreterFinder::default();
            let found = InstalledPackages::find(Some(&cache), &interpreters, &script, &files(all));
            found.missing.map(|missing| missing.note(Some("Install them.")))
        };
        let inline = "# /// script\n# dependencies = [\"rich\"]\n# ///\n";
        let sentence = |file: &str| {
            Some(format!("`{file}` lists packages that are not installed. Install them."))
        };
        assert_eq!(find(&[("a.py", inline)]), sentence("a.py"));
        assert_eq!(
            find(&[("a.py", ""), ("requirements.txt", "x\n")]),
            sentence("requirements.txt")
        );
        assert_eq!(find(&[("a.py", "")]), None);
        let refused = find(&[("a.py", ""), ("requirements.txt", "-r other\n")]).unwrap();
        assert!(refused.ends_with("only names with versions are installed."), "{refused}");
    }
}
