//! `skillwire check`: every finding at once, and what can be done about it.

mod compare;
mod diff;
mod explain;
mod fix;
mod scan;
mod silence;
pub(super) mod summary;

use std::io::{BufWriter, Write};

use serde::Serialize;
use skillwire_core::Finding;

use self::{
    compare::{Compared, Verdict},
    scan::{Folder, Scanned},
    summary::Summary,
};
use super::Outcome;
use crate::{
    args::{CheckArgs, Compare, Format, ReadingArgs},
    exit::Exit,
    failure::Failure,
    report::{self, Human},
    settings::Reading,
    waiting::Waiting,
};

pub(super) fn run(args: &CheckArgs) -> Outcome {
    if let Some(code) = &args.explain {
        return explain::run(code);
    }
    let reading = Reading::resolve(&ReadingArgs {
        allow_secret_file: args.allow_secret_file.clone(),
        ..ReadingArgs::default()
    })?;
    // Each path is judged by itself: nobody said that they would be served together.
    let folders: Vec<_> =
        args.paths.iter().map(|path| Folder::open(path, &reading)).collect::<Result<_, _>>()?;
    if args.diff && !args.fix {
        return fix::show(&folders);
    }
    if args.fix {
        fix::run(&folders, args.diff)?;
    }
    let mut checked = Checked::default();
    let waiting = Waiting::new(reading.progress.clone());
    for folder in &folders {
        checked.add(folder.scan(args.strict)?, args.compare);
    }
    drop(waiting);
    checked.sort();
    let summary = checked.summary();
    let exit = if summary.errors > 0 { Exit::Findings } else { Exit::Ok };
    match checked.write(args.format(), &summary) {
        // The answer stays the same when nobody wants to read the reasons.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit).map_err(Failure::from)?),
    }
}

/// A finding, and what the reference validator would make of it.
#[derive(Serialize)]
struct Item {
    #[serde(flatten)]
    finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Verdict>,
}

/// Everything that was found below all paths.
#[derive(Default)]
struct Checked {
    skills: usize,
    items: Vec<Item>,
    silenced: Vec<report::Silenced>,
    compared: Option<Compared>,
}

#[derive(Serialize)]
struct Json<'a> {
    findings: &'a [Item],
    silenced: Vec<JsonSilenced<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a Compared>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct JsonSilenced<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    reason: &'a str,
}

impl Checked {
    fn add(&mut self, scanned: Scanned, compare: Option<Compare>) {
        self.skills += scanned.places.len();
        let plain = |finding| Item { finding, reference: None };
        match compare {
            None => {
                let all = scanned.places.into_iter().flat_map(|place| place.findings);
                self.items.extend(all.map(plain));
            }
            Some(Compare::Reference) => {
                let compared = self.compared.get_or_insert_default();
                for place in scanned.places {
                    self.items.extend(compared.place(place));
                }
            }
        }
        self.items.extend(scanned.findings.into_iter().map(plain));
        self.silenced.extend(scanned.silenced);
    }

    fn sort(&mut self) {
        self.items.sort_by(|Item { finding: a, .. }, Item { finding: b, .. }| {
            (&a.file, a.position, a.code).cmp(&(&b.file, b.position, b.code))
        });
    }

    fn summary(&self) -> Summary {
        let findings = self.items.iter().map(|item| &item.finding);
        Summary::of(self.skills, findings, self.silenced.len())
    }

    fn write(&self, format: Format, summary: &Summary) -> std::io::Result<()> {
        match format {
            Format::Human => self.human(&mut BufWriter::new(anstream::stdout().lock()), summary),
            Format::Json => report::json(&mut std::io::stdout().lock(), &self.json(summary)),
            Format::Sarif => {
                let findings: Vec<_> = self.items.iter().map(|item| &item.finding).collect();
                let sarif = report::sarif(&findings, &self.silenced);
                report::json(&mut std::io::stdout().lock(), &sarif)
            }
            Format::Github => {
                let mut out = BufWriter::new(std::io::stdout().lock());
                for item in &self.items {
                    report::github(&mut out, &item.finding)?;
                }
                out.flush()
            }
        }
    }

    fn json<'a>(&'a self, summary: &'a Summary) -> Json<'a> {
        let silenced = self.silenced.iter();
        Json {
            findings: &self.items,
            silenced: silenced.map(|(finding, reason)| JsonSilenced { finding, reason }).collect(),
            reference: self.compared.as_ref(),
            summary,
        }
    }

    fn human(&self, out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
        let mut human = Human::explaining();
        for Item { finding, reference } in &self.items {
            human.finding(out, finding, reference.map(Verdict::note))?;
        }
        writeln!(out, "{}", summary.sentence())?;
        if let Some(compared) = &self.compared {
            compared.write(out)?;
        }
        if !self.items.is_empty() {
            writeln!(out, "Run `skillwire check --explain CODE` to learn more about a code.")?;
        }
        out.flush()
    }
}
