//! Tar files, header by header.

use std::io::Write;

use flate2::{Compression, GzBuilder};

const BLOCK: usize = 512;

/// One entry of a tar file, with the values of its header.
#[derive(Debug, Clone)]
pub struct TarMember {
    name: String,
    kind: u8,
    mode: u32,
    owner: u32,
    target: String,
    content: Vec<u8>,
}

impl TarMember {
    /// A regular file.
    pub fn file(name: &str, content: impl Into<Vec<u8>>) -> Self {
        Self { content: content.into(), ..Self::of_kind(name, b'0') }
    }

    /// An entry of any kind, given by tar's type letter.
    pub fn of_kind(name: &str, kind: u8) -> Self {
        let (name, target) = (name.to_owned(), String::new());
        Self { name, kind, mode: 0o644, owner: 0, target, content: Vec::new() }
    }

    /// A symbolic link.
    pub fn symlink(name: &str, target: &str) -> Self {
        Self { target: target.to_owned(), ..Self::of_kind(name, b'2') }
    }

    /// A hard link.
    pub fn hard_link(name: &str, target: &str) -> Self {
        Self { target: target.to_owned(), ..Self::of_kind(name, b'1') }
    }

    /// Sets the permissions.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// Sets the owner.
    #[must_use]
    pub fn owner(self, owner: u32) -> Self {
        Self { owner, ..self }
    }

    fn header(&self) -> [u8; BLOCK] {
        let mut header = [0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        let name = &self.name.as_bytes()[..self.name.len().min(100)];
        put(0, name);
        put(100, format!("{:07o}", self.mode).as_bytes());
        put(108, format!("{:07o}", self.owner).as_bytes());
        put(116, format!("{:07o}", 0).as_bytes());
        put(124, format!("{:011o}", self.content.len()).as_bytes());
        put(136, format!("{:011o}", 0).as_bytes());
        put(148, b"        ");
        put(156, &[self.kind]);
        put(157, &self.target.as_bytes()[..self.target.len().min(100)]);
        put(257, b"ustar  \0");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    }
}

/// Writes a tar file.
pub fn tar(members: &[TarMember]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in members {
        if member.name.len() > 100 {
            let mut long = TarMember::file("././@LongLink", format!("{}\0", member.name));
            long.kind = b'L';
            append(&mut bytes, &long);
        }
        append(&mut bytes, member);
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

fn append(bytes: &mut Vec<u8>, member: &TarMember) {
    bytes.extend_from_slice(&member.header());
    bytes.extend_from_slice(&member.content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
}

/// Compresses bytes at a level from 0 to 9.
pub fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::new(level));
    writer.write_all(bytes).and_then(|()| writer.finish()).expect("writing to memory cannot fail")
}
