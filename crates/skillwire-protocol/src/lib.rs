//! MCP as it is on the wire: messages, methods, versions, error codes, pages and lines.
//!
//! Clients and servers both use this crate, so it does not depend on either. It never knows a transport
//! or an SDK, and does no I/O.
//!
//! ```
//! use skillwire_protocol::{
//!     ErrorCode, RpcError,
//!     message::{self, Message},
//!     method,
//! };
//!
//! let line = br#"{"jsonrpc":"2.0","id":1,"method":"skills/list"}"#;
//! let Ok(Message::Request(request)) = message::read(line) else { panic!("it is a request") };
//! assert_eq!(request.method, method::SKILLS_LIST);
//!
//! let answer = message::error_response(Some(&request.id), &RpcError::internal());
//! assert!(answer.contains(&ErrorCode::Internal.number().to_string()));
//! ```

mod capabilities;
mod envelope;
mod error;
mod id;
mod identity;
pub mod json_text;
mod lines;
pub mod message;
pub mod meta;
pub mod method;
mod paging;
pub mod quote;
pub mod trace;
pub mod version;

pub use skillwire_core::visible::truncated;

pub use self::{
    capabilities::{ClientCapabilities, SKILLS_EXTENSION, skills_server_capabilities},
    envelope::{Envelope, present},
    error::{ErrorCode, RpcError},
    id::RequestId,
    identity::{Icon, ServerIdentity},
    lines::{LineAssembler, LineEvent},
    paging::{MAX_CURSOR_BYTES, NextPage, PageLimits, Pager, Truncation, cursor_params},
    version::Era,
};
