//! Packages that a script lists and does not have, resolved to versions that the user can agree to.

use std::path::PathBuf;

use skillwire_core::{Digest, RelPath};
use skillwire_sandbox::{InterpreterFinder, JobFile, ScriptInterpreter, ScriptLanguage};

use super::{
    NodeNeeds, Package, PackageCache, PackageError, PythonNeeds, ResolvedPackages,
    first_closed_folder, node, python,
};

/// The programs that install packages, as far as they are there.
#[derive(Debug, Clone, Default)]
pub struct PackageTools {
    /// `uv`, for packages of Python.
    pub uv: Option<PathBuf>,
    /// `npm`, for packages of Node.
    pub npm: Option<PathBuf>,
}

/// What would be installed for a script if the user agreed.
#[derive(Debug)]
#[non_exhaustive]
pub struct PackageOffer {
    /// The file of the skill that lists the packages.
    pub file: String,
    /// What would be installed.
    pub packages: Vec<Package>,
    /// The digest of the whole list, with the digests of the files that would be installed.
    pub digest: Digest,
    cache: PackageCache,
    plan: InstallPlan,
}

#[derive(Debug)]
enum InstallPlan {
    Python { needs: PythonNeeds, python: PathBuf, uv: PathBuf, resolved: ResolvedPackages },
    Node { needs: NodeNeeds, npm: PathBuf },
}

/// The files of a skill that can say which packages a script needs, itself among them. Not all of them
/// need exist.
pub fn package_lists(script: &RelPath) -> Vec<RelPath> {
    let mut paths = vec![script.clone()];
    match ScriptLanguage::of_extension(script) {
        Some(ScriptLanguage::Python) => paths.extend(python::lists(script)),
        Some(ScriptLanguage::Node) => paths.extend(node::lists(script)),
        // A first line can name either.
        None => paths.extend(python::lists(script).chain(node::lists(script))),
        Some(_) => return Vec::new(),
    }
    paths
}

impl PackageOffer {
    /// Resolves the packages that a script lists, from those files of its skill that
    /// [`package_lists`] names. Installs nothing.
    ///
    /// Returns nothing if all of them are installed, or if they cannot be installed here.
    #[tracing::instrument(level = "debug", skip_all, fields(%script))]
    pub(crate) fn find(
        cache: &PackageCache,
        interpreters: &InterpreterFinder,
        tools: PackageTools,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<Option<Self>, PackageError> {
        // Where this process is root, scripts run as another user, who could not read them.
        if first_closed_folder(cache.folder()).is_some() {
            return Ok(None);
        }
        let bytes = files.iter().find(|file| file.path == *script).map(|file| &file.bytes);
        let interpreter = bytes.and_then(|bytes| interpreters.find(script, bytes).ok());
        let Some(ScriptInterpreter::Program { language, .. }) = interpreter else {
            return Ok(None);
        };
        match (language, tools) {
            (ScriptLanguage::Python, PackageTools { uv: Some(uv), .. }) => {
                Self::of_python(cache, interpreters, uv, script, files)
            }
            (ScriptLanguage::Node, PackageTools { npm: Some(npm), .. }) => {
                Self::of_node(cache, npm, script, files)
            }
            _ => Ok(None),
        }
    }

    fn of_python(
        cache: &PackageCache,
        interpreters: &InterpreterFinder,
        uv: PathBuf,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<Option<Self>, PackageError> {
        let needs = PythonNeeds::of(script, files)?;
        let Some(needs) = needs.filter(|needs| !needs.requirements.is_empty()) else {
            return Ok(None);
        };
        let Ok((python, _)) = interpreters.program(ScriptLanguage::Python) else {
            return Ok(None);
        };
        if cache.find_python(&needs, &python).is_some() {
            return Ok(None);
        }
        let resolved = cache.resolve_python(&needs, &python, &uv)?;
        Ok(Some(Self {
            file: needs.file.clone(),
            packages: resolved.packages.clone(),
            digest: resolved.digest(),
            cache: cache.clone(),
            plan: InstallPlan::Python { needs, python, uv, resolved },
        }))
    }

    fn of_node(
        cache: &PackageCache,
        npm: PathBuf,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<Option<Self>, PackageError> {
        let needs = NodeNeeds::of(script, files)?;
        let Some(needs) = needs.filter(|needs| cache.find_node(needs).is_none()) else {
            return Ok(None);
        };
        Ok(Some(Self {
            file: needs.file.clone(),
            packages: needs.packages.clone(),
            digest: needs.digest(),
            cache: cache.clone(),
            plan: InstallPlan::Node { needs, npm },
        }))
    }

    /// Installs exactly what was offered. Runs that ask for the same find it from now on.
    pub fn install(&self) -> Result<(), PackageError> {
        match &self.plan {
            InstallPlan::Python { needs, python, uv, resolved } => {
                self.cache.install_python(needs, python, uv, resolved).map(drop)
            }
            InstallPlan::Node { needs, npm } => self.cache.install_node(needs, npm).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_can_list_packages_are_read_for_a_question() {
        let lists = |script: &str| {
            let paths = package_lists(&RelPath::parse(script).unwrap());
            paths.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            lists("scripts/a.py"),
            ["scripts/a.py", "scripts/requirements.txt", "requirements.txt"]
        );
        assert_eq!(lists("a.js"), ["a.js", "package.json", "package-lock.json"]);
        assert_eq!(lists("tool").len(), 4);
        assert!(lists("scripts/a.sh").is_empty());
    }
}
