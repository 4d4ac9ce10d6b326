//! The page: look at skills, decide, and see what happened, in a browser.
//!
//! A [`PageProvider`] fills view models ([`model`]) from a user's host, a folder server or a hub; one set
//! of components renders them, and [`Page`] answers requests with the result. Everything is rendered by
//! the server and readable without a script.
//!
//! The crate knows HTTP requests and HTML. It never knows a socket, a file, an environment or where a
//! skill comes from. Three things hold for every provider:
//!
//! - A request is answered only if `Host`, `Origin` and the cookie are those of the page itself, and acts
//!   only with a token that a page of the same session carried.
//! - Text of skills never becomes markup, and what a reader could not see is marked.
//! - Filling a view fetches nothing. A reader asks for what was not read yet.
//!
//! ```
//! use skillwire_page::{FileComparer, LineChange, model::FileLines};
//!
//! // One comparer for a whole page bounds what all its files cost.
//! let mut comparer = FileComparer::default();
//! let FileLines::Hunks(hunks) = comparer.compare(b"Ask first.\nPay.\n", b"Pay.\n") else {
//!     panic!("both are short texts");
//! };
//! assert_eq!(hunks[0].lines[0].change, LineChange::Removed);
//! assert_eq!(hunks[0].lines[0].text, "Ask first.");
//! assert!(matches!(comparer.compare(b"\0", b"Pay.\n"), FileLines::NotText));
//! ```

mod acts;
mod addresses;
mod assets;
mod compare;
mod guard;
mod live;
pub mod model;
mod page;
mod params;
mod provider;
mod render;
mod response;
mod session;
mod signing_in;
mod text;
mod texts;
mod views;

pub use skillwire_core::LineChange;

pub use self::{
    compare::{FileComparer, MAX_COMPARED_BYTES, text_of},
    guard::PageHosts,
    page::{MAX_FORM_BYTES, Page, PageOptions},
    provider::{Filled, LiveState, PageProblem, PageProvider, SignInAnswer, SignInPlace},
    response::{PageBody, PageResponse},
    session::{random_secret, same_secret},
};
