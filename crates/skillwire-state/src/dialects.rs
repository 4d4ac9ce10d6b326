//! Remembered dialects of servers, one small file each; losing one costs a few requests.

use std::path::PathBuf;

use serde_json::{Value, json};
use skillwire_core::strict_json::{self, JsonLimits};
use skillwire_dialects::Dialect;
use skillwire_trust::{DialectMemory, KnownDialect, ServerLabel, StoreError};

use super::{encoding::encode, folder::Folder};

/// The largest file that is read; a file holds a digest and a word.
const MAX_BYTES: u64 = 4 * 1024;

/// Dialects of servers, remembered between runs.
#[derive(Debug, Clone)]
pub struct FileDialects {
    folder: PathBuf,
}

impl FileDialects {
    /// Creates a store in a folder; the folder is created on the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

impl DialectMemory for FileDialects {
    fn recall(&self, server: &ServerLabel) -> Option<KnownDialect> {
        let folder = Folder::find(&self.folder).ok()??;
        let bytes = folder.read(&file_name(server), MAX_BYTES).ok()??;
        read(&String::from_utf8(bytes).ok()?)
    }

    fn remember(&self, server: &ServerLabel, known: KnownDialect) -> Result<(), StoreError> {
        let folder = Folder::make(&self.folder)?;
        let _locked = folder.lock("lock")?;
        let (name, new) = (file_name(server), format!("{}.new", file_name(server)));
        // A process that was killed may have left one. This process holds the lock, so no other
        // process still writes to it.
        folder.remove_file(&new)?;
        let known = json!({ "described": known.described.to_string(), "dialect": known.dialect });
        Ok(folder.replace(&name, &new, format!("{known}\n").as_bytes(), false)?)
    }

    fn forget(&self, server: &ServerLabel) -> Result<(), StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(()) };
        let name = file_name(server);
        folder.remove_file(&name)?;
        Ok(folder.remove_file(&format!("{name}.new"))?)
    }
}

fn file_name(label: &ServerLabel) -> String {
    format!("{}.json", encode(label.as_str()).concat())
}

fn read(text: &str) -> Option<KnownDialect> {
    let fields = strict_json::object(text, JsonLimits::new(2, 8)).ok()?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    Some(KnownDialect {
        described: text("described")?.parse().ok()?,
        dialect: Dialect::parse(text("dialect")?)?,
    })
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    #[test]
    fn a_dialect_comes_back_for_its_own_server_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let dialects = FileDialects::new(folder.path().join("dialects"));
        let [acme, other] = ["acme.work", "acme"].map(|text| ServerLabel::parse(text).unwrap());
        dialects.forget(&acme).unwrap();
        for dialect in Dialect::ALL {
            let known = KnownDialect { described: Digest::of(b"x"), dialect };
            dialects.remember(&acme, known).unwrap();
            assert_eq!(dialects.recall(&acme), Some(known));
        }
        assert_eq!(dialects.recall(&other), None);
        dialects.forget(&acme).unwrap();
        assert_eq!(dialects.recall(&acme), None);
    }

    #[test]
    fn what_is_damaged_or_foreign_is_not_known_and_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dialects");
        let dialects = FileDialects::new(&path);
        let acme = ServerLabel::parse("acme").unwrap();
        let known = KnownDialect { described: Digest::of(b"x"), dialect: Dialect::SkillsPage };
        dialects.remember(&acme, known).unwrap();
        let file = path.join("acme.json");
        let whole = std::fs::read_to_string(&file).unwrap();
        let padded = format!("{whole}{}", " ".repeat(5_000));
        for damaged in [
            &whole[..whole.len() / 2],
            "",
            "[]",
            "null",
            &whole.replace("\"D6\"", "\"D99\""),
            &whole.replace("\"D6\"", "6"),
            &whole.replace("sha256:", "md5:"),
            &padded,
        ] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(dialects.recall(&acme), None, "{damaged}");
        }
        dialects.remember(&acme, known).unwrap();
        assert_eq!(dialects.recall(&acme), Some(known));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(dialects.recall(&acme), None);
    }
}
