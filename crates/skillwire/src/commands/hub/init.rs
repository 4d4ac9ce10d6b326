//! `skillwire hub init`: a hub in a folder.

use std::{fs, io::Write as _, path::Path};

use serde_json::json;
use skillwire_hub_store::HubStore;

use super::client::store_failure;
use crate::{
    args::HubInitArgs,
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    prose, report, session,
    settings::hub::{HUB_FILE, HubFile, NEW_HUB},
};

pub(super) fn run(args: &HubInitArgs) -> Outcome {
    session::run(args.json, async || {
        let path = args.dir.join(HUB_FILE);
        let exists = path.exists();
        if args.dry_run {
            let dir = args.dir.display();
            if args.json {
                let plan = json!({"hub": args.dir, "created": !exists, "dry_run": true});
                report::json(&mut std::io::stdout().lock(), &plan)?;
            } else if exists {
                writeln!(
                    prose::stdout(),
                    "`{dir}` has a `{HUB_FILE}` already; it would stay as it is."
                )?;
            } else {
                writeln!(prose::stdout(), "A hub would be made in `{dir}`.")?;
            }
            return Ok(Exit::Ok);
        }
        if !exists {
            make_folder(&args.dir)?;
            fs::write(&path, NEW_HUB).map_err(|error| cannot_write(&path, error))?;
        }
        let options = HubFile::read(&args.dir)?.store()?;
        let store = HubStore::open(options).await.map_err(store_failure)?;
        let made = store.create_first_token("first", operator()?).await;
        let token = match made {
            Ok((_, secret)) => Some(secret.expose()),
            // A hub that has a token stays as it is, so that the command can be repeated.
            Err(error) if exists && error.refusal().is_some() => None,
            Err(error) => return Err(store_failure(error)),
        };
        store.close().await;
        if args.json {
            let made = json!({"hub": args.dir, "created": !exists, "token": token});
            report::json(&mut std::io::stdout().lock(), &made)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        let dir = args.dir.display();
        match token {
            Some(token) => {
                writeln!(
                    out,
                    "Made a hub in `{dir}`. Its first token may do everything, and is shown once:"
                )?;
                writeln!(out, "{token}")?;
            }
            None => writeln!(out, "`{dir}` holds a hub already; nothing was changed.")?,
        }
        writeln!(prose::stderr(), "`skillwire hub serve {dir}` serves it.")?;
        Ok(Exit::Ok)
    })
}

fn operator() -> Result<skillwire_hub::Subject, Failure> {
    skillwire_hub::Subject::parse("admin")
        .map_err(|error| Failure::new(Exit::Internal, error.to_string()))
}

/// Makes the folder of a hub; only the user may enter it, since it holds the database.
pub(super) fn make_folder(dir: &Path) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| cannot_write(dir, error))
}

pub(super) fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::usage(format!("`{}` cannot be written.", path.display())).because(error)
}
