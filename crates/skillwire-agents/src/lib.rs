//! The agents of a machine: how to see which are there, where each keeps its MCP servers, and how to
//! add the bridge to that file without losing anything in it.
//!
//! This crate never knows a file system, a process or the environment. The caller hands in the text
//! of a file and gets the new text; comments, order and entries of others stay as they are, which every edit checks before it
//! returns.
//!
//! ```
//! use skillwire_agents::{BridgeEntry, Edit, agents};
//!
//! let cursor = agents().iter().find(|agent| agent.id() == "cursor").unwrap();
//! let entry = BridgeEntry::new("skillwire", &["bridge"]);
//! let old = "{ // mine\n  \"mcpServers\": { \"files\": { \"command\": \"files\" } }\n}\n";
//! if let Edit::Changed(new) = cursor.add(old, &entry)? {
//!     assert!(new.contains("// mine") && new.contains("\"skillwire\""));
//!     assert_eq!(cursor.add(&new, &entry)?, Edit::Unchanged);
//! }
//! # Ok::<(), skillwire_agents::EditError>(())
//! ```

mod agent;
mod edit;
mod entry;

pub use self::{
    agent::{Agent, Places, agents},
    edit::{Edit, EditError, Removal},
    entry::BridgeEntry,
};
