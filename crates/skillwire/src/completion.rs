//! Completions of what only this machine or this program knows: labels of servers, handles of skills,
//! files of a skill, installed skills, agents, and codes of findings, and of paths beside these.
//!
//! A shell asks while the user types, so no server is asked: handles and files are those of the last
//! listings, which [`remember`] keeps in the cache folder.

#[cfg(feature = "add")]
use std::collections::BTreeSet;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    path::Path,
};

use clap_complete::{
    CompletionCandidate, PathCompleter,
    engine::{ArgValueCandidates, ArgValueCompleter, ValueCompleter},
};
use serde::{Deserialize, Serialize};
use skillwire_core::{Code, Resources};
use skillwire_trust::ServerLabel;

use crate::settings::known_skills_file;

/// The largest file that is read or written.
const MAX_BYTES: usize = 4 << 20;

/// The skills of the last listings: label, then handle, then files.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct KnownSkills(BTreeMap<String, BTreeMap<String, Vec<String>>>);

impl KnownSkills {
    fn read() -> Self {
        let Some(file) = known_skills_file() else { return Self::default() };
        let small = fs::metadata(&file).is_ok_and(|facts| facts.len() <= MAX_BYTES as u64);
        let bytes = if small { fs::read(file).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// Completes the handle of a skill.
pub(crate) fn handles() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let known = KnownSkills::read();
        known.0.into_values().flat_map(BTreeMap::into_keys).map(CompletionCandidate::new).collect()
    })
}

/// Completes the label of a server.
pub(crate) fn labels() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        #[cfg(feature = "host")]
        if let Ok(configured) = crate::settings::HostSettings::resolve()
            && let Ok(configured) = configured.servers().load()
        {
            let labels = configured.servers.into_keys();
            return labels.map(|label| CompletionCandidate::new(label.to_string())).collect();
        }
        Vec::new()
    })
}

/// Completes the name of an installed skill.
pub(crate) fn installed() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        #[cfg(feature = "add")]
        if let Ok(settings) = crate::settings::HostSettings::resolve()
            && let Ok(installed) =
                crate::commands::install::state::InstallState::new(&settings).load()
        {
            // One skill may be installed for the user and in projects.
            let names: BTreeSet<_> =
                installed.skills().iter().map(|skill| skill.name.clone()).collect();
            return names.into_iter().map(CompletionCandidate::new).collect();
        }
        Vec::new()
    })
}

/// Completes an agent.
pub(crate) fn agents() -> ArgValueCandidates {
    ArgValueCandidates::new(known_agents)
}

#[cfg(feature = "setup")]
fn known_agents() -> Vec<CompletionCandidate> {
    skillwire_agents::agents()
        .iter()
        .map(|agent| CompletionCandidate::new(agent.id()).help(Some(agent.name().into())))
        .collect()
}

#[cfg(not(feature = "setup"))]
fn known_agents() -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Completes the code of a finding.
pub(crate) fn codes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        Code::ALL.iter().map(|code| CompletionCandidate::new(code.as_str())).collect()
    })
}

/// Completes a file of the skill that the command line names before.
pub(crate) fn files() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let known = KnownSkills::read();
        let named = |handle: &&String| words.iter().any(|word| word == handle.as_str());
        let skills = known.0.values().flat_map(BTreeMap::iter);
        let files = skills.filter(|(handle, _)| named(handle)).flat_map(|(_, files)| files);
        files.map(CompletionCandidate::new).collect()
    })
}

/// Completes a file, a folder or the handle of a skill.
pub(crate) fn paths_or_handles() -> ArgValueCompleter {
    beside_paths(vec![handles()])
}

/// Completes a file, a folder, the handle of a skill or the label of a server.
pub(crate) fn paths_or_labels() -> ArgValueCompleter {
    beside_paths(vec![labels(), handles()])
}

/// Completes paths, and what was named besides.
fn beside_paths(named: Vec<ArgValueCandidates>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let mut found = beginning(named.iter().flat_map(ArgValueCandidates::candidates), typed);
        found.extend(PathCompleter::any().complete(typed));
        found
    })
}

/// The candidates that begin as the user typed.
fn beginning(
    candidates: impl IntoIterator<Item = CompletionCandidate>,
    typed: &OsStr,
) -> Vec<CompletionCandidate> {
    let typed = typed.as_encoded_bytes();
    let fits = |it: &CompletionCandidate| it.get_value().as_encoded_bytes().starts_with(typed);
    candidates.into_iter().filter(fits).collect()
}

/// Completes the folder of `[PREFIX=]DIR`.
pub(crate) fn folders_after_prefix() -> ArgValueCompleter {
    after_equals(PathCompleter::dir)
}

/// Completes the file of `NAME=FILE`.
pub(crate) fn files_after_name() -> ArgValueCompleter {
    after_equals(PathCompleter::file)
}

fn after_equals(paths: fn() -> PathCompleter) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        match typed.to_str().and_then(|typed| typed.split_once('=')) {
            Some((name, path)) => paths()
                .complete(OsStr::new(path))
                .into_iter()
                .map(|candidate| candidate.add_prefix(format!("{name}=")))
                .collect(),
            None => paths().complete(typed),
        }
    })
}

/// Completes a script of the skill, and then its arguments, which often name files.
///
/// `clap_complete` counts the first argument as place 0, as it does the script. Files of this machine are
/// completed there where no file of the skill begins so.
pub(crate) fn scripts_and_paths() -> ArgValueCompleter {
    struct Words;

    impl ValueCompleter for Words {
        fn complete(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
            PathCompleter::any().complete(typed)
        }

        fn complete_at(&self, place: usize, typed: &OsStr) -> Vec<CompletionCandidate> {
            let of_skill =
                if place == 0 { beginning(files().candidates(), typed) } else { Vec::new() };
            if of_skill.is_empty() { self.complete(typed) } else { of_skill }
        }
    }

    ArgValueCompleter::new(Words)
}

/// Keeps the skills of a listing for the next completion, and forgets those of servers that are no
/// longer configured. A cache that cannot be written costs completions and nothing else.
#[cfg(feature = "host")]
pub(crate) fn remember(found: &skillwire_host::Discovered, servers: &[ServerLabel]) {
    let Some(file) = known_skills_file() else { return };
    let before = KnownSkills::read();
    let mut now = KnownSkills(before.0.clone());
    let is_server = |label: &str| servers.iter().any(|server| server.as_str() == label);
    now.0.retain(|label, _| is_server(label));
    let mut listed: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for item in found.registry.items() {
        let id = item.skill.id();
        let paths = match &item.skill.entry().resources {
            Resources::Listed(files) => files
                .iter()
                .filter_map(|file| id.uri.below(&file.uri))
                .map(|path| path.to_string())
                .collect(),
            Resources::Dynamic => Vec::new(),
        };
        let of_label = listed.entry(id.origin.label().to_owned()).or_default();
        of_label.insert(item.handle.clone(), paths);
    }
    now.0.extend(listed);
    if now != before
        && let Ok(bytes) = serde_json::to_vec(&now)
        && bytes.len() <= MAX_BYTES
    {
        let _ = replace(&file, &bytes);
    }
}

/// Replaces a file whole. Only the user can read it, as it names skills of private servers.
#[cfg(feature = "host")]
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        crate::commands::private_file::folder(folder)?;
    }
    let new = file.with_extension(format!("new-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&new)?.write_all(bytes)?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, CommandFactory as _};

    use super::*;
    use crate::args::Cli;

    /// Arguments that take a path although their value has another name.
    const PATHS: [&str; 4] = ["add source", "hub import from", "pack skill", "run command"];

    /// A path below a repository or a skill, which is not one of this machine, and what is written as a
    /// word of another kind.
    const NO_PATHS: [&str; 3] = ["add path", "load read", "show file"];

    fn takes_path(command: &str, arg: &Arg) -> bool {
        let names = arg.get_value_names().unwrap_or_default();
        let is_path = |name: &str| {
            name.split(['|', '=', '[', ']', ':'])
                .any(|word| ["PATH", "DIR", "FILE", "PROGRAM"].contains(&word))
        };
        let id = format!("{command} {}", arg.get_id()).trim_start().to_owned();
        let says_path = PATHS.contains(&id.as_str()) || names.iter().any(|name| is_path(name));
        says_path
            && !NO_PATHS.contains(&id.as_str())
            && arg.get_num_args().is_some_and(|it| it.takes_values())
    }

    /// The words before an argument's value, one list for each argument that takes a path.
    fn path_arguments(command: &Command, before: &[&str], found: &mut Vec<(String, Vec<String>)>) {
        let name = before.join(" ");
        for arg in command.get_arguments().filter(|arg| takes_path(&name, arg)) {
            let mut words: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
            let needs_equals = arg.is_require_equals_set();
            if let Some(long) = arg.get_long() {
                let equals = if needs_equals { "=" } else { "" };
                words.push(format!("--{long}{equals}"));
            } else {
                words.extend((1..arg.get_index().unwrap_or(1)).map(|_| "x".to_owned()));
            }
            // The second word of a script's line is a path; the first is a script of the skill.
            words.extend((arg.get_id() == "command" && name == "run").then(|| "x".to_owned()));
            // The word that is completed begins with this.
            if !needs_equals {
                words.push(String::new());
            }
            found.push((format!("{name} {}", arg.get_id()), words));
        }
        for inner in command.get_subcommands() {
            path_arguments(inner, &[before, &[inner.get_name()]].concat(), found);
        }
    }

    /// The tests run in the folder of this package, which has `src` and `Cargo.toml`.
    #[test]
    fn every_argument_that_takes_a_path_completes_files_and_folders() {
        let mut command = Cli::command();
        command.build();
        let mut arguments = Vec::new();
        path_arguments(&command, &[], &mut arguments);
        let ids: Vec<&str> = arguments.iter().map(|(id, _)| id.as_str()).collect();
        for id in PATHS.iter().chain(&[
            "check paths",
            "serve dirs",
            "setup source",
            "sign skill",
            "publish path",
        ]) {
            assert!(ids.contains(id), "{id} is none of {ids:?}");
        }
        for (id, mut words) in arguments {
            let start = words.pop().unwrap_or_default();
            let offers = |typed: &str, whole: &str| {
                let mut line = vec![OsString::from("skillwire")];
                line.extend(words.iter().map(OsString::from));
                line.push(format!("{start}{typed}").into());
                let place = line.len() - 1;
                let here = std::env::current_dir().unwrap();
                let found =
                    clap_complete::engine::complete(&mut Cli::command(), line, place, Some(&here));
                let whole = OsString::from(format!("{start}{whole}"));
                found.unwrap().iter().any(|candidate| candidate.get_value() == whole)
            };
            assert!(offers("sr", "src/"), "{id}: folders are not completed");
            assert!(offers("./sr", "./src/"), "{id}: folders after `./` are not completed");
        }
    }
}
