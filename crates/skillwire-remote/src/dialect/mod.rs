//! Uses servers of every dialect: finds out which one a server speaks (`DialectDetection`), and gets
//! the files of a skill by the route that its dialect has (`OfferedFiles`).
//!
//! The formats themselves are read in [`skillwire_dialects`]. From an offered skill on, every dialect
//! goes the one way to a model: `SKILL.md` is read, the user approves, files are loaded and read
//! through a window.

mod archive;
mod detection;
mod fetching;
mod resources;
mod server;
mod settle;
mod tools;
mod well_known;

pub use self::settle::{SettleDepth, pin, with_frontmatter};

pub(crate) use self::{
    archive::OpenedArchives,
    detection::{DialectDetection, ListReleased},
    fetching::OfferedFiles,
    server::{AskError, SkillServer},
    well_known::list as list_web_origin,
};
