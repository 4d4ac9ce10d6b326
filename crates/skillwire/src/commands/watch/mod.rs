//! `skillwire watch`: shows findings and entries of skills again after every change.

mod show;

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    path::PathBuf,
    time::Duration,
};

use skillwire_core::Digest;
use skillwire_source::{
    DirectorySource, FolderChanges, GroupKey, InspectedSkill, ScanRequest, SkillInventory,
    SkillSource, SourceUnavailable, WatchCoverage, WatchState, watch_skill_folders,
};
use tokio::sync::mpsc;

use self::show::{HumanOutput, JsonOutput, WatchOutput};
use super::{Outcome, serve::signals};
use crate::{
    args::{ReadingArgs, WatchArgs},
    exit::Exit,
    failure::Failure,
    prose,
    report::printable,
    settings::{FolderReading, unavailable},
};

/// The interval between scans of a folder for which the system reports no changes.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(args: &WatchArgs) -> Outcome {
    let reading = FolderReading::resolve(&ReadingArgs {
        allow_secret_file: args.allow_secret_file.clone(),
        follow_links: args.follow_links,
        ..ReadingArgs::default()
    })?;
    let source = reading.source(&args.dir)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::new(Exit::Internal, "Signals cannot be listened to.").because(error)
        })?;
    let watching =
        WatchLoop { source, collection: SkillInventory::default(), shown: BTreeMap::new() };
    let followed = if args.json {
        runtime.block_on(watching.follow(&mut JsonOutput::new(std::io::stdout())))
    } else {
        let clear = std::io::stdout().is_terminal();
        runtime.block_on(watching.follow(&mut HumanOutput::new(prose::stdout(), clear)))
    };
    followed.map(|()| Exit::Ok)
}

struct WatchLoop {
    source: DirectorySource,
    collection: SkillInventory,
    /// The origin of each group that was shown, and a digest of what was shown of it.
    shown: BTreeMap<GroupKey, (String, Digest)>,
}

impl WatchLoop {
    /// Shows everything once, and then each change, until a signal ends the program.
    async fn follow(mut self, show: &mut impl WatchOutput) -> Result<(), Failure> {
        let (mut stop, _) = signals::listen()?;
        let (sender, mut news) = mpsc::unbounded_channel();
        // The watcher reports changes in batches, so this unbounded queue stays short.
        let start_watching = |folders: Vec<PathBuf>| {
            let sender = sender.clone();
            watch_skill_folders(folders, move |told| {
                let _ = sender.send(told);
            })
        };
        let mut watched = self.source.watched_directories();
        let (mut _watcher, mut state) = start_watching(watched.clone());
        self.collection.update(&self.source, &ScanRequest::everything()).map_err(unavailable)?;
        self.report(show)?;
        let mut gone = None;
        loop {
            let look = tokio::select! {
                () = stop.requested() => return Ok(()),
                Some(told) = news.recv() => match told {
                    FolderChanges::Paths(paths) => ScanRequest::paths(paths),
                    FolderChanges::Everything => ScanRequest::everything(),
                },
                () = tokio::time::sleep(PAUSE), if !is_watched(&state) => ScanRequest::everything(),
            };
            match self.collection.update(&self.source, &look) {
                Ok(()) => {
                    gone = None;
                    self.report(show)?;
                }
                Err(error) => tell_once(&mut gone, &error),
            }
            // A scan that finds a link to another directory has more to watch.
            let now = self.source.watched_directories();
            if now != watched {
                watched = now;
                (_watcher, state) = start_watching(watched.clone());
            }
        }
    }

    /// Shows each group whose findings or entry differ from those shown last.
    fn report(&mut self, show: &mut impl WatchOutput) -> Result<(), Failure> {
        let first = self.shown.is_empty();
        let mut now = BTreeMap::new();
        let mut changed: Vec<Vec<InspectedSkill>> = Vec::new();
        let mut places: Vec<InspectedSkill> = Vec::new();
        for (key, inspected) in self.collection.groups() {
            let origin = inspected.first().map_or_else(String::new, |place| place.origin.clone());
            let said = said(&inspected);
            let before = self.shown.get(key);
            if before.is_none_or(|(_, before)| *before != said) {
                changed.push(inspected.clone());
            }
            places.extend(inspected);
            now.insert(key.clone(), (origin, said));
        }
        let gone: Vec<String> = self
            .shown
            .iter()
            .filter(|(key, _)| !now.contains_key(*key))
            .map(|(_, (origin, _))| origin.clone())
            .collect();
        self.shown = now;
        if first || !changed.is_empty() || !gone.is_empty() {
            let findings = self.collection.findings();
            show.batch(&show::WatchBatch { first, changed, gone, places, findings })?;
        }
        Ok(())
    }
}

/// A digest of everything that is shown of a group.
fn said(inspected: &[InspectedSkill]) -> Digest {
    let mut said = String::new();
    for InspectedSkill { origin, findings, skill } in inspected {
        said.push_str(origin);
        said.push_str(&serde_json::to_string(findings).unwrap_or_default());
        if let Some(skill) = skill {
            said.push_str(&skill.entry.text());
        }
    }
    Digest::of(said.as_bytes())
}

fn is_watched(state: &WatchState) -> bool {
    !state.roots().iter().any(|(_, watch)| matches!(watch, WatchCoverage::Unwatched(_)))
}

/// Prints why the folder cannot be read, unless the last message was the same.
fn tell_once(before: &mut Option<String>, error: &SourceUnavailable) {
    let now = format!("`{}` cannot be read: {}", error.origin, error.reason);
    if before.as_ref() != Some(&now) {
        // If standard error is closed, there is no other place to report to.
        let _ = writeln!(prose::stderr(), "{}", printable(&now));
        *before = Some(now);
    }
}
