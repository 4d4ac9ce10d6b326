//! Skills as archives: made with the same bytes every time, opened by strict rules.
//!
//! Both directions work on bytes in memory. This crate never knows a file or a folder, so an archive is
//! judged whole before a part of it can be seen.
//!
//! ```
//! use skillwire_archive::{Format, Limits, RelPath, pack, unpack};
//!
//! let path = RelPath::skill_file();
//! let text: &[u8] = b"---\nname: a\ndescription: Does a.\n---\n";
//! let archive = pack(Format::TarGz, [(&path, text)]).expect("a small skill can be packed");
//! let files = unpack(Format::TarGz, &archive, &Limits::default()).expect("it follows the rules");
//! assert_eq!(files[0].bytes, text);
//! ```

mod format;
mod limits;
mod pack;
mod refused;
mod unpack;

pub use skillwire_core::RelPath;

pub use self::{
    format::Format,
    limits::{Budget, Limits},
    pack::{NotPacked, pack},
    refused::{Reason, Refused},
    unpack::{File, unpack},
};
