//! Isolation as Linux gives it.
//!
//! Three processes take part in a run, all of the same program:
//!
//! ```text
//! supervisor ──starts──▶ fork server ──forks──▶ helper ──forks──▶ script
//!  (caller)   socket      one thread,           one per run,
//!             of requests no variables          confines itself
//!      ▲                                           │
//!      └────────────── control socket ─────────────┘
//! ```
//!
//! The supervisor is the caller's own process: it may have threads, secrets and open files, so it
//! never forks without executing. The fork server has none of these. It is loaded once and then
//! copies itself for each helper, because loading a program takes longer than all layers of
//! isolation together. The helper puts the layers in place and becomes the script's parent, or in
//! the full tier the parent of the namespaces' first process.
//!
//! When the supervisor goes away for whatever reason, its end of the control socket closes, and the
//! helper ends the script. When the helper goes away, the kernel kills the script.

pub(crate) mod cgroup;
mod folder_removal;
pub(crate) mod helper;
mod helper_protocol;
mod open_files;
mod process_tree;
mod run_meter;
mod scratch_folder;
pub(crate) mod supervisor;
pub(crate) mod tier_probe;
