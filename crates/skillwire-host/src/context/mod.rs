//! The text that a model sees: the catalogue, loaded skills, their files, and ordinary resources.
//!
//! Names, descriptions and paths are neutralised. Content is shown as it is, between boundaries
//! that a server cannot guess, below a note that only the host writes. All of it is
//! [`ModelText`](model_text::ModelText), which only this crate can create.

pub mod block;
pub mod boundary;
pub mod catalogue;
pub mod children;
pub mod content;
pub mod model_text;
pub use skillwire_core::visible as text;
pub use skillwire_trust::flags;
