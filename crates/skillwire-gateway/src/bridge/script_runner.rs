//! What a bridge needs to run scripts. The bridge decides whether a script may run, and with what;
//! how it is isolated is not its business.

use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use skillwire_core::{Digest, RelPath};
use skillwire_engine::offer::Linked;
use skillwire_trust::{InputPath, Refusal, RunGrants, SkillId};
use tokio::sync::mpsc;

/// Runs scripts of approved skills in isolation, for a bridge.
pub trait BridgeScripts: Send + Sync {
    /// Finds the file or folder of the user that a model names, with links resolved. The error is a
    /// sentence for the model.
    fn resolve_input(&self, path: &str) -> Result<InputPath, String>;

    /// Runs a script; dropping the future ends it.
    fn run(&self, script: BridgeScript) -> BoxFuture<'static, Result<ScriptResult, ScriptFailure>>;

    /// Says on one line which arguments the skill's file of declarations names for a script, if any.
    fn describe_arguments(&self, _declarations: &[u8], _script: &RelPath) -> Option<String> {
        None
    }

    /// Names the files of a skill that can say which packages a script needs.
    fn package_lists(&self, _script: &RelPath) -> Vec<RelPath> {
        Vec::new()
    }

    /// Resolves the packages that a script lists and that are not installed. Gets those of the files
    /// that [`package_lists`](Self::package_lists) named that the skill has. Installs nothing.
    fn missing_packages(
        &self,
        _script: RelPath,
        _files: Vec<(RelPath, Bytes)>,
    ) -> BoxFuture<'static, Option<MissingPackages>> {
        std::future::ready(None).boxed()
    }

    /// Returns a file that a run left and that its result linked to.
    fn output(&self, uri: &str) -> Option<Linked>;
}

/// Packages that a script lists and does not have.
pub struct MissingPackages {
    /// The file of the skill that lists them.
    pub file: String,
    /// Each with its version.
    pub packages: Vec<String>,
    /// The digest of the whole list, with the digests of what would be installed.
    pub digest: Digest,
    /// Installs exactly these. The error is a sentence for the model.
    pub install: Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
}

/// A script that may run, and what it gets.
pub struct BridgeScript {
    /// The skill that it belongs to.
    pub skill: SkillId,
    /// Reads all files of the skill, each compared with what the user approved. They are read when
    /// it is the script's turn.
    pub files: BoxFuture<'static, Result<Vec<(RelPath, Bytes)>, Refusal>>,
    /// The path of the script.
    pub script: RelPath,
    /// The file of the skill that declares the arguments of its scripts, if there is one.
    pub declarations: Option<String>,
    /// Its arguments.
    pub words: Vec<String>,
    /// What the user granted to this run. Its `inputs` are the files to copy in.
    pub grants: RunGrants,
    /// Takes reports on the run. A report that finds no room is dropped.
    pub reports: mpsc::Sender<ScriptReport>,
}

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptReport {
    /// A number that grows from report to report.
    pub done: u64,
    /// What the client shows: what the script wrote since the last report, or that it waits.
    pub text: String,
}

/// A script that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptResult {
    /// Sentences on how it ended.
    pub summary: String,
    /// Blocks of content: what it wrote, and links to the files that it left.
    pub content: Vec<Value>,
    /// Whether it failed.
    pub is_error: bool,
    /// The record of the run for the audit log, on one line.
    pub record: String,
}

/// Why a script did not run.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptFailure {
    /// The host refused, for example because a file is not what the user approved.
    Refused(Box<Refusal>),
    /// The script cannot be run, for the reason in this sentence.
    NotRun(String),
}
