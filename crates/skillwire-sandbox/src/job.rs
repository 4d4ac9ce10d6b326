//! What is to be run: a private copy of verified files, a script among them, and what it is given.

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;
use skillwire_core::path::RelPath;

use crate::{
    arguments::Arguments,
    interpreter::{Interpreter, Interpreters, NoInterpreter},
    limits::Limits,
};

/// The most files that are copied for a run.
const MAX_FILES: usize = 4096;

/// Variables that change what interpreters and loaders do, and are therefore no credentials.
const RESERVED: [&str; 13] = [
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

/// A file of the skill, as it was verified.
#[derive(Debug, Clone)]
pub struct JobFile {
    /// Where it lies in the skill.
    pub path: RelPath,
    /// What it holds.
    pub bytes: Bytes,
}

/// A script to run, with everything it will see.
#[derive(Debug, Clone)]
pub struct Job {
    pub(crate) files: Vec<JobFile>,
    pub(crate) script: RelPath,
    pub(crate) interpreter: Interpreter,
    pub(crate) arguments: Arguments,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) network: Vec<Destination>,
    pub(crate) limits: Limits,
}

/// Why something cannot be run; it is no fault of the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJob {
    /// The script is not one of the files.
    #[error("the skill has no file `{0}`")]
    NoSuchScript(String),
    /// There are bounds.
    #[error("the skill has more than {MAX_FILES} files or {} bytes", Job::MAX_BYTES)]
    TooLarge,
    /// Two files would lie at one place.
    #[error("the skill's file `{0}` is in the way of another one")]
    Colliding(String),
    /// Nothing runs it.
    #[error(transparent)]
    Interpreter(#[from] NoInterpreter),
    /// A variable cannot be granted.
    #[error("the variable `{}` cannot be granted", .0.escape_debug())]
    Variable(String),
}

impl Job {
    /// The most bytes that are copied for a run.
    pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

    /// Puts a job together; nothing is granted, and the default limits hold.
    pub fn new(
        files: Vec<JobFile>,
        script: RelPath,
        arguments: Arguments,
        interpreters: &Interpreters,
    ) -> Result<Self, InvalidJob> {
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if files.len() > MAX_FILES || bytes > Self::MAX_BYTES {
            return Err(InvalidJob::TooLarge);
        }
        check_places(&files)?;
        let content = files.iter().find(|file| file.path == script);
        let content = content
            .ok_or_else(|| InvalidJob::NoSuchScript(script.as_str().escape_debug().to_string()))?;
        let interpreter = interpreters.find(&script, &content.bytes)?;
        let (environment, network, limits) = Default::default();
        Ok(Self { files, script, interpreter, arguments, environment, network, limits })
    }

    /// Grants a variable of the environment.
    pub fn grant_variable(&mut self, name: &str, value: String) -> Result<(), InvalidJob> {
        let word = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let steers = ["LD_", "PYTHON", "NODE_", "GLIBC_", "BASH_FUNC"];
        let reserved = RESERVED.contains(&name) || steers.iter().any(|p| name.starts_with(p));
        if !word || reserved || value.contains('\0') {
            return Err(InvalidJob::Variable(name.chars().take(64).collect()));
        }
        self.environment.insert(name.to_owned(), value);
        Ok(())
    }

    /// Grants connections to a destination, through a proxy that knows no other.
    pub fn grant_destination(&mut self, destination: Destination) {
        self.network.push(destination);
    }

    /// Sets other limits than the default ones.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What the script will be started with.
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// The bounds that hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The names of the granted variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.environment.keys().map(String::as_str)
    }

    /// The granted destinations.
    pub fn destinations(&self) -> &[Destination] {
        &self.network
    }
}

/// Refuses two files at one path, and a file where another one needs a directory.
fn check_places(files: &[JobFile]) -> Result<(), InvalidJob> {
    let mut paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    let taken = |path: &str| paths.binary_search(&path).is_ok();
    let twice = paths.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let inside = || {
        let parents =
            |path: &'_ str| -> Vec<usize> { path.match_indices('/').map(|(at, _)| at).collect() };
        paths.iter().find_map(|path| {
            parents(path).into_iter().map(|at| &path[..at]).find(|parent| taken(parent))
        })
    };
    match twice.or_else(inside) {
        None => Ok(()),
        Some(path) => Err(InvalidJob::Colliding(path.escape_debug().to_string())),
    }
}

/// A host and a port that a script may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    host: String,
    port: u16,
}

/// A text that names no host and port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not of the form `HOST:PORT`", .0.escape_debug())]
pub struct InvalidDestination(String);

impl Destination {
    /// Reads `HOST:PORT`, the host a name or an address; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        let invalid = || InvalidDestination(text.chars().take(256).collect());
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let fits = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')),
        };
        if host.is_empty() || host.len() > 253 || !fits {
            return Err(invalid());
        }
        Ok(Self { host: bare.unwrap_or(host).to_ascii_lowercase(), port })
    }

    /// The host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &'static str) -> JobFile {
        JobFile { path: RelPath::parse(path).unwrap(), bytes: Bytes::from_static(bytes.as_bytes()) }
    }

    fn job(files: Vec<JobFile>, script: &str) -> Result<Job, InvalidJob> {
        let arguments = Arguments::typed(Vec::new(), Vec::new()).unwrap();
        Job::new(files, RelPath::parse(script).unwrap(), arguments, &Interpreters::default())
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
            assert!(matches!(job(files, "x"), Err(InvalidJob::Colliding(_))));
        }
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

    #[test]
    fn destinations_are_one_host_and_one_port() {
        assert_eq!(Destination::parse("API.example.com:443").unwrap().host(), "api.example.com");
        assert_eq!(Destination::parse("[::1]:80").unwrap().to_string(), "[::1]:80");
        for bad in ["", "host", ":80", "host:0", "host:99999", "*:80", "a b:1", "u@h:1", "::1:80"] {
            assert!(Destination::parse(bad).is_err(), "{bad}");
        }
    }
}
