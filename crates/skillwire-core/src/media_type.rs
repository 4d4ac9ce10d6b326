//! The media type of a file, from its name and its bytes.

/// Media type of a directory resource.
pub const DIRECTORY: &str = "inode/directory";

/// Chooses a media type that fits the content.
///
/// A name whose ending promises text is only believed when the bytes are UTF-8; an unknown ending
/// is decided by the bytes alone.
pub fn of(name: &str, bytes: &[u8]) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let by_signature = signature(bytes);
    let has_nul = || memchr::memchr(0, bytes).is_some();
    let text = || by_signature.is_none() && !has_nul() && std::str::from_utf8(bytes).is_ok();
    match ending.as_deref().and_then(by_ending) {
        Some((media_type, ContentKind::Text)) if text() => media_type,
        Some((media_type, ContentKind::Binary))
            if by_signature.is_none_or(|s| s == media_type || is_container(s)) =>
        {
            media_type
        }
        _ => by_signature
            .unwrap_or_else(|| if text() { "text/plain" } else { "application/octet-stream" }),
    }
}

enum ContentKind {
    Text,
    Binary,
}

fn by_ending(ending: &str) -> Option<(&'static str, ContentKind)> {
    let text = |media_type| Some((media_type, ContentKind::Text));
    let binary = |media_type| Some((media_type, ContentKind::Binary));
    match ending {
        "md" | "markdown" => text("text/markdown"),
        "json" => text("application/json"),
        "jsonl" | "ndjson" => text("application/x-ndjson"),
        "yaml" | "yml" => text("application/yaml"),
        "toml" => text("application/toml"),
        "xml" | "xsd" | "xsl" => text("application/xml"),
        "html" | "htm" => text("text/html"),
        "css" => text("text/css"),
        "js" | "mjs" | "cjs" => text("text/javascript"),
        "ts" | "tsx" | "jsx" => text("text/x-typescript"),
        "py" => text("text/x-python"),
        "sh" | "bash" | "zsh" => text("text/x-shellscript"),
        "rs" => text("text/x-rust"),
        "go" => text("text/x-go"),
        "rb" => text("text/x-ruby"),
        "java" => text("text/x-java"),
        "c" | "h" => text("text/x-c"),
        "cpp" | "hpp" | "cc" => text("text/x-c++"),
        "sql" => text("application/sql"),
        "csv" => text("text/csv"),
        "tsv" => text("text/tab-separated-values"),
        "svg" => text("image/svg+xml"),
        "png" => binary("image/png"),
        "jpg" | "jpeg" => binary("image/jpeg"),
        "gif" => binary("image/gif"),
        "webp" => binary("image/webp"),
        "ico" => binary("image/x-icon"),
        "pdf" => binary("application/pdf"),
        "zip" => binary("application/zip"),
        "gz" | "tgz" => binary("application/gzip"),
        "tar" => binary("application/x-tar"),
        "wasm" => binary("application/wasm"),
        "woff" => binary("font/woff"),
        "woff2" => binary("font/woff2"),
        "ttf" => binary("font/ttf"),
        "otf" => binary("font/otf"),
        "mp3" => binary("audio/mpeg"),
        "wav" => binary("audio/wav"),
        "mp4" => binary("video/mp4"),
        "docx" => binary("application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        "xlsx" => binary("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        "pptx" => {
            binary("application/vnd.openxmlformats-officedocument.presentationml.presentation")
        }
        _ => None,
    }
}

fn signature(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"\0asm", "application/wasm"),
    ];
    SIGNATURES.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, media_type)| *media_type)
}

/// Formats whose signature is that of the container they are built on.
fn is_container(media_type: &str) -> bool {
    media_type == "application/zip"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_fit_the_content_srv_27() {
        assert_eq!(of("a.png", b"\x89PNG\r\n\x1a\n..."), "image/png");
        assert_eq!(of("a.json", b"{}"), "application/json");
        assert_eq!(of("a.py", b"print()"), "text/x-python");
        assert_eq!(of("LICENSE", b"Words."), "text/plain");
        assert_eq!(of("blob", b"\x00\x01"), "application/octet-stream");
        assert_eq!(of("wrong.md", b"\x89PNG\r\n\x1a\n"), "image/png");
        assert_eq!(of("notes.log", b"Words."), "text/plain");
        assert_eq!(of("latin.md", b"caf\xe9"), "application/octet-stream");
        assert_eq!(of("nul.md", b"a\0b"), "application/octet-stream");
        assert_eq!(of("wrong.png", b"%PDF-1.7"), "application/pdf");
        assert_eq!(
            of("x.docx", b"PK\x03\x04"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        );
    }

    #[test]
    fn known_endings_have_their_types_in_every_case_srv_27() {
        const WORD: &str =
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        const SHEET: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
        const SLIDES: &str =
            "application/vnd.openxmlformats-officedocument.presentationml.presentation";
        let types = [
            ("md markdown MD", "text/markdown"),
            ("jsonl ndjson", "application/x-ndjson"),
            ("yaml yml", "application/yaml"),
            ("toml", "application/toml"),
            ("xml xsd xsl", "application/xml"),
            ("html htm", "text/html"),
            ("css", "text/css"),
            ("js mjs cjs", "text/javascript"),
            ("ts tsx jsx", "text/x-typescript"),
            ("sh bash zsh", "text/x-shellscript"),
            ("rs", "text/x-rust"),
            ("go", "text/x-go"),
            ("rb", "text/x-ruby"),
            ("java", "text/x-java"),
            ("c h", "text/x-c"),
            ("cpp hpp cc", "text/x-c++"),
            ("sql", "application/sql"),
            ("csv", "text/csv"),
            ("tsv", "text/tab-separated-values"),
            ("svg", "image/svg+xml"),
            ("png", "image/png"),
            ("jpg jpeg", "image/jpeg"),
            ("gif", "image/gif"),
            ("webp", "image/webp"),
            ("ico", "image/x-icon"),
            ("pdf", "application/pdf"),
            ("zip", "application/zip"),
            ("gz tgz", "application/gzip"),
            ("tar", "application/x-tar"),
            ("wasm", "application/wasm"),
            ("woff", "font/woff"),
            ("woff2", "font/woff2"),
            ("ttf", "font/ttf"),
            ("otf", "font/otf"),
            ("mp3", "audio/mpeg"),
            ("wav", "audio/wav"),
            ("mp4", "video/mp4"),
            ("docx", WORD),
            ("xlsx", SHEET),
            ("pptx", SLIDES),
        ];
        for (endings, expected) in types {
            for ending in endings.split(' ') {
                assert_eq!(of(&format!("a.{ending}"), b"Words."), expected, "{ending}");
            }
        }
    }

    #[test]
    fn what_begins_like_a_known_format_is_one_whatever_its_name_srv_27() {
        for (bytes, expected) in [
            (&b"\xff\xd8\xff\xe0"[..], "image/jpeg"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a", "image/gif"),
            (b"PK\x03\x04", "application/zip"),
            (b"\x1f\x8b\x08", "application/gzip"),
            (b"\0asm\x01", "application/wasm"),
        ] {
            assert_eq!(of("blob", bytes), expected);
            assert_eq!(of("notes.txt", bytes), expected);
        }
    }
}
