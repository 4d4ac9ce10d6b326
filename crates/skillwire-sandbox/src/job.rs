//! A job: a private copy of a skill's files, the script to run, and what is granted to it.

use std::{collections::BTreeMap, path::PathBuf};

use bytes::Bytes;
use skillwire_core::RelPath;
use skillwire_egress::NetworkDestination;

use crate::{
    arguments::ScriptArguments,
    interpreter::{InterpreterError, InterpreterFinder, ScriptInterpreter},
    limits::RunLimits,
};

/// The most files that a job may have.
const MAX_FILES: usize = 4096;

/// What a small file occupies at least, and what the size of each file is rounded up to.
const BLOCK_BYTES: u64 = 4096;

/// Variables that the sandbox sets, or that change what interpreters and loaders do. None of them
/// is a credential, so none of them can be granted.
const RESERVED_VARIABLES: [&str; 17] = [
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
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
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

/// A file of the caller, of which a script gets a copy in its working folder.
///
/// A copy that the script leaves as it was does not come back as a file of the run.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Its path in the working folder.
    pub path: RelPath,
    /// Its content.
    pub bytes: Bytes,
    /// Whether the script may change its copy in place. Other copies have read-only permissions.
    pub writable: bool,
}

/// A folder of installed packages that appears at a path in the skill.
#[derive(Debug, Clone)]
pub(crate) struct PackageFolder {
    pub(crate) at: RelPath,
    pub(crate) folder: PathBuf,
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
    pub(crate) inputs: Vec<InputFile>,
    pub(crate) packages: Vec<PackageFolder>,
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
    /// There are too many input files, or too many bytes of them.
    #[error(
        "the inputs are more than {} files or {} MiB",
        ScriptJob::MAX_INPUT_FILES,
        ScriptJob::MAX_INPUT_BYTES / (1024 * 1024)
    )]
    InputsTooLarge,
    /// Two inputs have the same path, or one has a path that another needs as a folder.
    #[error("two inputs need the path `{0}`")]
    InputCollision(String),
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

    /// The most input files that a job may have.
    pub const MAX_INPUT_FILES: usize = 4096;

    /// The most bytes that the input files of a job may have together.
    pub const MAX_INPUT_BYTES: usize = 128 * 1024 * 1024;

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
        let paths = files.iter().map(|file| &file.path);
        colliding_path(paths).map_or(Ok(()), |path| Err(InvalidJob::PathCollision(path)))?;
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
            inputs: Vec::new(),
            packages: Vec::new(),
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

    /// Gives the script copies of files in its working folder, in place of any it was given before.
    pub fn set_inputs(&mut self, inputs: Vec<InputFile>) -> Result<(), InvalidJob> {
        let bytes: usize = inputs.iter().map(|file| file.bytes.len()).sum();
        if inputs.len() > Self::MAX_INPUT_FILES || bytes > Self::MAX_INPUT_BYTES {
            return Err(InvalidJob::InputsTooLarge);
        }
        let paths = inputs.iter().map(|file| &file.path);
        colliding_path(paths).map_or(Ok(()), |path| Err(InvalidJob::InputCollision(path)))?;
        self.inputs = inputs;
        Ok(())
    }

    /// Makes a folder of installed packages readable, and lets it appear at this path in the skill,
    /// such as `node_modules`.
    pub fn add_packages(&mut self, at: RelPath, folder: PathBuf) -> Result<(), InvalidJob> {
        let paths = self.files.iter().map(|file| &file.path);
        let places = self.packages.iter().map(|packages| &packages.at);
        let all = paths.chain(places).chain(std::iter::once(&at));
        colliding_path(all).map_or(Ok(()), |path| Err(InvalidJob::PathCollision(path)))?;
        self.packages.push(PackageFolder { at, folder });
        Ok(())
    }

    /// The input files.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    /// Folders of this machine that the script can read besides the system's own.
    pub fn readable_roots(&self) -> Vec<PathBuf> {
        let program = match &self.interpreter {
            ScriptInterpreter::Program { roots, .. } => roots.as_slice(),
            ScriptInterpreter::Static => &[],
        };
        let packages = self.packages.iter().map(|packages| packages.folder.clone());
        program.iter().cloned().chain(packages).collect()
    }

    /// The limits with room for the inputs, which lie in a folder of the run beside what the script
    /// writes.
    pub(crate) fn limits_with_inputs(&self) -> RunLimits {
        let bytes = self.inputs.iter().map(|file| {
            (file.bytes.len() as u64).div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES)
        });
        let bytes = bytes.fold(0, u64::saturating_add);
        // Each folder of a path counts as well; one that several files share is counted for each.
        let entries = self.inputs.iter().map(|file| file.path.segments().count() as u64);
        let entries = entries.fold(0, u64::saturating_add);
        let mut limits = self.limits.clone();
        limits.folder_bytes =
            limits.folder_bytes.saturating_add(bytes).saturating_add(entries * BLOCK_BYTES);
        limits.folder_files = limits.folder_files.saturating_add(entries);
        limits
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

/// A path that two files have, or that one file has and another needs as a folder.
fn colliding_path<'a>(paths: impl Iterator<Item = &'a RelPath>) -> Option<String> {
    let mut paths: Vec<_> = paths.map(RelPath::as_str).collect();
    paths.sort_unstable();
    let is_file = |path: &str| paths.binary_search(&path).is_ok();
    let twice = paths.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let needed_as_folder = || {
        paths.iter().find_map(|path| {
            let mut parents = path.match_indices('/').map(|(at, _)| &path[..at]);
            parents.find(|parent| is_file(parent))
        })
    };
    twice.or_else(needed_as_folder).map(|path| path.escape_debug().to_string())
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
    fn inputs_are_bounded_and_never_in_each_others_way() {
        let mut job = job(vec![file("run.sh", "")], "run.sh").unwrap();
        let input = |path: &str, bytes: Bytes| InputFile {
            path: RelPath::parse(path).unwrap(),
            bytes,
            writable: false,
        };
        let collide = vec![input("a", Bytes::new()), input("a/b", Bytes::new())];
        assert_eq!(job.set_inputs(collide), Err(InvalidJob::InputCollision("a".to_owned())));
        let many = (0..=ScriptJob::MAX_INPUT_FILES).map(|n| input(&n.to_string(), Bytes::new()));
        assert_eq!(job.set_inputs(many.collect()), Err(InvalidJob::InputsTooLarge));
        let mebibyte = Bytes::from(vec![0; 1024 * 1024]);
        let large = (0..=ScriptJob::MAX_INPUT_BYTES / mebibyte.len())
            .map(|n| input(&n.to_string(), mebibyte.clone()));
        assert_eq!(job.set_inputs(large.collect()), Err(InvalidJob::InputsTooLarge));
        job.set_inputs(vec![input("a/b", mebibyte)]).unwrap();
        let room = job.limits_with_inputs().folder_bytes - job.limits().folder_bytes;
        assert_eq!(room, 1024 * 1024 + 2 * BLOCK_BYTES);
        assert!(job.add_packages(RelPath::parse("run.sh").unwrap(), "/x".into()).is_err());
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
