//! Keys that many skills of a folder have, in one line each.

use std::{collections::BTreeMap, io::Write, rc::Rc};

use skillwire_core::Code;

use super::CheckedFinding;
use crate::{
    output::{FAINT, counted},
    report::printable,
};

/// Findings about keys that occur more than once in a folder.
pub(super) struct RepeatedKeys<'a> {
    lines: BTreeMap<RepeatedKey<'a>, Vec<&'a CheckedFinding>>,
}

/// The folder, the code and the message, which names the key.
type RepeatedKey<'a> = (Rc<str>, Code, &'a str);

impl<'a> RepeatedKeys<'a> {
    pub(super) fn among(items: &'a [CheckedFinding]) -> Self {
        let mut lines: BTreeMap<RepeatedKey<'a>, Vec<&CheckedFinding>> = BTreeMap::new();
        for item in items {
            if let Some(key) = key(item) {
                lines.entry(key).or_default().push(item);
            }
        }
        lines.retain(|_, items| items.len() > 1);
        Self { lines }
    }

    /// Tells whether a finding is part of a line.
    pub(super) fn contains(&self, item: &'a CheckedFinding) -> bool {
        key(item).is_some_and(|key| self.lines.contains_key(&key))
    }

    /// Writes the lines and an empty one.
    pub(super) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        for ((folder, code, message), items) in &self.lines {
            let Some(first) = items.first() else { continue };
            let level = first.finding.level.as_str();
            writeln!(
                out,
                "{level}[{code}]: {} {FAINT}{} below `{}`, the first is `{}`.{FAINT:#}",
                printable(message),
                counted(items.len(), "skill"),
                printable(folder),
                printable(&first.finding.file),
            )?;
        }
        if self.lines.is_empty() { Ok(()) } else { writeln!(out) }
    }
}

fn key(item: &CheckedFinding) -> Option<RepeatedKey<'_>> {
    let code = item.finding.code;
    matches!(code, Code::UnknownKey | Code::ClientKey)
        .then(|| (Rc::clone(&item.folder), code, item.finding.message.as_str()))
}
