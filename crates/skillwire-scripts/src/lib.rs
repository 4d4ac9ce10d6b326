//! Scripts of served skills: which may run, with what, and what becomes of it.
//!
//! [`Scripts`](scripts::Scripts) runs a script of a published skill in isolation, if a
//! [`Rule`](rules::Rule) of the operator allows it. [`RunTool`](tool::RunTool) offers that as the tool
//! `run_skill_script` to every client.

mod arguments;
mod audit;
pub mod outputs;
mod reply;
pub mod rules;
pub mod scripts;
pub mod tool;
