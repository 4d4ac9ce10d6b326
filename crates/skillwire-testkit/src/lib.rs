//! What tests of this project are made of: skill folders, raw MCP clients, running servers, one
//! server that misbehaves on demand, one that wants a login, and the contract of sources, which tests of other projects can
//! use as well.
//!
//! The clients here are deliberately plain: they send exactly the bytes a test wants and show
//! exactly the bytes that come back, so that nothing between test and server can mend either.

pub mod archives;
pub mod contract;
pub mod dialects;
pub mod fixture;
pub mod guarded;
pub mod hostile;
pub mod http;
pub mod server;
pub mod site;
pub mod stdio;
pub mod transcript;
pub mod wire;
