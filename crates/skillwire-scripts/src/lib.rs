//! Scripts of served skills: which may run, with what, and what becomes of it.
//!
//! [`Scripts`](scripts::Scripts) runs a script of a published skill in isolation, if a
//! [`Rule`](rules::Rule) of the operator allows it. [`RunTool`](tool::RunTool) offers that as the tool
//! `run_skill_script` to every client, [`PageScripts`](page::PageScripts) as
//! `skills/execute` to those that know it.

mod arguments;
mod audit;
pub mod outputs;
pub mod page;
mod reply;
pub mod rules;
pub mod scripts;
pub mod tool;
