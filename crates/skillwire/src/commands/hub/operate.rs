//! What operators do: collecting, erasing, copying and moving.

use std::{fs, io::Write as _};

use http::Method;
use serde_json::json;
use skillwire_hub::{Caller, Subject};
use skillwire_hub_server::api::{Collected, Confirmation, StateChanged};
use skillwire_hub_store::{HubStore, TransferReport};

use super::{
    change::show_states,
    client::{open_store, store_failure, with_hub},
    init::{cannot_write, make_folder},
    read::version_path,
};
use crate::{
    args::{HubBackupArgs, HubGcArgs, HubMigrateArgs, HubPurgeArgs, HubRestoreArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    prose, report, session,
    settings::hub::{HUB_FILE, HubFile, NEW_HUB},
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
            writeln!(
                prose::stdout(),
                "{verb} {blobs} files that no version names, {bytes} bytes."
            )?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn purge(args: &HubPurgeArgs) -> Outcome {
    let path = format!("{}/purge", version_path(&args.version)?);
    if !args.yes && !args.dry_run {
        let question = format!("Erase the bytes of {} for good?", args.version);
        match terminal::agrees(&question) {
            Some(true) => {}
            Some(false) => return Ok(Exit::Ok),
            None => {
                return Err(Failure::usage("Erasing was not confirmed.")
                    .hint("Add `--yes` to erase without being asked."));
            }
        }
    }
    with_hub(&args.target, async |hub| {
        let wish = Confirmation { dry_run: args.dry_run, reason: args.reason.clone() };
        let erased = hub.send_json::<StateChanged>(Method::POST, &path, &wish).await?;
        show_states(&erased, args.target.json)
    })
}

pub(super) fn backup(args: &HubBackupArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.dir)?;
        let store = open_store(&file).await?;
        let report = store.backup(&operator()?, &args.to, |_| ()).await.map_err(store_failure)?;
        let configuration = args.to.join(HUB_FILE);
        let text = fs::read(args.dir.join(HUB_FILE));
        text.and_then(|text| fs::write(&configuration, text))
            .map_err(|error| cannot_write(&configuration, error))?;
        store.close().await;
        show_copy(&report, args.json, "Wrote", &format!("to `{}`", args.to.display()))
    })
}

pub(super) fn restore(args: &HubRestoreArgs) -> Outcome {
    session::run(args.json, async || {
        let path = args.dir.join(HUB_FILE);
        if !path.exists() {
            make_folder(&args.dir)?;
            fs::write(&path, NEW_HUB).map_err(|error| cannot_write(&path, error))?;
        }
        let file = HubFile::read(&args.dir)?;
        let store = open_store(&file).await?;
        let report = store.restore(&args.from, |_| ()).await.map_err(store_failure)?;
        store.close().await;
        show_copy(&report, args.json, "Restored", &format!("into `{}`", args.dir.display()))
    })
}

pub(super) fn migrate(args: &HubMigrateArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.dir)?;
        let target = file.store_at(&args.to, args.blobs.as_deref())?;
        let store = open_store(&file).await?;
        let target = HubStore::open(target).await.map_err(store_failure)?;
        let report =
            store.migrate_to(&operator()?, &target, |_| ()).await.map_err(store_failure)?;
        store.close().await;
        target.close().await;
        show_copy(&report, args.json, "Copied", "to the new place")?;
        if !args.json {
            let file = args.dir.join(HUB_FILE);
            writeln!(
                prose::stderr(),
                "Name the new place in `[database]` and `[blobs]` of `{}`, and start the hub again.",
                file.display()
            )?;
        }
        Ok(Exit::Ok)
    })
}

/// The caller of commands that open a hub's own files.
fn operator() -> Result<Caller, Failure> {
    let subject = Subject::parse("operator");
    let subject = subject.map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    Ok(Caller::administrator(subject))
}

fn show_copy(report: &TransferReport, json: bool, verb: &str, place: &str) -> Outcome {
    let TransferReport { rows, blobs, bytes, damaged } = report;
    if json {
        let copied = json!({"rows": rows, "blobs": blobs, "bytes": bytes, "damaged": damaged});
        report::json(&mut std::io::stdout().lock(), &copied)?;
    } else {
        writeln!(
            prose::stdout(),
            "{verb} {rows} records and {blobs} files, {bytes} bytes, {place}."
        )?;
        for digest in damaged {
            writeln!(prose::stderr(), "The stored file {digest} is damaged or missing.")?;
        }
    }
    Ok(if damaged.is_empty() { Exit::Ok } else { Exit::Verification })
}
