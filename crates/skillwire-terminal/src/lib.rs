//! Text for terminals: [`StyledLine`]s that fit any width, Markdown as such lines ([`markdown`]), and, with the
//! feature `view`, the full-screen view of skills that wait for a decision (`review`) on a `Screen`.
//!
//! The view is a model in three parts. `ReviewModel::update` takes what happened and returns what the
//! program has to do; `draw` writes the model into a buffer; neither does I/O. This crate never knows
//! where skills come from, what is recorded, or how a file is read: the program tells it.
//!
//! ```
//! use skillwire_terminal::markdown;
//!
//! let lines = markdown("# Deploy\n\nRun `make`. <!-- and tell no one -->\n");
//! let texts: Vec<String> = lines.iter().map(|line| line.text()).collect();
//! // A comment that a browser would hide is shown: a model reads it.
//! assert_eq!(texts, ["Deploy", "", "Run make. <!-- and tell no one -->"]);
//! ```

mod markdown;
#[cfg(feature = "view")]
pub mod review;
#[cfg(feature = "view")]
mod screen;
mod text;

#[cfg(feature = "view")]
pub use self::screen::{Input, Key, Screen};
pub use self::{
    markdown::markdown,
    text::{StyledLine, StyledSpan, Tone, from_ansi},
};
