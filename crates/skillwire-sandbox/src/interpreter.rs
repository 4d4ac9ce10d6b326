//! What runs a script: found by its first line or its extension, in the system's own directories.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use skillwire_core::path::RelPath;

/// Where interpreters are looked for.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// Where an interpreter that was found there must lie in the end; a link into a home does not count.
const SYSTEM_ROOTS: [&str; 2] = ["/usr", "/bin"];

/// The languages that scripts may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// Python 3.
    Python,
    /// Bash.
    Bash,
    /// The system's shell.
    Sh,
    /// JavaScript for Node.
    Node,
}

impl Language {
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

    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3"],
            Self::Bash => &["bash"],
            Self::Sh => &["sh"],
            Self::Node => &["node", "nodejs"],
        }
    }

    /// The language of a program that a script's first line names.
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

    fn of_extension(path: &RelPath) -> Option<Self> {
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

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn is_python_version(program: &str) -> bool {
    program
        .strip_prefix("python3.")
        .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a script is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpreter {
    /// A program reads it.
    Program {
        /// The language.
        language: Language,
        /// The program, by its whole path without links.
        program: PathBuf,
        /// Options from the script's first line.
        options: Vec<String>,
        /// The directory that must be visible as well, because the program is not the system's.
        root: Option<PathBuf>,
    },
    /// It is a program that needs no other.
    Static,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { program, .. } => write!(f, "{}", program.display()),
            Self::Static => f.write_str("as a program of its own"),
        }
    }
}

/// Why nothing can run a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoInterpreter {
    /// Neither the first line nor the extension says what it is.
    #[error(
        "`{0}` is no script: it has no `#!` line, no known extension (`.py`, `.sh`, `.bash`, `.js`, `.mjs`, `.cjs`), and is no static program"
    )]
    Unknown(String),
    /// The first line names something else.
    #[error("`{script}` asks for `{}`, and only Python, bash, sh and Node scripts are run", program.escape_debug())]
    Unsupported {
        /// The script.
        script: String,
        /// What it asks for.
        program: String,
    },
    /// It is a program that needs libraries.
    #[error(
        "`{0}` is a program that needs a loader or is for another machine; only static programs for this one are run"
    )]
    NotStatic(String),
    /// The system does not have it.
    #[error(
        "{0} is not installed in `/usr/bin`, `/bin` or `/usr/local/bin`; install it there or name another in the configuration"
    )]
    NotFound(Language),
    /// What was configured is no program.
    #[error("`{0}` is not the path of a program")]
    NotAProgram(PathBuf),
}

/// The interpreters that may be used.
#[derive(Debug, Clone, Default)]
pub struct Interpreters {
    named: BTreeMap<Language, PathBuf>,
}

impl Interpreters {
    /// Uses this program for a language in place of the system's.
    ///
    /// Its installation, the directory above the one it lies in, becomes readable for scripts.
    pub fn name(&mut self, language: Language, program: &Path) -> Result<(), NoInterpreter> {
        let real = program
            .is_absolute()
            .then(|| executable(program))
            .flatten()
            .ok_or_else(|| NoInterpreter::NotAProgram(program.to_owned()))?;
        self.named.insert(language, real);
        Ok(())
    }

    /// Finds what runs a script.
    pub fn find(&self, script: &RelPath, bytes: &[u8]) -> Result<Interpreter, NoInterpreter> {
        let shown = || script.as_str().escape_debug().to_string();
        if bytes.starts_with(b"\x7fELF") {
            let fits = is_static_elf(bytes);
            return fits.then_some(Interpreter::Static).ok_or(NoInterpreter::NotStatic(shown()));
        }
        let (language, options) = match first_line(bytes) {
            Some((program, options)) => {
                let Some(language) = Language::of_program(program) else {
                    let program = program.chars().take(64).collect();
                    return Err(NoInterpreter::Unsupported { script: shown(), program });
                };
                (language, options)
            }
            None => match Language::of_extension(script) {
                Some(language) => (language, Vec::new()),
                None => return Err(NoInterpreter::Unknown(shown())),
            },
        };
        let (program, root) = self.program(language)?;
        Ok(Interpreter::Program { language, program, options, root })
    }

    /// The program for a language, and what must be visible besides the system.
    pub fn program(&self, language: Language) -> Result<(PathBuf, Option<PathBuf>), NoInterpreter> {
        if let Some(program) = self.named.get(&language) {
            let system = SYSTEM_ROOTS.iter().any(|root| program.starts_with(root));
            let above =
                program.parent().and_then(Path::parent).filter(|above| *above != Path::new("/"));
            let root = (!system).then(|| above.unwrap_or(program).to_owned());
            return Ok((program.clone(), root));
        }
        let names = language.programs().iter();
        names
            .flat_map(|name| SYSTEM_DIRECTORIES.iter().map(move |dir| Path::new(dir).join(name)))
            .filter_map(|path| executable(&path))
            .find(|real| SYSTEM_ROOTS.iter().any(|root| real.starts_with(root)))
            .map(|program| (program, None))
            .ok_or(NoInterpreter::NotFound(language))
    }
}

/// The file behind a path, if it is one that may be executed.
fn executable(path: &Path) -> Option<PathBuf> {
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

/// The program that a first line names, without its directory, and the options for it.
fn first_line(bytes: &[u8]) -> Option<(&str, Vec<String>)> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line.get(..line.len().min(256))?).ok()?.split_whitespace();
    let mut program = base_name(words.next()?);
    if program == "env" {
        // `-S` only tells `env` to split what follows, which happens here anyway.
        program = base_name(words.find(|word| *word != "-S")?);
    }
    Some((program, words.filter(|word| !word.contains('\0')).map(str::to_owned).collect()))
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Whether an ELF file is a 64-bit program for this machine that names no loader.
fn is_static_elf(bytes: &[u8]) -> bool {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    const LOADER: u32 = 3;
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let headers = || {
        let table = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
        let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
        let table = usize::try_from(table).ok()?;
        (0..count)
            .map(|n| word(table.checked_add(n.checked_mul(size)?)?))
            .collect::<Option<Vec<_>>>()
    };
    let native = bytes.get(4) == Some(&2) && bytes.get(5) == Some(&1) && half(18) == Some(MACHINE);
    native && headers().is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&LOADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn refused(name: &str, bytes: &[u8]) -> NoInterpreter {
        Interpreters::default().find(&path(name), bytes).unwrap_err()
    }

    #[test]
    fn the_first_line_wins_over_the_extension() {
        for (line, program, options) in [
            ("#!/usr/bin/env python3\n", "python3", vec![]),
            ("#!/usr/bin/env -S python3 -u\nx", "python3", vec!["-u"]),
            ("#! /bin/bash -eu\n", "bash", vec!["-eu"]),
            ("#!node", "node", vec![]),
        ] {
            let (found, with) = first_line(line.as_bytes()).unwrap();
            assert_eq!((found, with), (program, options.into_iter().map(str::to_owned).collect()));
        }
        assert_eq!(Language::of_program("python3.12"), Some(Language::Python));
        assert!(matches!(
            refused("x.py", b"#!/usr/bin/perl\n"),
            NoInterpreter::Unsupported { program, .. } if program == "perl"
        ));
    }

    #[test]
    fn what_is_no_script_is_refused() {
        assert!(matches!(refused("notes.md", b"# hello"), NoInterpreter::Unknown(_)));
        assert!(matches!(refused("noextension", b""), NoInterpreter::Unknown(_)));
        assert!(matches!(refused("tool", b"\x7fELF"), NoInterpreter::NotStatic(_)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_needs_a_loader_is_not_static() {
        let dynamic = std::fs::read("/proc/self/exe").unwrap();
        assert!(matches!(refused("tool", &dynamic), NoInterpreter::NotStatic(_)));
    }

    #[cfg(unix)]
    #[test]
    fn only_whole_paths_of_programs_can_be_configured() {
        for bad in ["python3", "/etc/passwd", "/no/such/program", "/usr"] {
            let named = Interpreters::default().name(Language::Python, Path::new(bad));
            assert!(matches!(named, Err(NoInterpreter::NotAProgram(_))), "{bad}");
        }
    }
}
