//! MCP as it is on the wire: messages, method names, versions, error codes. No transport, no SDK.

pub mod capabilities;
pub mod envelope;
pub mod error;
pub mod id;
pub mod lines;
pub mod message;
pub mod meta;
pub mod method;
pub mod paging;
pub mod version;
