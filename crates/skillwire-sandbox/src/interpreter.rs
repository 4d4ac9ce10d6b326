//! Finds the interpreter of a script, by its first line or its extension, in the system's
//! directories.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use skillwire_core::RelPath;

/// Where interpreters are looked for.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// Where an interpreter that was found there must lie once links are resolved. A script sees these
/// directories; a link into a home would make the home visible as well.
const SYSTEM_ROOTS: [&str; 2] = ["/usr", "/bin"];

/// The longest part of a script's first line that is read.
const MAX_FIRST_LINE: usize = 256;

/// A language that scripts may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptLanguage {
    /// Python 3.
    Python,
    /// Bash.
    Bash,
    /// The system's POSIX shell.
    Sh,
    /// JavaScript for Node.
    Node,
}

impl ScriptLanguage {
    /// Every language.
    pub const ALL: [Self; 4] = [Self::Python, Self::Bash, Self::Sh, Self::Node];

    /// The name that configuration and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Node => "node",
        }
    }

    /// Reads the name that configuration uses.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// The file names under which the system may have the language's interpreter.
    fn program_names(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3"],
            Self::Bash => &["bash"],
            Self::Sh => &["sh"],
            Self::Node => &["node", "nodejs"],
        }
    }

    /// The language of the program that a script's first line names.
    fn of_program(program: &str) -> Option<Self> {
        match program {
            "python" | "python3" => Some(Self::Python),
            "bash" => Some(Self::Bash),
            "sh" | "dash" | "ash" => Some(Self::Sh),
            "node" | "nodejs" => Some(Self::Node),
            _ if is_python_version(program) => Some(Self::Python),
            _ => None,
        }
    }

    /// The language that the extension of a script's name stands for.
    pub fn of_extension(path: &RelPath) -> Option<Self> {
        let name = path.segments().next_back()?;
        match name.rsplit_once('.')?.1 {
            "py" => Some(Self::Python),
            "sh" => Some(Self::Sh),
            "bash" => Some(Self::Bash),
            "js" | "mjs" | "cjs" => Some(Self::Node),
            _ => None,
        }
    }
}

impl fmt::Display for ScriptLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn is_python_version(program: &str) -> bool {
    program
        .strip_prefix("python3.")
        .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a script is started with. Displays as the end of a sentence such as "it runs with".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptInterpreter {
    /// A program that reads the script.
    Program {
        /// The script's language.
        language: ScriptLanguage,
        /// The program's absolute path. Links are resolved, unless it is the program of a virtual
        /// environment, which is recognised by the path that it is started by.
        program: PathBuf,
        /// Options from the script's first line.
        options: Vec<String>,
        /// The directories that must be visible to the script as well, because they hold the program
        /// or its packages and are not the system's.
        roots: Vec<PathBuf>,
    },
    /// None: the script is a statically linked program.
    Static,
}

impl fmt::Display for ScriptInterpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { program, .. } => write!(f, "{}", program.display()),
            Self::Static => f.write_str("no interpreter (a static program)"),
        }
    }
}

/// Why no interpreter can run a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpreterError {
    /// Neither the first line nor the extension names a language.
    #[error(
        "`{0}` is not a script that can be run: it has no `#!` line and no known extension (`.py`, `.sh`, `.bash`, `.js`, `.mjs`, `.cjs`), and is not a static program"
    )]
    Unknown(String),
    /// The first line names a program that is not supported.
    #[error("`{script}` asks for `{}`, and only Python, bash, sh and Node scripts can be run", program.escape_debug())]
    Unsupported {
        /// The script.
        script: String,
        /// The program that its first line names.
        program: String,
    },
    /// The file is a program that needs shared libraries, or is for another processor.
    #[error(
        "`{0}` is a program that needs a loader or is for another machine; only static programs for this one can be run"
    )]
    NotStatic(String),
    /// The system does not have the language's interpreter.
    #[error(
        "{0} is not installed in `/usr/bin`, `/bin` or `/usr/local/bin`; install it there or name another in the configuration"
    )]
    NotFound(ScriptLanguage),
    /// The configured interpreter is not a program.
    #[error("`{0}` is not the absolute path of a program")]
    NotAProgram(PathBuf),
}

/// Finds interpreters: the system's, unless the caller names others.
#[derive(Debug, Clone, Default)]
pub struct InterpreterFinder {
    named: BTreeMap<ScriptLanguage, PathBuf>,
    environments: BTreeMap<ScriptLanguage, (PathBuf, Vec<PathBuf>)>,
}

impl InterpreterFinder {
    /// Uses this program for a language in place of the system's.
    ///
    /// Its installation becomes readable for scripts: the directory above the one that holds the
    /// program, or only the program and its library if that directory is a user's home.
    pub fn use_program(
        &mut self,
        language: ScriptLanguage,
        program: &Path,
    ) -> Result<(), InterpreterError> {
        let real = program
            .is_absolute()
            .then(|| resolve_executable(program))
            .flatten()
            .ok_or_else(|| InterpreterError::NotAProgram(program.to_owned()))?;
        self.named.insert(language, real);
        Ok(())
    }

    /// Uses the program of a virtual environment for a language. It is started by this very path, and
    /// scripts can read the named directories: the environment and the installation it was made
    /// from.
    pub fn use_environment(
        &mut self,
        language: ScriptLanguage,
        program: &Path,
        roots: Vec<PathBuf>,
    ) -> Result<(), InterpreterError> {
        if !program.is_absolute() || resolve_executable(program).is_none() {
            return Err(InterpreterError::NotAProgram(program.to_owned()));
        }
        let roots = roots.into_iter().filter(|root| !is_in_system(root)).collect();
        self.environments.insert(language, (program.to_owned(), roots));
        Ok(())
    }

    /// Finds the interpreter of a script. The first line decides, and without one the extension.
    pub fn find(
        &self,
        script: &RelPath,
        bytes: &[u8],
    ) -> Result<ScriptInterpreter, InterpreterError> {
        let shown = || script.as_str().escape_debug().to_string();
        if bytes.starts_with(b"\x7fELF") {
            if is_static_elf(bytes) {
                return Ok(ScriptInterpreter::Static);
            }
            return Err(InterpreterError::NotStatic(shown()));
        }
        let (language, options) = match first_line(bytes) {
            Some((program, options)) => {
                let Some(language) = ScriptLanguage::of_program(program) else {
                    let program = program.chars().take(64).collect();
                    return Err(InterpreterError::Unsupported { script: shown(), program });
                };
                (language, options)
            }
            None => match ScriptLanguage::of_extension(script) {
                Some(language) => (language, Vec::new()),
                None => return Err(InterpreterError::Unknown(shown())),
            },
        };
        if let Some((program, roots)) = self.environments.get(&language).cloned() {
            return Ok(ScriptInterpreter::Program { language, program, options, roots });
        }
        let (program, roots) = self.program(language)?;
        Ok(ScriptInterpreter::Program { language, program, options, roots })
    }

    /// The program for a language, and what must be visible besides the system's directories.
    pub fn program(
        &self,
        language: ScriptLanguage,
    ) -> Result<(PathBuf, Vec<PathBuf>), InterpreterError> {
        if let Some(program) = self.named.get(&language) {
            if is_in_system(program) {
                return Ok((program.clone(), Vec::new()));
            }
            return Ok((program.clone(), installation_roots(program, language)));
        }
        let names = language.program_names().iter();
        names
            .flat_map(|name| SYSTEM_DIRECTORIES.iter().map(move |dir| Path::new(dir).join(name)))
            .filter_map(|path| resolve_executable(&path))
            .find(|real| is_in_system(real))
            .map(|program| (program, Vec::new()))
            .ok_or(InterpreterError::NotFound(language))
    }
}

/// What belongs to a program outside of the system's directories: its installation, or where that is
/// no folder of its own, the program and the library of its language.
fn installation_roots(program: &Path, language: ScriptLanguage) -> Vec<PathBuf> {
    let alone = || vec![program.to_owned()];
    let Some(prefix) = program.parent().and_then(Path::parent) else { return alone() };
    let libraries = ["lib", "lib64"].map(|folder| prefix.join(folder));
    let entries =
        libraries.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    let own = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match language {
            ScriptLanguage::Python => {
                name.starts_with("python3.") && path.join("os.py").is_file()
                    || name.starts_with("libpython3")
            }
            ScriptLanguage::Node => name == "node_modules",
            ScriptLanguage::Bash | ScriptLanguage::Sh => false,
        }
    });
    let own: Vec<_> = own.collect();
    let is_installation = own.iter().any(|path| path.is_dir());
    if is_installation && prefix != Path::new("/") && !is_home(prefix) {
        return vec![prefix.to_owned()];
    }
    let mut roots = alone();
    roots.extend(own);
    roots
}

/// Names that stand in homes and in no installation.
const HOME_ENTRIES: [&str; 9] = [
    ".ssh",
    ".gnupg",
    ".config",
    ".netrc",
    ".aws",
    ".bashrc",
    ".profile",
    ".bash_history",
    ".cache",
];

/// Whether a folder is a user's home, or one in which programs keep a user's data.
fn is_home(folder: &Path) -> bool {
    let is_below = |parent: &str| folder.parent() == Some(Path::new(parent));
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut homes = users.lines().filter_map(|line| line.split(':').nth(5));
    is_below("/home")
        || is_below("/Users")
        || folder.file_name().is_some_and(|name| name == ".local")
        || homes.any(|home| Path::new(home) == folder)
        || HOME_ENTRIES.iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

fn is_in_system(program: &Path) -> bool {
    SYSTEM_ROOTS.iter().any(|root| program.starts_with(root))
}

/// The file behind a path, if it may be executed.
fn resolve_executable(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let metadata = real.metadata().ok()?;
    (metadata.is_file() && is_executable(&metadata)).then_some(real)
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// The program that a `#!` line names, without its directory, and the options for it.
///
/// The program's directory is ignored on purpose: which file runs is decided here, not by the
/// skill.
fn first_line(bytes: &[u8]) -> Option<(&str, Vec<String>)> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..line.len().min(MAX_FIRST_LINE))?).ok()?;
    let mut words = line.split_whitespace();
    let mut program = base_name(words.next()?);
    if program == "env" {
        // `-S` only tells `env` to split what follows, which happens here anyway.
        program = base_name(words.find(|word| *word != "-S")?);
    }
    let options: Vec<String> =
        words.filter(|word| !word.contains('\0')).map(str::to_owned).collect();
    // `uv run --script` starts Python with the packages that the script itself lists. The caller
    // installs them before the run; inside there is neither `uv` nor a network.
    if program == "uv" && options.first().is_some_and(|option| option == "run") {
        return Some(("python3", Vec::new()));
    }
    Some((program, options))
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Whether an ELF file is a 64-bit program for this machine that names no loader.
fn is_static_elf(bytes: &[u8]) -> bool {
    /// The number of this processor in ELF files.
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    /// The type of the program header that names a loader (`PT_INTERP`).
    const LOADER: u32 = 3;
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let header_types = || {
        let table = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
        let table = usize::try_from(table).ok()?;
        let size = usize::from(half(54)?);
        let count = usize::from(half(56)?);
        (0..count)
            .map(|n| word(table.checked_add(n.checked_mul(size)?)?))
            .collect::<Option<Vec<_>>>()
    };
    let is_64_bit = bytes.get(4) == Some(&2);
    let is_little_endian = bytes.get(5) == Some(&1);
    is_64_bit
        && is_little_endian
        && half(18) == Some(MACHINE)
        && header_types().is_some_and(|types| !types.is_empty() && !types.contains(&LOADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn refused(name: &str, bytes: &[u8]) -> InterpreterError {
        InterpreterFinder::default().find(&path(name), bytes).unwrap_err()
    }

    #[test]
    fn the_first_line_wins_over_the_extension() {
        for (line, program, options) in [
            ("#!/usr/bin/env python3\n", "python3", vec![]),
            ("#!/usr/bin/env -S python3 -u\nx", "python3", vec!["-u"]),
            ("#! /bin/bash -eu\n", "bash", vec!["-eu"]),
            ("#!node", "node", vec![]),
            ("#!/usr/bin/env -S uv run --script\n", "python3", vec![]),
        ] {
            let (found, with) = first_line(line.as_bytes()).unwrap();
            assert_eq!((found, with), (program, options.into_iter().map(str::to_owned).collect()));
        }
        assert_eq!(ScriptLanguage::of_program("python3.12"), Some(ScriptLanguage::Python));
        assert!(matches!(
            refused("x.py", b"#!/usr/bin/perl\n"),
            InterpreterError::Unsupported { program, .. } if program == "perl"
        ));
    }

    #[test]
    fn without_a_first_line_the_extension_decides() {
        for (name, language) in [
            ("a/run.py", ScriptLanguage::Python),
            ("run.sh", ScriptLanguage::Sh),
            ("run.x.bash", ScriptLanguage::Bash),
            ("run.mjs", ScriptLanguage::Node),
        ] {
            assert_eq!(ScriptLanguage::of_extension(&path(name)), Some(language), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_script_is_refused() {
        assert!(matches!(refused("notes.md", b"# hello"), InterpreterError::Unknown(_)));
        assert!(matches!(refused("noextension", b""), InterpreterError::Unknown(_)));
        assert!(matches!(refused("tool", b"\x7fELF"), InterpreterError::NotStatic(_)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_needs_a_loader_is_not_static() {
        let dynamic = std::fs::read("/proc/self/exe").unwrap();
        assert!(matches!(refused("tool", &dynamic), InterpreterError::NotStatic(_)));
    }

    #[cfg(unix)]
    #[test]
    fn only_absolute_paths_of_programs_can_be_configured() {
        for bad in ["python3", "/etc/passwd", "/no/such/program", "/usr"] {
            let named =
                InterpreterFinder::default().use_program(ScriptLanguage::Python, Path::new(bad));
            assert!(matches!(named, Err(InterpreterError::NotAProgram(_))), "{bad}");
        }
    }
}
