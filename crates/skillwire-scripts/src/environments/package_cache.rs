//! Installs packages into a cache, once for each set of requirements.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};

use skillwire_core::Digest;

use super::{NodeNeeds, Package, PackageError, PythonNeeds, VirtualEnvironment, tool::run_within};

/// The file that says that an installation is whole, and by its digest of which list. It is written
/// last.
const COMPLETE: &str = "complete";

/// How long a program may take to find out which packages fit, or to make an empty environment.
const RESOLVE_WITHIN: Duration = Duration::from_mins(1);

/// How long a program may take to install packages, and how long another process may keep this one
/// from it.
const INSTALL_WITHIN: Duration = Duration::from_mins(5);

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
        // Programs run in folders of the cache, where a relative path would lead elsewhere.
        Self { folder: absolute(&folder.into()) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The environment with a script's packages, if it was installed before.
    pub fn find_python(&self, needs: &PythonNeeds, python: &Path) -> Option<VirtualEnvironment> {
        let folder = self.python_folder(needs, python);
        let agreed: Digest = fs::read_to_string(folder.join(COMPLETE)).ok()?.parse().ok()?;
        VirtualEnvironment::read(&venv_of(&folder, &agreed)).ok()
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
        let _lock = self.lock(&folder, INSTALL_WITHIN)?;
        let listed = folder.join("requirements.in");
        let lock = folder.join("requirements.txt");
        fs::write(&listed, needs.requirements.join("\n") + "\n").map_err(self.failed())?;
        // `uv` would keep to the versions and digests of an earlier list.
        self.remove(&lock)?;
        let mut command = self.uv(uv, &folder)?;
        command.args(["pip", "compile", "--quiet", "--generate-hashes", "--only-binary", ":all:"]);
        command.args(["--no-header", "--no-annotate", "--python"]).arg(absolute(python));
        command.arg("--output-file").arg(&lock).arg(&listed);
        run_within("uv pip compile", command, RESOLVE_WITHIN)?;
        let lock = fs::read_to_string(&lock).map_err(self.failed())?;
        let packages =
            pinned(&lock).map_err(|why| PackageError::Lock { file: needs.file.clone(), why })?;
        Ok(ResolvedPackages { packages, lock })
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
        let _lock = self.lock(&folder, INSTALL_WITHIN)?;
        let agreed = resolved.digest();
        // Another user may have agreed to another list for the same requirements meanwhile.
        if is_complete(&folder, &agreed)
            && let Some(found) = self.find_python(needs, python)
        {
            return Ok(found);
        }
        let venv = venv_of(&folder, &agreed);
        let lock = folder.join("requirements.txt");
        fs::write(&lock, &resolved.lock).map_err(self.failed())?;
        // One that cannot be read any more may be called complete.
        self.remove(&folder.join(COMPLETE))?;
        let mut command = self.uv(uv, &folder)?;
        command.args(["venv", "--quiet", "--clear", "--no-project", "--python"]);
        command.arg(absolute(python)).arg(&venv);
        run_within("uv venv", command, RESOLVE_WITHIN)?;
        let mut command = self.uv(uv, &folder)?;
        command.args(["pip", "install", "--quiet", "--require-hashes", "--no-deps"]);
        command.args(["--only-binary", ":all:", "--python"]).arg(venv.join("bin/python"));
        command.arg("--requirement").arg(&lock);
        run_within("uv pip install", command, INSTALL_WITHIN)?;
        let environment = VirtualEnvironment::read(&venv)?;
        self.complete(&folder, &agreed)?;
        Ok(environment)
    }

    /// The folder `node_modules` with a script's packages, if it was installed before.
    pub fn find_node(&self, needs: &NodeNeeds) -> Option<PathBuf> {
        let folder = self.node_folder(needs);
        is_complete(&folder, &needs.digest()).then(|| folder.join("node_modules"))
    }

    /// Installs exactly what the lock file names. No script of a package is run.
    #[tracing::instrument(level = "debug", skip_all, fields(file = needs.file))]
    pub fn install_node(&self, needs: &NodeNeeds, npm: &Path) -> Result<PathBuf, PackageError> {
        let folder = self.node_folder(needs);
        let _lock = self.lock(&folder, INSTALL_WITHIN)?;
        if let Some(found) = self.find_node(needs) {
            return Ok(found);
        }
        fs::write(folder.join("package.json"), &needs.manifest).map_err(self.failed())?;
        fs::write(folder.join("package-lock.json"), &needs.lock).map_err(self.failed())?;
        let mut command = Command::new(absolute(npm));
        command.args(["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]);
        command.current_dir(&folder);
        run_within("npm ci", command, INSTALL_WITHIN)?;
        self.complete(&folder, &needs.digest())?;
        Ok(folder.join("node_modules"))
    }

    /// A call of `uv` in a folder of the cache. `uv` reads the settings of the folder that it runs in,
    /// and of those above it: those of a project in which the user starts this program would choose
    /// where packages come from. A file of settings, even an empty one, ends that search. The user's
    /// own settings still apply.
    fn uv(&self, uv: &Path, folder: &Path) -> Result<Command, PackageError> {
        fs::write(folder.join("uv.toml"), "").map_err(self.failed())?;
        let mut command = Command::new(absolute(uv));
        command.current_dir(folder);
        Ok(command)
    }

    /// Removes a file, if it is there.
    fn remove(&self, file: &Path) -> Result<(), PackageError> {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed()(error)),
            _ => Ok(()),
        }
    }

    /// Notes that a folder has all of what the user agreed to.
    fn complete(&self, folder: &Path, agreed: &Digest) -> Result<(), PackageError> {
        fs::write(folder.join(COMPLETE), agreed.to_string()).map_err(self.failed())
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
        self.folder.join(format!("{kind}-{}", digits(&Digest::of(asked))))
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
    fn lock(&self, folder: &Path, within: Duration) -> Result<fs::File, PackageError> {
        self.make(folder)?;
        let lock = fs::File::create(folder.join("lock")).map_err(self.failed())?;
        let (sender, receiver) = mpsc::channel();
        // Waiting for a lock has no end of its own. A thread that waits too long lets go of the lock
        // as soon as it has it.
        thread::spawn(move || {
            let locked = lock.lock().map(|()| lock);
            let _ = sender.send(locked);
        });
        match receiver.recv_timeout(within) {
            Ok(locked) => locked.map_err(self.failed()),
            Err(_) => Err(PackageError::Busy { folder: folder.to_owned(), waited: within }),
        }
    }

    fn failed(&self) -> impl Fn(io::Error) -> PackageError {
        let folder = self.folder.clone();
        move |source| PackageError::Cache { folder: folder.clone(), source }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The environment in a folder that has what one resolved list names.
fn venv_of(folder: &Path, agreed: &Digest) -> PathBuf {
    folder.join(format!("venv-{}", digits(agreed)))
}

fn is_complete(folder: &Path, agreed: &Digest) -> bool {
    fs::read_to_string(folder.join(COMPLETE)).is_ok_and(|found| found == agreed.to_string())
}

fn digits(digest: &Digest) -> String {
    let digest = digest.to_string();
    digest.rsplit_once(':').map_or(digest.as_str(), |(_, digits)| digits).to_owned()
}

/// The packages that a resolved list of requirements pins. A list with anything else in it is an error:
/// the user would not be shown what it installs.
fn pinned(lock: &str) -> Result<Vec<Package>, String> {
    let mut packages = Vec::new();
    let mut continues = false;
    for line in lock.lines() {
        let (text, goes_on) = match line.trim_end().strip_suffix('\\') {
            Some(text) => (text.trim(), true),
            None => (line.trim(), false),
        };
        let is_part = std::mem::replace(&mut continues, goes_on);
        let is_hash = text.starts_with("--hash=") && !text.contains(char::is_whitespace);
        if text.is_empty() || text.starts_with('#') || (is_part && is_hash) {
            continue;
        }
        let package = if is_part { None } else { pin(text) };
        packages.push(package.ok_or_else(|| {
            let line: String = text.chars().take(MAX_LINE).collect();
            format!(
                "`uv` resolved it to `{}`, which is no name with one version",
                line.escape_debug()
            )
        })?);
    }
    Ok(packages)
}

/// The most characters of a line that an error names.
const MAX_LINE: usize = 200;

/// Reads `name==1.2.3`, perhaps with a marker.
fn pin(line: &str) -> Option<Package> {
    let pin = line.split_once(';').map_or(line, |(pin, _)| pin).trim();
    let (name, version) = pin.split_once("==")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.[],".contains(c);
    let is_version = |c: char| c.is_ascii_alphanumeric() || "-_.+!".contains(c);
    let is_pin = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_name)
        && version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.chars().all(is_version);
    is_pin.then(|| Package { name: name.to_owned(), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_with_or_without_markers() {
        let lock = "# comment\nsix==1.17.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n\
                    tomli==2.0.1 ; python_version < '3.11' \\\n    --hash=sha256:cc\nplain==1\n";
        let read: Vec<_> = pinned(lock).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(read, ["six 1.17.0", "tomli 2.0.1", "plain 1"]);
    }

    #[test]
    fn a_resolved_list_with_anything_but_pins_is_refused_by_its_line() {
        for line in [
            "evil @ https://evil.example/evil-1.0-py3-none-any.whl",
            "evil @ https://evil.example/evil==1.whl",
            "https://evil.example/evil-1.0-py3-none-any.whl",
            "-e /tmp/evil",
            "--index-url https://evil.example/simple",
            "--find-links=/tmp",
            "/tmp/evil.whl",
            "evil>=1",
            "evil==1.*",
            "evil==1 --config-settings=x",
        ] {
            for lock in [
                format!("six==1.17.0\n{line}\n"),
                format!("six==1.17.0\n    {line}\n"),
                format!("six==1.17.0 \\\n    {line}\n"),
            ] {
                let why = pinned(&lock).unwrap_err();
                assert!(why.contains(line), "{lock}: {why}");
            }
        }
    }

    #[test]
    fn uv_runs_in_the_folder_of_the_cache_with_the_settings_of_no_project() {
        let top = tempfile::tempdir().unwrap();
        let cache = PackageCache::new(top.path());
        let command = cache.uv(Path::new("bin/uv"), top.path()).unwrap();
        assert_eq!(command.get_current_dir(), Some(top.path()));
        assert!(Path::new(command.get_program()).is_absolute(), "{command:?}");
        assert_eq!(fs::read_to_string(top.path().join("uv.toml")).unwrap(), "");
    }

    #[test]
    fn an_environment_is_found_only_for_the_list_that_was_agreed_to() {
        let top = tempfile::tempdir().unwrap();
        let cache = PackageCache::new(top.path());
        let python = Path::new("/usr/bin/python3");
        let needs = PythonNeeds {
            file: "a".to_owned(),
            requirements: vec!["six".to_owned()],
            requires_python: None,
        };
        let folder = cache.python_folder(&needs, python);
        let digest = Digest::of(b"six==1.17.0");
        for venv in [folder.join("venv"), venv_of(&folder, &digest)] {
            fs::create_dir_all(venv.join("bin")).unwrap();
            fs::write(venv.join("bin/python3"), "").unwrap();
            fs::write(venv.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        }
        // Earlier versions did not write which list was installed.
        fs::write(folder.join(COMPLETE), "").unwrap();
        assert_eq!(cache.find_python(&needs, python), None);
        cache.complete(&folder, &digest).unwrap();
        let found = cache.find_python(&needs, python).unwrap();
        assert!(found.program.starts_with(venv_of(&folder, &digest).canonicalize().unwrap()));
        assert!(!is_complete(&folder, &Digest::of(b"six==1.16.0")));
    }

    #[test]
    fn a_folder_that_another_process_keeps_locked_is_not_waited_for_without_end() {
        let top = tempfile::tempdir().unwrap();
        let cache = PackageCache::new(top.path());
        let held = cache.lock(top.path(), INSTALL_WITHIN).unwrap();
        let refused = cache.lock(top.path(), Duration::from_millis(20));
        assert!(matches!(refused, Err(PackageError::Busy { .. })), "{refused:?}");
        drop(held);
        cache.lock(top.path(), INSTALL_WITHIN).unwrap();
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
