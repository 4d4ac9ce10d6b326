//! How often each code was found.

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
};

use serde::Serialize;
use skillwire_core::{Code, Level};

use super::CheckResult;
use crate::{args::ReportFormat, prose, report};

/// One code, and how often it was found.
#[derive(Serialize)]
struct CodeCount {
    count: usize,
    level: Level,
    code: Code,
    summary: String,
}

impl CheckResult {
    /// Writes the codes, the most frequent first.
    pub(super) fn statistics(&self, format: ReportFormat) -> io::Result<()> {
        let mut counts: BTreeMap<Code, (usize, Level)> = BTreeMap::new();
        for item in &self.items {
            let count = counts.entry(item.finding.code).or_insert((0, item.finding.level));
            count.0 += 1;
        }
        let mut counts: Vec<CodeCount> = counts
            .into_iter()
            .map(|(code, (count, level))| CodeCount { count, level, code, summary: code.summary() })
            .collect();
        counts.sort_by_key(|one| (std::cmp::Reverse(one.count), one.code));
        if format == ReportFormat::Json {
            return report::json(&mut io::stdout().lock(), &counts);
        }
        let mut out = BufWriter::new(prose::stdout());
        let width = counts.first().map_or(0, |most| most.count.to_string().len());
        for CodeCount { count, level, code, summary } in &counts {
            writeln!(out, "{count:>width$}  {}[{code}]  {summary}", level.as_str())?;
        }
        if counts.is_empty() {
            writeln!(out, "Nothing to report.")?;
        }
        out.flush()
    }
}
