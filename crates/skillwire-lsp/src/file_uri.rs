//! File URIs as editors write them, and the paths they stand for.

use std::path::{Path, PathBuf};

use lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that stand for themselves in the path of a file URI.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the path of a file URI; none if it names no file of this machine.
pub(crate) fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    // A host other than this machine has files that cannot be read here.
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let is_drive = decoded.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if is_drive { &decoded[1..] } else { &*decoded }))
}

/// Returns the URI of a path; none if the path is relative or not Unicode.
pub(crate) fn from_path(path: &Path) -> Option<Uri> {
    let text = path.to_str()?.replace('\\', "/");
    let rooted = if text.starts_with('/') { text } else { format!("/{text}") };
    format!("file://{}", utf8_percent_encode(&rooted, PATH)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_letters_of_other_scripts_survives_the_way_through_a_uri() {
        let path = Path::new("/home/me/my skills/größe 100%/SKILL.md");
        let uri = from_path(path).unwrap();
        assert_eq!(uri.as_str(), "file:///home/me/my%20skills/gr%C3%B6%C3%9Fe%20100%25/SKILL.md");
        assert_eq!(to_path(&uri).as_deref(), Some(path));
    }

    #[test]
    fn what_is_no_file_of_this_machine_has_no_path() {
        for uri in
            ["untitled:Untitled-1", "file://other/share/SKILL.md", "https://a.example/SKILL.md"]
        {
            assert_eq!(to_path(&uri.parse().unwrap()), None, "{uri}");
        }
        assert!(to_path(&"file://localhost/a".parse().unwrap()).is_some());
    }
}
