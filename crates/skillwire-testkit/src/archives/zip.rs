//! ZIP files, record by record; everything is stored as it is.

/// One entry of a ZIP file.
#[derive(Debug, Clone)]
pub struct ZipMember {
    name: Vec<u8>,
    content: Vec<u8>,
    mode: u32,
}

impl ZipMember {
    /// An entry with a Unix mode, which says what it is: `0o100644` for a file, `0o120777` for a
    /// link.
    pub fn new(name: impl Into<Vec<u8>>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        Self { name: name.into(), content: content.into(), mode }
    }

    /// The fields that the local and the central header share.
    fn facts(&self) -> Vec<u8> {
        let size = u32::try_from(self.content.len()).expect("archives in tests are small");
        let name = u16::try_from(self.name.len()).expect("names in tests are short");
        let mut facts = Vec::new();
        // Version, flags (the name is UTF-8), stored, time, date 1980-01-01.
        for short in [20_u16, 0x800, 0, 0, 0x21] {
            facts.extend(short.to_le_bytes());
        }
        for long in [crc32(&self.content), size, size] {
            facts.extend(long.to_le_bytes());
        }
        facts.extend(name.to_le_bytes());
        facts.extend([0, 0]);
        facts
    }
}

/// Writes a ZIP file.
pub fn zip(members: &[ZipMember]) -> Vec<u8> {
    let long = |at: usize| u32::try_from(at).expect("archives in tests are small").to_le_bytes();
    let (mut bytes, mut central) = (Vec::new(), Vec::new());
    for member in members {
        let at = bytes.len();
        bytes.extend(b"PK\x03\x04");
        bytes.extend(member.facts());
        bytes.extend(&member.name);
        bytes.extend(&member.content);
        central.extend(b"PK\x01\x02");
        // Made on Unix.
        central.extend([20, 3]);
        central.extend(member.facts());
        // No comment, first disk, no internal attributes.
        central.extend([0; 6]);
        central.extend((member.mode << 16).to_le_bytes());
        central.extend(long(at));
        central.extend(&member.name);
    }
    let count = u16::try_from(members.len()).expect("archives in tests are small").to_le_bytes();
    let start = bytes.len();
    bytes.extend(&central);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(long(central.len()));
    bytes.extend(long(start));
    bytes.extend([0, 0]);
    bytes
}

/// The checksum of ZIP files, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}
