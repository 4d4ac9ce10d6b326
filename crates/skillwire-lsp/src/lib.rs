//! A language server for skills: the findings, repairs and pages of `check`, while an author types.
//!
//! The crate knows the Language Server Protocol and which files belong to an open document's skill. It
//! never decides what is wrong with a skill: every finding and every repair is that of `skillwire-core`
//! and `skillwire-source`, on the text in the editor instead of the text on disk. It never starts a
//! process, opens a connection, or reads anything outside the skill of an open document.
//!
//! ```
//! use lsp_server::{Connection, Message, Notification, Request};
//! use serde_json::json;
//! use skillwire_lsp::{EditorOptions, serve};
//!
//! let (server, client) = Connection::memory();
//! let serving = std::thread::spawn(move || serve(&server, &EditorOptions::default()));
//! let ask = |id, method: &str| Request::new(lsp_server::RequestId::from(id), method.to_owned(), json!({}));
//! client.sender.send(Message::Request(Request::new(1.into(), "initialize".into(), json!({"capabilities": {}}))))?;
//! assert!(matches!(client.receiver.recv()?, Message::Response(answer) if answer.response_result.is_ok()));
//! client.sender.send(Message::Notification(Notification::new("initialized".into(), json!({}))))?;
//! client.sender.send(Message::Request(ask(2, "shutdown")))?;
//! client.receiver.recv()?;
//! client.sender.send(Message::Notification(Notification::new("exit".into(), json!(null))))?;
//! serving.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod actions;
mod completion;
mod diagnostics;
mod document;
mod file_uri;
mod hover;
mod navigation;
mod rename;
mod server;
mod skill_folder;
mod symbols;

pub use skillwire_core::Finding;

pub use lsp_server::Connection;

pub use self::server::{EditorError, EditorOptions, SilenceCheck, serve};
