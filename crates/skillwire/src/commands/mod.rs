//! One file for each command. Commands that need an optional feature are in the folder of that
//! feature.

#[cfg(feature = "bridge")]
mod bridge;
mod check;
mod convert;
#[cfg(feature = "execute")]
mod execute;
mod file_stamps;
mod generate;
#[cfg(feature = "host")]
pub(crate) mod host;
#[cfg(feature = "hub")]
mod hub;
#[cfg(feature = "add")]
pub(crate) mod install;
#[cfg(feature = "editor")]
mod lsp;
mod manifest;
mod new;
mod one_skill;
mod output_folder;
mod pack;
#[cfg(any(feature = "host", feature = "hub", feature = "sign"))]
pub(crate) mod private_file;
mod restart_keys;
#[cfg(feature = "scan")]
pub(crate) mod scan;
mod serve;
#[cfg(feature = "setup")]
mod setup;
#[cfg(feature = "sign")]
mod sign;
#[cfg(all(feature = "host", feature = "page"))]
mod ui;
mod unpack;
mod watch;

use std::io::Write;

use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{Cli, Command, KeyCommand},
    exit::{Exit, ExitStatus},
    failure::Failure,
    prose,
};

/// The result of a command: its exit code, or why it stopped.
pub(crate) type Outcome = Result<Exit, Failure>;

/// Runs the command that the user typed and returns its exit code.
pub(crate) fn run() -> ExitStatus {
    // A shell that completes a command line sets a variable, and this ends the program.
    clap_complete::CompleteEnv::with_factory(Cli::command).var(generate::COMPLETE).complete();
    let parsed = Cli::command().try_get_matches();
    let parsed = parsed.and_then(|typed| Ok((Cli::from_arg_matches(&typed)?, typed)));
    let (cli, typed) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // clap reports `--help` and `--version` as errors, too. A closed pipe is ignored.
            let error = with_fitting_tip(with_best_first(error));
            let _ = error.print();
            let is_run = std::env::args_os().nth(1).is_some_and(|name| name == RUN);
            return own_exit(is_run, if error.use_stderr() { Exit::Usage } else { Exit::Ok });
        }
    };
    let name = typed.subcommand_name().unwrap_or_default();
    let is_run = name == RUN;
    let outcome = cli.command.check_built_in(name).and_then(|()| dispatch(cli.command));
    outcome.unwrap_or_else(|failure| {
        let exit = failure.exit();
        if !failure.is_silent() {
            // If standard error is closed as well, there is no other place to report to.
            let _ = writeln!(prose::stderr(), "{}", failure.or_usual_hint());
        }
        own_exit(is_run, exit)
    })
}

/// Puts the command that the user most likely meant first: clap begins with the least similar one, and
/// offers other names of a command as well.
fn with_best_first(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::Strings(found)) = error.get(ContextKind::SuggestedSubcommand) else {
        return error;
    };
    let command = Cli::command();
    let is_alias = |name: &str| {
        command.get_subcommands().any(|known| known.get_all_aliases().any(|alias| alias == name))
    };
    let own: Vec<String> = found.iter().rev().filter(|name| !is_alias(name)).cloned().collect();
    if !own.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(own));
    }
    error
}

/// Replaces the tip to write `-- --option` where that would make the option the program of a server, or
/// where the value belongs there without an option.
fn with_fitting_tip(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).cloned() else {
        return error;
    };
    let place = option.trim_start_matches('-').to_uppercase();
    let is_place = [format!("<{place}>"), format!("[{place}]")].iter().any(|it| usage.contains(it));
    let tip = format!("write the {place} without `{option}`");
    if is_place {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    } else if usage.contains("[-- <") {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// The command whose exit code is that of another program.
const RUN: &str = "run";

/// The exit code of a command that ended for a reason of its own.
fn own_exit(is_run: bool, exit: Exit) -> ExitStatus {
    if is_run { ExitStatus::beside_scripts(exit) } else { exit.into() }
}

/// Runs another command, with the words that a user would type after the program's name.
#[cfg(feature = "add")]
fn run_typed(words: &[&str]) -> Outcome {
    use clap::Parser as _;
    let typed = std::iter::once(&"skillwire").chain(words);
    let cli = Cli::try_parse_from(typed)
        .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    match cli.command {
        Command::Host(command) => host::run(&command),
        other => Err(Failure::new(Exit::Internal, format!("{other:?} cannot be run here."))),
    }
}

fn dispatch(command: Command) -> Result<ExitStatus, Failure> {
    let outcome = match command {
        Command::New(args) => new::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Manifest(args) => manifest::run(&args),
        Command::Serve(args) => serve::run(*args),
        Command::Pack(args) => pack::run(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::manual(&args),
        #[cfg(feature = "add")]
        Command::Add(args) => install::add::run(&args),
        #[cfg(feature = "add")]
        Command::Update(args) => install::update::run(&args),
        #[cfg(feature = "add")]
        Command::Remove(args) => install::remove::run(&args),
        #[cfg(feature = "add")]
        Command::Sync(args) => install::sync::run(&args),
        #[cfg(feature = "host")]
        Command::Host(command) => host::run(&command),
        #[cfg(feature = "hub")]
        Command::Hub(command) => hub::run(&command),
        #[cfg(feature = "hub")]
        Command::Publish(args) => hub::publish::run(&args),
        #[cfg(feature = "hub")]
        Command::Login(args) => hub::login::run(&args),
        #[cfg(feature = "scan")]
        Command::Scan(args) => scan::run(&args),
        #[cfg(feature = "editor")]
        Command::Lsp(_) => lsp::run(),
        Command::Unpack(args) => unpack::run(&args),
        Command::Convert(args) => convert::run(&args),
        #[cfg(feature = "bridge")]
        Command::Bridge(args) => bridge::run(&args),
        #[cfg(feature = "setup")]
        Command::Setup(args) => setup::run(&args),
        #[cfg(all(feature = "host", feature = "page"))]
        Command::Ui(args) => ui::run(&args),
        #[cfg(all(feature = "host", feature = "execute"))]
        Command::Run(args) => return execute::run::run(&args),
        #[cfg(feature = "execute")]
        Command::Doctor(args) => execute::doctor::run(&args),
        #[cfg(feature = "sign")]
        Command::Key(KeyCommand::New(args)) => sign::key::run(&args),
        #[cfg(feature = "sign")]
        Command::Sign(args) => sign::run(&args),
        #[cfg(feature = "sign")]
        Command::VerifySignature(args) => sign::verify::run(&args),
        #[cfg(not(feature = "full"))]
        missing => unreachable!("{missing:?} was refused, as it is not built in"),
    };
    outcome.map(ExitStatus::from)
}
