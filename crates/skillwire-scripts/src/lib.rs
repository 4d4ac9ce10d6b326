//! Runs scripts of served skills: which may run, with what, and what happens to their output.
//!
//! This crate never knows how a script is isolated, and over which transport a client asked for it.
//!
//! [`ScriptRunner`] runs a script of a published skill in a [`Sandbox`], if an [`ExecutionRule`] of
//! the operator allows it. [`RunScriptTool`] offers that to every client as the tool
//! `run_skill_script`, and [`SkillsPageScripts`] as the method `skills/execute` to clients that
//! know it. Files that a script leaves behind are kept for a while in an [`OutputStore`].
//!
//! ```
//! use skillwire_scripts::{ExecutionRule, ExecutionRules, PathPatterns, RelPath, RunLimits};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let patterns = PathPatterns::parse(["refunds/scripts/*.py"])?;
//! let limits = RunLimits::default().with_memory_bytes(64 * 1024 * 1024);
//! let rules = ExecutionRules::new(vec![ExecutionRule::new(patterns).with_limits(limits)]);
//!
//! let rule = rules.find("refunds", &RelPath::parse("scripts/report.py")?);
//! assert_eq!(rule.map(|rule| rule.limits.processes), Some(32));
//! // What no rule allows is not run.
//! assert!(rules.find("refunds", &RelPath::parse("scripts/report.sh")?).is_none());
//! # Ok(())
//! # }
//! ```

mod audit;
mod declared_arguments;
mod environments;
mod file_run;
mod inputs;
mod output_store;
mod reply;
mod rules;
mod run_files;
mod run_news;
mod run_queue;
mod run_tool;
mod runner;
mod script_not_run;
mod sent_inputs;
mod skills_page;

pub use skillwire_catalog::Catalog;
pub use skillwire_core::RelPath;
pub use skillwire_sandbox::{
    InputFile, InterpreterFinder, InvalidArguments, InvalidJob, JobFile, NetworkDestination,
    OutputFile, RunError, RunLimits, RunOutcome, RunProgress, Sandbox,
};
pub use skillwire_source::{FileStoreError, PathPatterns, Skill};

pub use self::{
    declared_arguments::{DeclarationError, check_declared_words, describe_declared},
    environments::{
        NodeNeeds, Package, PackageCache, PackageError, PackageOffer, PackageTools, PythonNeeds,
        ResolvedPackages, VenvError, VirtualEnvironment, first_closed_folder, package_lists,
    },
    file_run::{FileRun, FileRunError},
    inputs::{InputError, InputSource, UserInputs},
    output_store::{OUTPUT_SCHEME, OutputRetention, OutputStore, RetainedFile},
    rules::{ExecutionRule, ExecutionRules},
    run_queue::{QueueFull, QueueLimits},
    run_tool::RunScriptTool,
    runner::{CompletedRun, RunReport, ScriptRequest, ScriptRunner},
    script_not_run::ScriptNotRun,
    sent_inputs::{InvalidInputs, SentInput},
    skills_page::SkillsPageScripts,
};
