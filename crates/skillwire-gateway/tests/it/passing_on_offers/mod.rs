//! Tools and prompts of other servers, as clients of the gateway see and call them.

mod asking;
mod calling;
mod listing;
mod misbehaving;
mod support;
