//! The two kinds of archives that skills travel in.

/// How an archive is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArchiveFormat {
    /// A tar file, compressed with gzip.
    TarGz,
    /// A ZIP file.
    Zip,
}

impl ArchiveFormat {
    /// Both kinds, the preferred one first.
    pub const ALL: [Self; 2] = [Self::TarGz, Self::Zip];

    /// Returns the ending of file names of the format, with the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::TarGz => ".tar.gz",
            Self::Zip => ".zip",
        }
    }

    /// Returns the media type of the format.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::TarGz => "application/gzip",
            Self::Zip => "application/zip",
        }
    }

    /// Returns the kind that a file name or URI ends in.
    pub fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let endings = [(".tar.gz", Self::TarGz), (".tgz", Self::TarGz), (".zip", Self::Zip)];
        endings.into_iter().find(|(ending, _)| lower.ends_with(ending)).map(|(_, format)| format)
    }

    /// Returns the kind that a media type names; parameters do not matter.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "application/gzip"
            | "application/x-gzip"
            | "application/tar+gzip"
            | "application/x-gtar" => Some(Self::TarGz),
            "application/zip" | "application/x-zip-compressed" => Some(Self::Zip),
            _ => None,
        }
    }

    /// Recognises the kind of an archive by its first bytes.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::TarGz),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Self::Zip),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_name_type_and_first_bytes() {
        for format in ArchiveFormat::ALL {
            let name = format!("skill://acme/refunds{}", format.suffix());
            assert_eq!(ArchiveFormat::of_name(&name), Some(format));
            assert_eq!(ArchiveFormat::of_media_type(format.media_type()), Some(format));
        }
        assert_eq!(ArchiveFormat::of_name("x.TGZ"), Some(ArchiveFormat::TarGz));
        assert_eq!(ArchiveFormat::of_name("x.tar"), None);
        assert_eq!(ArchiveFormat::of_media_type("Application/ZIP; x=y"), Some(ArchiveFormat::Zip));
        assert_eq!(ArchiveFormat::of_media_type("text/html"), None);
        assert_eq!(ArchiveFormat::sniff(b"\x1f\x8b\x08"), Some(ArchiveFormat::TarGz));
        assert_eq!(ArchiveFormat::sniff(b"<html>"), None);
    }
}
