//! What operators do: collecting, erasing, copying and moving.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use http::Method;
use serde_json::json;
use skillwire_hub::{Caller, Subject};
use skillwire_hub_server::api::{Collected, Confirmation, NewErasure, StateChanged, SubjectErased};
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, StoreError, StoreOptions, TransferReport,
    check_backup, check_target,
};

use super::{
    client::{Answer, open_store, store_failure, with_hub},
    init::{cannot_write, make_folder},
    read::version_path,
};
use crate::{
    args::{HubBackupArgs, HubGcArgs, HubMigrateArgs, HubPurgeArgs, HubRestoreArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, report,
    report::printable,
    session,
    settings::hub::{HUB_FILE, HubFile},
    terminal,
};

pub(super) fn collect(args: &HubGcArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let wish = Confirmation { dry_run: args.dry_run, reason: String::new() };
        let collected = hub.send_json::<Collected>(Method::POST, "/gc", &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &collected.json)?;
        } else {
            let Collected { blobs, bytes, dry_run } = collected.value;
            let verb = if dry_run { "Would remove" } else { "Removed" };
            let (blobs, bytes) = (many(blobs, "file"), many(bytes, "byte"));
            writeln!(prose::stdout(), "{verb} {blobs} that no version names, {bytes}.")?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn purge(args: &HubPurgeArgs) -> Outcome {
    let what = match (&args.version, &args.subject) {
        (Some(version), _) => Erasure::Version { name: version, path: version_path(version)? },
        (None, Some(subject)) => Erasure::Subject(subject),
        (None, None) => return Err(Failure::usage("Nothing to erase was named.")),
    };
    if !args.yes && !args.dry_run {
        let question = match &what {
            Erasure::Version { name, .. } => format!("Erase the bytes of {name} for good?"),
            Erasure::Subject(subject) => {
                format!(
                    "Replace the name `{subject}` by a pseudonym for good, and revoke its tokens?"
                )
            }
        };
        match terminal::agrees(&question) {
            Some(true) => {}
            Some(false) => {
                writeln!(prose::stderr(), "Nothing was erased.")?;
                return Ok(Exit::Ok);
            }
            None => {
                return Err(Failure::usage("Erasing was not confirmed.")
                    .hint("Run this command in a terminal and decide there; `--dry-run` only shows what would be erased."));
            }
        }
    }
    with_hub(&args.target, async |hub| match &what {
        Erasure::Version { path, .. } => {
            let path = format!("{path}/purge");
            let wish = Confirmation { dry_run: args.dry_run, reason: args.reason.clone() };
            let erased = hub.send_json::<StateChanged>(Method::POST, &path, &wish).await?;
            show_erased_version(&erased, args.target.json)
        }
        Erasure::Subject(subject) => {
            let wish = NewErasure {
                subject: (*subject).to_owned(),
                reason: args.reason.clone(),
                dry_run: args.dry_run,
            };
            let path = "/subjects/purge";
            let erased = hub.send_json::<SubjectErased>(Method::POST, path, &wish).await?;
            show_erased_subject(subject, &erased, args.target.json)
        }
    })
}

/// What is erased.
enum Erasure<'a> {
    Version { name: &'a str, path: String },
    Subject(&'a str),
}

fn show_erased_version(erased: &Answer<StateChanged>, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &erased.json)?;
        return Ok(Exit::Ok);
    }
    let StateChanged { versions, changed, dry_run } = &erased.value;
    for version in versions {
        let name = format!("{}@{}", version.skill, version.version);
        let happens = match (changed, dry_run) {
            (true, _) => "is erased now",
            (false, true) if !version.purged => "would be erased",
            (false, _) => "was erased already",
        };
        writeln!(prose::stdout(), "{name} {happens}.")?;
    }
    Ok(Exit::Ok)
}

fn show_erased_subject(subject: &str, erased: &Answer<SubjectErased>, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &erased.json)?;
        return Ok(Exit::Ok);
    }
    let SubjectErased { pseudonym, records, tokens, dry_run } = &erased.value;
    let subject = printable(subject);
    let (places, tokens) = (many(*records, "place"), many(*tokens, "token"));
    let mut out = prose::stdout();
    match pseudonym {
        _ if *records == 0 => writeln!(out, "No record of the hub names `{subject}`.")?,
        _ if *dry_run => {
            writeln!(out, "`{subject}` would be erased in {places}, and {tokens} revoked.")?;
        }
        Some(name) => {
            writeln!(out, "`{subject}` is `{name}` now, in {places}. Revoked {tokens}.")?;
        }
        None => writeln!(out, "`{subject}` was erased in {places}. Revoked {tokens}.")?,
    }
    Ok(Exit::Ok)
}

pub(super) fn backup(args: &HubBackupArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.dir)?;
        let store = open_store(&file).await?;
        let place = format!("to `{}`", args.to.display());
        if args.dry_run {
            if fs::read_dir(&args.to).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(store_failure(StoreError::TargetNotEmpty));
            }
            let report = store.size(&operator()?).await.map_err(store_failure)?;
            store.close().await;
            return show_copy(&report, args.json, "Would write", &place, None);
        }
        let report = store.backup(&operator()?, &args.to, |_| ()).await.map_err(store_failure)?;
        let configuration = args.to.join(HUB_FILE);
        let text = fs::read(args.dir.join(HUB_FILE));
        text.and_then(|text| fs::write(&configuration, text))
            .map_err(|error| cannot_write(&configuration, error))?;
        store.close().await;
        show_copy(&report, args.json, "Wrote", &place, None)
    })
}

pub(super) fn restore(args: &HubRestoreArgs) -> Outcome {
    session::run(args.json, async || {
        let planned = check_backup(&args.from).map_err(store_failure)?;
        let path = args.dir.join(HUB_FILE);
        let (file, text) = if path.exists() {
            (HubFile::read(&args.dir)?, None)
        } else {
            let (file, text) = HubFile::of_backup(&args.from, &args.dir)?;
            (file, Some(text))
        };
        let options = file.store()?;
        check_target(&options).await.map_err(|error| {
            let in_use = matches!(error, StoreError::TargetNotEmpty);
            let failure = store_failure(error);
            if !in_use {
                return failure;
            }
            let (database, path) = (&options.database, path.display());
            failure.hint(format!(
                "The database is `{database}`. Write a `{path}` that names another one, or name another folder."
            ))
        })?;
        let place = format!("into `{}`", args.dir.display());
        if args.dry_run {
            return show_copy(&planned, args.json, "Would restore", &place, None);
        }
        let made = MadeFiles::begin(&args.dir, &options.database)?;
        let report = match fill(options, &args.from).await {
            Ok(report) => report,
            Err(error) => {
                made.remove();
                return Err(store_failure(error));
            }
        };
        if let Some(text) = text {
            fs::write(&path, text).map_err(|error| cannot_write(&path, error))?;
        }
        show_copy(&report, args.json, "Restored", &place, None)
    })
}

async fn fill(options: StoreOptions, backup: &Path) -> Result<TransferReport, StoreError> {
    let store = HubStore::open(options).await?;
    let report = store.restore(backup, |_| ()).await;
    store.close().await;
    report
}

/// What a restore makes, to be removed if it fails: an empty hub must not look like a restored one.
struct MadeFiles {
    folder: Option<PathBuf>,
    database: Option<PathBuf>,
}

impl MadeFiles {
    fn begin(folder: &Path, database: &DatabaseLocation) -> Result<Self, Failure> {
        let made = Self {
            folder: (!folder.exists()).then(|| folder.to_owned()),
            database: match database {
                DatabaseLocation::Sqlite(path) if !path.exists() => Some(path.clone()),
                _ => None,
            },
        };
        make_folder(folder)?;
        Ok(made)
    }

    /// Removes what was made, as far as that can be done.
    fn remove(&self) {
        for ending in ["", "-wal", "-shm"] {
            if let Some(path) = &self.database {
                let mut path = path.clone().into_os_string();
                path.push(ending);
                drop(fs::remove_file(path));
            }
        }
        if let Some(folder) = &self.folder {
            drop(fs::remove_dir_all(folder));
        }
    }
}

pub(super) fn migrate(args: &HubMigrateArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.dir)?;
        let options = file.store_at(&args.to, args.blobs.as_deref())?;
        let to = NewPlace::of(&options);
        let place = format!("to `{}` and `{}`", to.database, to.blobs);
        let store = open_store(&file).await?;
        if args.dry_run {
            check_target(&options).await.map_err(store_failure)?;
            let report = store.size(&operator()?).await.map_err(store_failure)?;
            store.close().await;
            return show_copy(&report, args.json, "Would copy", &place, Some(&to));
        }
        let target = HubStore::open(options).await.map_err(store_failure)?;
        let report =
            store.migrate_to(&operator()?, &target, |_| ()).await.map_err(store_failure)?;
        store.close().await;
        target.close().await;
        let outcome = show_copy(&report, args.json, "Copied", &place, Some(&to))?;
        if !args.json {
            let file = args.dir.join(HUB_FILE);
            writeln!(
                prose::stderr(),
                "Name the new place in `[database]` and `[blobs]` of `{}`, and start the hub again. \
                 What a hub that still runs took after the copy is not there; stop it before you migrate.",
                file.display()
            )?;
        }
        Ok(outcome)
    })
}

/// Where a migration copies to, so that the configuration can name it from any folder.
struct NewPlace {
    database: String,
    blobs: String,
}

impl NewPlace {
    fn of(options: &StoreOptions) -> Self {
        let absolute = |path: &Path| {
            std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
        };
        Self {
            database: match &options.database {
                DatabaseLocation::Sqlite(path) => absolute(path),
                other @ DatabaseLocation::Postgres(_) => other.to_string(),
            },
            blobs: match &options.blobs {
                BlobLocation::Folder(path) => absolute(path),
                other @ BlobLocation::S3(_) => other.to_string(),
            },
        }
    }
}

/// The caller of commands that open a hub's own files.
fn operator() -> Result<Caller, Failure> {
    let subject = Subject::parse("operator");
    let subject = subject.map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    Ok(Caller::administrator(subject))
}

fn many(count: u64, one: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), one)
}

fn show_copy(
    report: &TransferReport,
    json: bool,
    verb: &str,
    place: &str,
    to: Option<&NewPlace>,
) -> Outcome {
    let TransferReport { rows, blobs, bytes, damaged } = report;
    if json {
        let mut copied = json!({"rows": rows, "blobs": blobs, "bytes": bytes, "damaged": damaged});
        if let Some(NewPlace { database, blobs }) = to {
            copied["to"] = json!({"database": database, "blobs": blobs});
        }
        if verb.starts_with("Would") {
            copied["dry_run"] = true.into();
        }
        report::json(&mut std::io::stdout().lock(), &copied)?;
    } else {
        let (rows, blobs) = (many(*rows, "record"), many(*blobs, "file"));
        let bytes = many(*bytes, "byte");
        writeln!(prose::stdout(), "{verb} {rows} and {blobs}, {bytes}, {place}.")?;
        for digest in damaged {
            writeln!(prose::stderr(), "The stored file {digest} is damaged or missing.")?;
        }
    }
    Ok(if damaged.is_empty() { Exit::Ok } else { Exit::Verification })
}
