//! Packs skills into archives with the same bytes every time, and opens archives by strict rules.
//!
//! Both directions work on bytes in memory, and this crate never touches a disk. Archives come from
//! servers that may be hostile, so [`unpack`] checks the whole archive before the caller gets a
//! single file of it.
//!
//! ```
//! use skillwire_archive::{ArchiveFormat, ArchiveLimits, RelPath, pack, unpack};
//!
//! let path = RelPath::skill_file();
//! let text: &[u8] = b"---\nname: a\ndescription: Does a.\n---\n";
//! let archive = pack(ArchiveFormat::TarGz, [(&path, text)]).expect("a small skill can be packed");
//! let limits = ArchiveLimits::default();
//! let files = unpack(ArchiveFormat::TarGz, &archive, &limits).expect("it follows the rules");
//! assert_eq!(files[0].bytes, text);
//! ```

mod format;
mod limits;
mod pack;
mod refused;
mod unpack;

pub use skillwire_core::{RelPath, portable::NotPortable};

pub use self::{
    format::ArchiveFormat,
    limits::{ArchiveLimits, Budget},
    pack::{NotPacked, pack},
    refused::{ArchiveReason, RefusedArchive},
    unpack::{ArchiveFile, unpack, unpack_collection},
};
