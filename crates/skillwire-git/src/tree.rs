//! The files of a commit, as `git ls-tree` lists them.

use crate::error::GitError;

/// One file, link or submodule of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) kind: TreeKind,
    /// Whether the owner may run the file.
    pub(crate) executable: bool,
    /// The id of its bytes.
    pub(crate) object: String,
    /// Its path from the root of the repository.
    pub(crate) path: String,
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeKind {
    File,
    Link,
    Submodule,
}

/// Reads the output of `git ls-tree -r -z`.
pub(crate) fn parse(output: &[u8], most: usize) -> Result<Vec<TreeEntry>, GitError> {
    let mut entries = Vec::new();
    for line in output.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        if entries.len() == most {
            let what = "The tree of the commit".to_owned();
            return Err(GitError::TooLarge { what, limit: most as u64, unit: "files" });
        }
        entries.push(entry(line)?);
    }
    Ok(entries)
}

fn entry(line: &[u8]) -> Result<TreeEntry, GitError> {
    let unexpected = || GitError::Unexpected("ls-tree");
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(unexpected)?;
    let (head, path) = (&line[..tab], &line[tab + 1..]);
    let head = std::str::from_utf8(head).map_err(|_| unexpected())?;
    let mut words = head.split(' ');
    let (Some(mode), Some(_), Some(object)) = (words.next(), words.next(), words.next()) else {
        return Err(unexpected());
    };
    let kind = match mode {
        "120000" => TreeKind::Link,
        "160000" => TreeKind::Submodule,
        _ if mode.starts_with("100") => TreeKind::File,
        _ => return Err(unexpected()),
    };
    let shown = || String::from_utf8_lossy(path).escape_debug().to_string();
    let path = std::str::from_utf8(path).map_err(|_| GitError::Name(shown()))?;
    let executable = mode == "100755";
    Ok(TreeEntry { kind, executable, object: object.to_owned(), path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use TreeKind::{File, Link, Submodule};

    use super::*;

    #[test]
    fn entries_are_read_with_their_kinds() {
        let id = "a".repeat(40);
        let text = format!(
            "100644 blob {id}\ta b.md\0100755 blob {id}\tx.sh\0120000 blob {id}\tl\0160000 commit {id}\tm\0"
        );
        let entries = parse(text.as_bytes(), 10).unwrap();
        let kinds: Vec<_> = entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [File, File, Link, Submodule]);
        let executable: Vec<_> = entries.iter().map(|entry| entry.executable).collect();
        assert_eq!(executable, [false, true, false, false]);
        assert_eq!(entries[0].path, "a b.md");
        assert!(matches!(parse(text.as_bytes(), 3), Err(GitError::TooLarge { .. })));
        assert!(matches!(parse(b"100644 blob x\t\xff\0", 3), Err(GitError::Name(_))));
        assert!(parse(b"nonsense\0", 3).is_err());
    }
}
