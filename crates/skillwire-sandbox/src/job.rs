//! A job: a private copy of a skill's files, the script to run, and what is granted to it.

use std::collections::BTreeMap;

use bytes::Bytes;
use skillwire_core::RelPath;

use crate::{
    arguments::ScriptArguments,
    destination::NetworkDestination,
    interpreter::{InterpreterError, InterpreterFinder, ScriptInterpreter},
    limits::RunLimits,
};

/// The most files that a job may have.
const MAX_FILES: usize = 4096;

/// Variables that the sandbox sets, or that change what interpreters and loaders do. None of them
/// is a credential, so none of them can be granted.
const RESERVED_VARIABLES: [&str; 13] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_CTYPE",
    "SKILL_DIR",
    "OUTPUT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "BASH_ENV",
    "ENV",
];

/// Beginnings of variables that make a loader or interpreter run other code than the script.
const RESERVED_PREFIXES: [&str; 5] = ["LD_", "PYTHON", "NODE_", "GLIBC_", "BASH_FUNC"];

/// A file of the skill. The caller has verified its bytes.
#[derive(Debug, Clone)]
pub struct JobFile {
    /// Its path in the skill.
    pub path: RelPath,
    /// Its content.
    pub bytes: Bytes,
}

/// A script to run, with everything that it will see.
#[derive(Debug, Clone)]
pub struct ScriptJob {
    pub(crate) files: Vec<JobFile>,
    pub(crate) script: RelPath,
    pub(crate) interpreter: ScriptInterpreter,
    pub(crate) arguments: ScriptArguments,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) destinations: Vec<NetworkDestination>,
    pub(crate) limits: RunLimits,
}

/// Why a job cannot be put together, whatever the machine can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJob {
    /// The script is not one of the files.
    #[error("the skill has no file `{0}`")]
    NoSuchScript(String),
    /// The skill has too many files, or too many bytes.
    #[error("the skill has more than {MAX_FILES} files or {} bytes", ScriptJob::MAX_BYTES)]
    TooLarge,
    /// Two files have the same path, or one has a path that another needs as a folder.
    #[error("two files of the skill need the path `{0}`")]
    PathCollision(String),
    /// No interpreter can run the script.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// A variable cannot be granted.
    #[error("the variable `{}` cannot be granted to a script", .0.escape_debug())]
    Variable(String),
}

impl ScriptJob {
    /// The most bytes that the files of a job may have together.
    pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

    /// Puts a job together that is granted nothing and has the default limits.
    pub fn new(
        files: Vec<JobFile>,
        script: RelPath,
        arguments: ScriptArguments,
        interpreters: &InterpreterFinder,
    ) -> Result<Self, InvalidJob> {
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if files.len() > MAX_FILES || bytes > Self::MAX_BYTES {
            return Err(InvalidJob::TooLarge);
        }
        check_paths(&files)?;
        let content = files.iter().find(|file| file.path == script);
        let content = content
            .ok_or_else(|| InvalidJob::NoSuchScript(script.as_str().escape_debug().to_string()))?;
        let interpreter = interpreters.find(&script, &content.bytes)?;
        Ok(Self {
            files,
            script,
            interpreter,
            arguments,
            environment: BTreeMap::new(),
            destinations: Vec::new(),
            limits: RunLimits::default(),
        })
    }

    /// Grants an environment variable.
    pub fn grant_variable(&mut self, name: &str, value: String) -> Result<(), InvalidJob> {
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_reserved = RESERVED_VARIABLES.contains(&name)
            || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if !is_name || is_reserved || value.contains('\0') {
            return Err(InvalidJob::Variable(name.chars().take(64).collect()));
        }
        self.environment.insert(name.to_owned(), value);
        Ok(())
    }

    /// Grants connections to a destination, through a proxy that refuses every destination that was
    /// not granted.
    pub fn grant_destination(&mut self, destination: NetworkDestination) {
        self.destinations.push(destination);
    }

    /// Replaces the limits.
    pub fn set_limits(&mut self, limits: RunLimits) {
        self.limits = limits;
    }

    /// The script's path in the skill.
    pub fn script(&self) -> &RelPath {
        &self.script
    }

    /// What the script will be started with.
    pub fn interpreter(&self) -> &ScriptInterpreter {
        &self.interpreter
    }

    /// The limits that apply to the run.
    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// The names of the granted variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.environment.keys().map(String::as_str)
    }

    /// The granted destinations.
    pub fn destinations(&self) -> &[NetworkDestination] {
        &self.destinations
    }
}

/// Refuses two files at one path, and a file at a path that another file needs as a folder.
fn check_paths(files: &[JobFile]) -> Result<(), InvalidJob> {
    let mut paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    let is_file = |path: &str| paths.binary_search(&path).is_ok();
    let twice = paths.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let needed_as_folder = || {
        paths.iter().find_map(|path| {
            let mut parents = path.match_indices('/').map(|(at, _)| &path[..at]);
            parents.find(|parent| is_file(parent))
        })
    };
    match twice.or_else(needed_as_folder) {
        None => Ok(()),
        Some(path) => Err(InvalidJob::PathCollision(path.escape_debug().to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &'static str) -> JobFile {
        JobFile { path: RelPath::parse(path).unwrap(), bytes: Bytes::from_static(bytes.as_bytes()) }
    }

    fn job(files: Vec<JobFile>, script: &str) -> Result<ScriptJob, InvalidJob> {
        let arguments = ScriptArguments::from_words(Vec::new(), Vec::new()).unwrap();
        ScriptJob::new(
            files,
            RelPath::parse(script).unwrap(),
            arguments,
            &InterpreterFinder::default(),
        )
    }

    #[test]
    fn only_a_file_of_the_skill_can_be_run() {
        let refused = job(vec![file("SKILL.md", "")], "run.sh").unwrap_err();
        assert_eq!(refused, InvalidJob::NoSuchScript("run.sh".to_owned()));
    }

    #[test]
    fn files_in_each_others_way_are_refused() {
        for files in [vec!["a", "a"], vec!["a", "a/b"], vec!["a/b/c", "x", "a/b"]] {
            let files = files.into_iter().map(|path| file(path, "")).collect();
            assert!(matches!(job(files, "x"), Err(InvalidJob::PathCollision(_))));
        }
    }

    #[test]
    fn a_skill_with_too_many_files_or_bytes_is_refused() {
        let many = (0..=MAX_FILES).map(|n| file(&n.to_string(), "")).collect();
        assert_eq!(job(many, "0").unwrap_err(), InvalidJob::TooLarge);
        let mebibyte = Bytes::from(vec![0; 1024 * 1024]);
        let large = (0..=ScriptJob::MAX_BYTES / mebibyte.len())
            .map(|n| JobFile { bytes: mebibyte.clone(), ..file(&n.to_string(), "") })
            .collect();
        assert_eq!(job(large, "0").unwrap_err(), InvalidJob::TooLarge);
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_steer_interpreters_cannot_be_granted() {
        let mut job = job(vec![file("run.sh", "")], "run.sh").unwrap();
        job.grant_variable("API_TOKEN", "secret".to_owned()).unwrap();
        for name in ["", "1A", "A B", "A=B", "PATH", "LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS"] {
            assert!(job.grant_variable(name, String::new()).is_err(), "{name}");
        }
        assert!(job.grant_variable("A", "x\0".to_owned()).is_err());
        assert_eq!(job.variables().collect::<Vec<_>>(), ["API_TOKEN"]);
    }
}
