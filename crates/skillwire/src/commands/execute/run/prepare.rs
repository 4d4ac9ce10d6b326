//! Puts the job of `run` together: the skill, the user's files, and what is granted.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use skillwire_core::{Digest, RelPath, Resources};
use skillwire_host::Window;
use skillwire_sandbox::{JobFile, RunLimits, ScriptArguments, ScriptJob};
use skillwire_scripts::{DeclarationError, InputError, InputSource, UserInputs};
use skillwire_trust::{
    InvalidRunGrant, MemoryLimit, Reason, Refusal, RunGrants, RunRequest, TimeLimit,
};

use super::{
    choosing,
    environment::{self, RunEnvironment},
};
use crate::{args::RunArgs, execution, exit::Exit, failure::Failure, refusals, settings};

/// The most bytes of standard input that are passed on.
const MAX_STDIN: u64 = 1024 * 1024;

/// A job that can be run, and what the user is told about it.
pub(super) struct PreparedRun {
    pub(super) job: ScriptJob,
    /// The digest of the script.
    pub(super) digest: Digest,
    pub(super) inputs: UserInputsSummary,
    pub(super) edits: Vec<EditedFile>,
    /// Sentences about packages that are not there.
    pub(super) notes: Vec<String>,
}

/// What was copied for the script.
pub(super) struct UserInputsSummary {
    pub(super) sources: Vec<InputSource>,
    /// Words that name a folder of the user that was not copied.
    pub(super) folders_in_words: Vec<String>,
}

/// A file that the script may change.
pub(super) struct EditedFile {
    /// Its path in the working folder.
    pub(super) name: String,
    /// The user's file, which may not exist yet.
    pub(super) target: PathBuf,
}

/// Fetches every file through the window, each compared with the manifest, and puts a job together.
pub(super) async fn prepare(args: &RunArgs, window: &Window) -> Result<PreparedRun, Failure> {
    let script = RelPath::parse(args.script())
        .map_err(|error| Failure::usage(format!("The script's path {error}.")))?;
    let paths = window.paths();
    if !paths.contains(&script) {
        return Err(choosing::unknown(&script, &paths));
    }
    let files = skill_files(window).await?;
    let digest = files.iter().find(|file| file.path == script).map(|file| Digest::of(&file.bytes));
    let (inputs, edits, words) = inputs(args, &files)?;
    let summary = UserInputsSummary {
        sources: inputs.sources().to_vec(),
        folders_in_words: inputs.folders_in_words().to_vec(),
    };
    let stdin = if args.stdin { read_stdin()? } else { Vec::new() };
    let arguments = ScriptArguments::from_words(words, stdin)
        .map_err(|error| Failure::usage(execution::sentence(&error.to_string())))?;
    let declarations = window.entry().frontmatter.script_declarations();
    skillwire_scripts::check_declared_words(declarations, &files, &script, arguments.words())
        .map_err(|error| unfitting(args, &error))?;
    let RunEnvironment { interpreters, packages, notes } =
        environment::choose(args, &script, &files)?;
    let not_run = |error: skillwire_sandbox::InvalidJob| execution::not_run(&error.into());
    let mut job = ScriptJob::new(files, script, arguments, &interpreters).map_err(not_run)?;
    job.set_inputs(inputs.into_files()).map_err(not_run)?;
    if let Some((at, folder)) = packages {
        job.add_packages(at, folder).map_err(not_run)?;
    }
    let grants = window.grants_for_run(&request(args)?)?;
    grant(args, &grants, &mut job)?;
    job.set_limits(limits(args, &grants));
    // `ScriptJob::new` found the script among the files.
    let digest = digest.unwrap_or_else(|| Digest::of(b""));
    Ok(PreparedRun { job, digest, inputs: summary, edits, notes })
}

fn unfitting(args: &RunArgs, error: &DeclarationError) -> Failure {
    let failure = Failure::usage(execution::sentence(&error.to_string()));
    match error {
        DeclarationError::Arguments(_) => failure.hint(format!(
            "`skillwire run {} {} --help` asks the script itself what it takes.",
            refusals::argument(&args.handle),
            refusals::argument(args.script())
        )),
        _ => failure,
    }
}

/// What the user wants for this run, of what the skill was granted.
fn request(args: &RunArgs) -> Result<RunRequest, Failure> {
    let invalid = |error: InvalidRunGrant| Failure::usage(execution::sentence(&error.to_string()));
    let mebibytes = |bytes: u64| MemoryLimit::from_mebibytes(bytes.div_ceil(1 << 20));
    let memory = args.memory.map(mebibytes).transpose().map_err(invalid)?;
    let time = args.time.map(TimeLimit::from_seconds).transpose().map_err(invalid)?;
    let mut request = RunRequest::default().memory(memory).time(time);
    if !args.network.is_empty() {
        request = request.network(args.network.iter().cloned());
    }
    if !args.env.is_empty() {
        request = request.env(args.env.iter().cloned());
    }
    Ok(request)
}

/// Gives a job the variables and destinations that were granted.
fn grant(args: &RunArgs, grants: &RunGrants, job: &mut ScriptJob) -> Result<(), Failure> {
    for name in &grants.env {
        match settings::variable(name.as_str()) {
            Some(value) => job
                .grant_variable(name.as_str(), value)
                .map_err(|error| execution::not_run(&error.into()))?,
            // A variable that is granted once and not set today is only missed by name.
            None if args.env.contains(name) => {
                return Err(Failure::usage(format!("The variable `{name}` is not set."))
                    .hint("Set it, or leave `--env` out."));
            }
            None => {}
        }
    }
    for destination in &grants.network {
        job.grant_destination(execution::destination(&destination.to_string())?);
    }
    Ok(())
}

async fn skill_files(window: &Window) -> Result<Vec<JobFile>, Failure> {
    let Resources::Listed(listed) = &window.entry().resources else {
        // `may_run_scripts` has refused these before.
        return Err(Refusal::new(Reason::NotGranted).about(window.skill()).into());
    };
    let mut files = Vec::with_capacity(listed.len());
    for file in listed {
        let path = window.skill().uri.below(&file.uri).ok_or_else(|| {
            Refusal::new(Reason::PathOutsideSkill).about(window.skill()).file(&file.uri)
        })?;
        let content = window.read(path.as_str()).await?;
        files.push(JobFile { path, bytes: content.bytes().clone() });
    }
    Ok(files)
}

/// Reads the user's files that are named by options and by the script's words. Returns the words as
/// the script gets them, too.
fn inputs(
    args: &RunArgs,
    skill: &[JobFile],
) -> Result<(UserInputs, Vec<EditedFile>, Vec<String>), Failure> {
    let base = std::env::current_dir()
        .map_err(|error| Failure::usage("The current folder cannot be found.").because(error))?;
    let mut inputs = UserInputs::new(&base);
    for input in &args.input {
        let (path, name) = named_input(&base, input);
        inputs.add(path, name, false).map_err(|error| refused_input(error, false))?;
    }
    let edits = args.edit.iter().map(|path| edited(&mut inputs, &base, path));
    let edits = edits.collect::<Result<Vec<_>, _>>()?;
    let words = if args.no_auto_input {
        args.words().to_vec()
    } else {
        inputs.add_words(args.words()).map_err(|error| refused_input(error, true))?
    };
    // Documents of skills name their own files by the path from the skill's top.
    for word in &words {
        if let Some(file) = skill.iter().find(|file| file.path.as_str() == word) {
            inputs.add_read(file.path.clone(), file.bytes.clone());
        }
    }
    Ok((inputs, edits, words))
}

/// Splits `PATH:NAME`. A path that exists may have a colon itself.
fn named_input<'a>(base: &Path, input: &'a str) -> (&'a str, Option<&'a str>) {
    match input.rsplit_once(':') {
        Some((path, name)) if !base.join(input).exists() => (path, Some(name)),
        _ => (input, None),
    }
}

/// Gives the script a copy that it may change. A file that does not exist yet is made by the script.
fn edited(inputs: &mut UserInputs, base: &Path, path: &str) -> Result<EditedFile, Failure> {
    let target = base.join(path);
    if !target.exists() {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        let is_plain = RelPath::parse(path).is_ok();
        let name = if is_plain { Some(path) } else { name };
        let name = name.ok_or_else(|| {
            Failure::usage(format!("`--edit {path}` does not name a file.")).hint("Name a file.")
        })?;
        return Ok(EditedFile { name: name.to_owned(), target });
    }
    inputs.add(path, None, true).map_err(|error| refused_input(error, false))?;
    let source = inputs.sources().last();
    let source = source.filter(|source| source.real.is_file()).ok_or_else(|| {
        Failure::usage(format!("`--edit {path}` does not name a file."))
            .hint("Name each file that the script may change.")
    })?;
    Ok(EditedFile { name: source.name.clone(), target: source.real.clone() })
}

fn refused_input(error: InputError, is_word: bool) -> Failure {
    let hint = match &error {
        InputError::LinkOut { target, .. } => {
            format!("Name the file itself: `--input {target}`.")
        }
        InputError::Name { .. } | InputError::Twice(_) => {
            "Give it another name: `--input PATH:NAME`.".to_owned()
        }
        InputError::TooLarge(_) => "Give the script less, or a smaller folder.".to_owned(),
        _ if is_word => {
            "`--no-auto-input` passes arguments on without looking for files.".to_owned()
        }
        _ => "Name a file or folder that you can read.".to_owned(),
    };
    let exit = if matches!(error, InputError::TooLarge(_)) { Exit::Declined } else { Exit::Usage };
    Failure::new(exit, "An input cannot be given to the script.").because(error).hint(hint)
}

fn limits(args: &RunArgs, grants: &RunGrants) -> RunLimits {
    let mut limits = RunLimits::default().with_memory_bytes(grants.memory_limit().bytes());
    if let Some(time) = grants.time {
        limits = limits.with_wall_time(time.duration()).with_cpu_time(time.duration());
    }
    if let Some(cpu) = args.cpu {
        limits.cpu_time = Duration::from_secs(cpu);
    }
    if let Some(disk) = args.disk {
        limits.folder_bytes = disk;
    }
    if let Some(files) = args.files {
        limits.folder_files = files;
    }
    // The user asked for the files, so all that the folder may hold are returned.
    limits.output_files = usize::try_from(limits.folder_files).unwrap_or(usize::MAX);
    limits
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage("Standard input cannot be read.").because(error))?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(Failure::usage("Standard input is longer than a megabyte.")
            .hint("Give the script a file: `--input FILE`."));
    }
    Ok(bytes)
}
