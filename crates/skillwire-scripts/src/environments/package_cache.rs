//! Installs packages into a cache, once for each set of requirements.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use skillwire_core::Digest;

use super::{NodeNeeds, Package, PackageError, PythonNeeds, VirtualEnvironment};

/// The file that says that an installation is whole. It is written last.
const COMPLETE: &str = "complete";

/// How much of a failed program's words is kept.
const MAX_SAID: usize = 2000;

/// Folders of installed packages. The name of each is a digest of what was asked for, so what was
/// installed for one skill is never taken for what another one asks for.
#[derive(Debug, Clone)]
pub struct PackageCache {
    folder: PathBuf,
}

/// Packages with exact versions and digests, which the user can agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedPackages {
    /// What would be installed.
    pub packages: Vec<Package>,
    lock: String,
}

impl ResolvedPackages {
    /// The digest of the whole list, with the digests of the files that would be installed.
    pub fn digest(&self) -> Digest {
        Digest::of(self.lock.as_bytes())
    }
}

impl PackageCache {
    /// Uses this folder, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The environment with a script's packages, if it was installed before.
    pub fn find_python(&self, needs: &PythonNeeds, python: &Path) -> Option<VirtualEnvironment> {
        let folder = self.python_folder(needs, python);
        folder
            .join(COMPLETE)
            .is_file()
            .then(|| VirtualEnvironment::read(&folder.join("venv")).ok())?
    }

    /// Asks `uv` which versions of which packages fit. Installs nothing.
    #[tracing::instrument(level = "debug", skip_all, fields(file = needs.file))]
    pub fn resolve_python(
        &self,
        needs: &PythonNeeds,
        python: &Path,
        uv: &Path,
    ) -> Result<ResolvedPackages, PackageError> {
        let folder = self.python_folder(needs, python);
        // Another process may be installing what it has resolved there.
        let _lock = self.lock(&folder)?;
        let listed = folder.join("requirements.in");
        let lock = folder.join("requirements.txt");
        fs::write(&listed, needs.requirements.join("\n") + "\n").map_err(self.failed())?;
        let mut command = Command::new(uv);
        command.args(["pip", "compile", "--quiet", "--generate-hashes", "--only-binary", ":all:"]);
        command.args(["--no-header", "--no-annotate", "--python"]).arg(python);
        command.arg("--output-file").arg(&lock).arg(&listed);
        run("uv", command)?;
        let lock = fs::read_to_string(&lock).map_err(self.failed())?;
        Ok(ResolvedPackages { packages: pinned(&lock), lock })
    }

    /// Installs what the user agreed to, exactly those files, by their digests.
    #[tracing::instrument(level = "debug", skip_all, fields(file = needs.file))]
    pub fn install_python(
        &self,
        needs: &PythonNeeds,
        python: &Path,
        uv: &Path,
        resolved: &ResolvedPackages,
    ) -> Result<VirtualEnvironment, PackageError> {
        let folder = self.python_folder(needs, python);
        let _lock = self.lock(&folder)?;
        if let Some(found) = self.find_python(needs, python) {
            return Ok(found);
        }
        let venv = folder.join("venv");
        let lock = folder.join("requirements.txt");
        fs::write(&lock, &resolved.lock).map_err(self.failed())?;
        let mut command = Command::new(uv);
        command.args(["venv", "--quiet", "--clear", "--no-project", "--python"]).arg(python);
        command.arg(&venv);
        run("uv", command)?;
        let mut command = Command::new(uv);
        command.args(["pip", "install", "--quiet", "--require-hashes", "--no-deps"]);
        command.args(["--only-binary", ":all:", "--python"]).arg(venv.join("bin/python"));
        command.arg("--requirement").arg(&lock);
        run("uv", command)?;
        let environment = VirtualEnvironment::read(&venv)?;
        fs::write(folder.join(COMPLETE), "").map_err(self.failed())?;
        Ok(environment)
    }

    /// The folder `node_modules` with a script's packages, if it was installed before.
    pub fn find_node(&self, needs: &NodeNeeds) -> Option<PathBuf> {
        let folder = self.node_folder(needs);
        folder.join(COMPLETE).is_file().then(|| folder.join("node_modules"))
    }

    /// Installs exactly what the lock file names. No script of a package is run.
    #[tracing::instrument(level = "debug", skip_all, fields(file = needs.file))]
    pub fn install_node(&self, needs: &NodeNeeds, npm: &Path) -> Result<PathBuf, PackageError> {
        let folder = self.node_folder(needs);
        let _lock = self.lock(&folder)?;
        if let Some(found) = self.find_node(needs) {
            return Ok(found);
        }
        fs::write(folder.join("package.json"), &needs.manifest).map_err(self.failed())?;
        fs::write(folder.join("package-lock.json"), &needs.lock).map_err(self.failed())?;
        let mut command = Command::new(npm);
        command.args(["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]);
        command.current_dir(&folder);
        run("npm", command)?;
        fs::write(folder.join(COMPLETE), "").map_err(self.failed())?;
        Ok(folder.join("node_modules"))
    }

    fn python_folder(&self, needs: &PythonNeeds, python: &Path) -> PathBuf {
        let asked = [
            python.display().to_string(),
            needs.requires_python.clone().unwrap_or_default(),
            needs.requirements.join("\n"),
        ];
        self.entry("python", asked.join("\0").as_bytes())
    }

    fn node_folder(&self, needs: &NodeNeeds) -> PathBuf {
        let asked = [&needs.manifest[..], &needs.lock[..]].join(&0);
        self.entry("node", &asked)
    }

    fn entry(&self, kind: &str, asked: &[u8]) -> PathBuf {
        let digest = Digest::of(asked).to_string();
        let digest = digest.rsplit_once(':').map_or(digest.as_str(), |(_, digits)| digits);
        self.folder.join(format!("{kind}-{digest}"))
    }

    /// Makes a folder that scripts can read: they run as another user where this process is root.
    fn make(&self, folder: &Path) -> Result<(), PackageError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
        builder.create(folder).map_err(self.failed())
    }

    /// Makes a folder and keeps other processes from installing into it meanwhile.
    fn lock(&self, folder: &Path) -> Result<fs::File, PackageError> {
        self.make(folder)?;
        let lock = fs::File::create(folder.join("lock")).map_err(self.failed())?;
        lock.lock().map_err(self.failed())?;
        Ok(lock)
    }

    fn failed(&self) -> impl Fn(io::Error) -> PackageError {
        let folder = self.folder.clone();
        move |source| PackageError::Cache { folder: folder.clone(), source }
    }
}

/// The packages that a resolved list of requirements pins.
fn pinned(lock: &str) -> Vec<Package> {
    let lines = lock.lines().filter(|line| !line.starts_with([' ', '#', '-']));
    let pins = lines.filter_map(|line| line.split([';', '\\', ' ']).next()?.split_once("=="));
    let packages = pins.map(|(name, version)| Package {
        name: name.trim().to_owned(),
        version: version.trim().to_owned(),
    });
    packages.collect()
}

/// Runs a program to its end.
fn run(program: &str, mut command: Command) -> Result<(), PackageError> {
    let failed = |said: String| PackageError::Tool { program: program.to_owned(), said };
    let done = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said: String = said.chars().take(MAX_SAID).collect();
    Err(failed(if said.trim().is_empty() { done.status.to_string() } else { said }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_with_or_without_markers() {
        let lock = "# comment\nsix==1.17.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n\
                    tomli==2.0.1 ; python_version < '3.11'\nplain==1\n";
        let read: Vec<_> = pinned(lock).iter().map(ToString::to_string).collect();
        assert_eq!(read, ["six 1.17.0", "tomli 2.0.1", "plain 1"]);
    }

    #[test]
    fn each_set_of_requirements_has_a_folder_of_its_own() {
        let cache = PackageCache::new("/cache");
        let needs = |requirements: &[&str], python: Option<&str>| PythonNeeds {
            file: "a".to_owned(),
            requirements: requirements.iter().map(|line| (*line).to_owned()).collect(),
            requires_python: python.map(str::to_owned),
        };
        let usual = Path::new("/usr/bin/python3.11");
        let folders = [
            cache.python_folder(&needs(&["a", "b"], None), usual),
            cache.python_folder(&needs(&["a"], None), usual),
            cache.python_folder(&needs(&["a"], Some(">=3")), usual),
            cache.python_folder(&needs(&["a"], None), Path::new("/usr/bin/python3.12")),
        ];
        let distinct: std::collections::BTreeSet<_> = folders.iter().collect();
        assert_eq!(distinct.len(), folders.len());
    }
}
