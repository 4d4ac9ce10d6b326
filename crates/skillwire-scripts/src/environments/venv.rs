//! Reads a virtual environment of Python.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// The longest `pyvenv.cfg` that is read.
const MAX_CONFIGURATION: u64 = 64 * 1024;

/// What an installation of Python has at its top, and a user's home does not have alone.
const INSTALLATION: [&str; 16] = [
    "bin",
    "conda-meta",
    "etc",
    "include",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "man",
    "share",
    "ssl",
    "sbin",
    "var",
    "compiler_compat",
    "BUILD",
    "x86_64-conda-linux-gnu",
];

/// Why a folder cannot be used as a virtual environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VenvError {
    /// It has no `pyvenv.cfg` that can be read.
    #[error("`{}` has no `pyvenv.cfg`", folder.display())]
    NoConfiguration {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Its `pyvenv.cfg` does not say where its Python is installed.
    #[error("`pyvenv.cfg` in `{}` does not name an installation of Python", .0.display())]
    NoHome(PathBuf),
    /// It has no program for Python.
    #[error("`{}` has no `bin/python3`", .0.display())]
    NoProgram(PathBuf),
}

/// A virtual environment: packages, and the installation of Python that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VirtualEnvironment {
    /// The program that scripts are started with. Python finds the environment by this path.
    pub program: PathBuf,
    /// What a script has to read: the environment, and what Python itself needs.
    pub roots: Vec<PathBuf>,
}

impl VirtualEnvironment {
    /// Reads the environment in a folder.
    ///
    /// Of the installation that it was made from, only what Python needs becomes readable. An
    /// installation in a folder with other things in it, such as `~/bin/python3`, is narrowed to
    /// its program and its standard library.
    pub fn read(folder: &Path) -> Result<Self, VenvError> {
        let missing = |source| VenvError::NoConfiguration { folder: folder.to_owned(), source };
        let real = folder.canonicalize().map_err(missing)?;
        let configuration = real.join("pyvenv.cfg");
        let size = configuration.metadata().map_err(missing)?.len();
        if size > MAX_CONFIGURATION {
            return Err(missing(io::ErrorKind::FileTooLarge.into()));
        }
        let text = fs::read_to_string(&configuration).map_err(missing)?;
        let home = value(&text, "home").map(Path::new).filter(|home| home.is_absolute());
        let home = home.and_then(|home| home.canonicalize().ok());
        let home = home.ok_or_else(|| VenvError::NoHome(real.clone()))?;
        let programs = ["bin/python3", "bin/python"].map(|name| real.join(name));
        let program = programs.into_iter().find(|program| program.is_file());
        let program = program.ok_or_else(|| VenvError::NoProgram(real.clone()))?;
        let mut roots = vec![real.clone()];
        roots.extend(installation(&home, &program));
        Ok(Self { program, roots })
    }
}

/// A value of `pyvenv.cfg`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim().eq_ignore_ascii_case(key)).then(|| value.trim())
    })
}

/// What Python needs of its installation, whose programs lie in `home`.
fn installation(home: &Path, program: &Path) -> Vec<PathBuf> {
    let Some(prefix) = home.parent().filter(|prefix| *prefix != Path::new("/")) else {
        return Vec::new();
    };
    if prefix.starts_with("/usr") {
        return Vec::new();
    }
    let names = fs::read_dir(prefix)
        .map(|entries| entries.flatten().map(|entry| entry.file_name()).collect::<Vec<_>>());
    let is_own_folder = names.is_ok_and(|names| {
        names.iter().all(|name| INSTALLATION.iter().any(|known| name == OsStr::new(known)))
    });
    if is_own_folder {
        return vec![prefix.to_owned()];
    }
    let mut roots: Vec<_> = program.canonicalize().into_iter().collect();
    let library = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    roots.extend(library.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        (name.starts_with("python3") && path.join("os.py").is_file())
            || (name.starts_with("libpython3") && path.is_file())
    }));
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A virtual environment, and an installation of Python with other files beside it.
    fn environment(other: Option<&str>) -> (tempfile::TempDir, PathBuf) {
        let top = folder();
        let home = top.path().canonicalize().unwrap().join("home/bin");
        file(&home.join("python3"), "");
        file(&home.parent().unwrap().join("lib/python3.12/os.py"), "");
        if let Some(other) = other {
            file(&home.parent().unwrap().join(other), "secret");
        }
        let venv = top.path().join("venv");
        file(&venv.join("bin/python3"), "");
        file(&venv.join("pyvenv.cfg"), &format!("version = 3.12\nhome = {}\n", home.display()));
        (top, home.parent().unwrap().to_owned())
    }

    #[test]
    fn an_environment_brings_itself_and_its_installation() {
        let (top, prefix) = environment(None);
        let read = VirtualEnvironment::read(&top.path().join("venv")).unwrap();
        let venv = top.path().canonicalize().unwrap().join("venv");
        assert_eq!(read.program, venv.join("bin/python3"));
        assert_eq!(read.roots, [venv, prefix]);
    }

    #[test]
    fn nothing_else_of_a_home_becomes_readable() {
        let (top, prefix) = environment(Some(".ssh/id_ed25519"));
        let read = VirtualEnvironment::read(&top.path().join("venv")).unwrap();
        let venv = top.path().canonicalize().unwrap().join("venv");
        let own_program = venv.join("bin/python3");
        assert_eq!(read.roots, [venv, own_program, prefix.join("lib/python3.12")]);
    }

    #[test]
    fn a_folder_that_is_no_environment_is_refused() {
        let top = folder();
        let read = VirtualEnvironment::read(top.path());
        assert!(matches!(read, Err(VenvError::NoConfiguration { .. })), "{read:?}");
        file(&top.path().join("pyvenv.cfg"), "home = relative/bin\n");
        let read = VirtualEnvironment::read(top.path());
        assert!(matches!(read, Err(VenvError::NoHome(_))), "{read:?}");
        file(&top.path().join("pyvenv.cfg"), "home = /\n");
        let read = VirtualEnvironment::read(top.path());
        assert!(matches!(read, Err(VenvError::NoProgram(_))), "{read:?}");
    }
}
