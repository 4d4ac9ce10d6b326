//! `skillwire hub key`: the keys that a hub signs its decisions with.

use std::{fs, io::Write as _, path::PathBuf, time::SystemTime};

use serde_json::json;
use skillwire_attest::SigningKey;

use crate::{
    args::{HubKeyArgs, HubKeyNewArgs, HubKeyRetireArgs},
    commands::{Outcome, private_file},
    exit::Exit,
    failure::Failure,
    prose, report,
    settings::hub::HubFile,
    settings::hub_access::{key_files, signing_key},
};

/// Makes the first key, or with `rotate` a further one.
pub(super) fn create(args: &HubKeyNewArgs, rotate: bool) -> Outcome {
    let file = HubFile::read(&args.dir)?;
    let folder = file.key_folder();
    let there = key_files(&folder)?;
    if rotate && there.is_empty() {
        return Err(Failure::usage("The hub has no key yet.")
            .hint(format!("`skillwire hub key new {}` makes one.", args.dir.display())));
    }
    if !rotate && !there.is_empty() {
        return Err(Failure::usage("The hub has a key already.").hint(format!(
            "`skillwire hub key rotate {}` adds one, and signs with both.",
            args.dir.display()
        )));
    }
    if args.dry_run {
        return would(args.json, &format!("A key would be made in `{}`.", folder.display()));
    }
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| {
        Failure::new(Exit::Internal, "This system gives no random bytes.").because(error)
    })?;
    let key = SigningKey::from_seed(&seed);
    let cannot = |path: &PathBuf, error: std::io::Error| {
        Failure::usage(format!("`{}` cannot be written.", path.display())).because(error)
    };
    private_file::folder(&folder).map_err(|error| cannot(&folder, error))?;
    let id = key.public().id().to_string();
    let short: String = id.trim_start_matches("sha256:").chars().take(12).collect();
    // Files sort by their time, so that the newest key signs last.
    let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let name = format!("{}-{short}", time.replace(':', ""));
    let (private, public) =
        (folder.join(format!("{name}.pem")), folder.join(format!("{name}.pub")));
    private_file::write_new(&public, &key.public().to_pem(), false)
        .map_err(|error| cannot(&public, error))?;
    private_file::write_new(&private, &key.to_pem(), true)
        .map_err(|error| cannot(&private, error))?;
    if args.json {
        let made =
            json!({"id": id, "key": key.public().to_line(), "public": public, "private": private});
        report::json(&mut std::io::stdout().lock(), &made)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    writeln!(out, "Made the key {id}. Hosts trust its public part, `{}`:", public.display())?;
    writeln!(out, "{}", key.public().to_line())?;
    let mut err = prose::stderr();
    writeln!(
        err,
        "`skillwire server add LABEL URL --trust-key FILE` takes the hub's decisions instead of asking."
    )?;
    if rotate {
        writeln!(
            err,
            "The hub signs with the old key, too, until `skillwire hub key retire {} ID`.",
            args.dir.display()
        )?;
    }
    Ok(Exit::Ok)
}

/// Says what a command would do that was only tried.
fn would(json: bool, happen: &str) -> Outcome {
    if json {
        let plan = json!({"dry_run": true, "plan": happen});
        report::json(&mut std::io::stdout().lock(), &plan)?;
    } else {
        writeln!(prose::stdout(), "{happen}")?;
    }
    Ok(Exit::Ok)
}

/// Shows the keys, the oldest first.
pub(super) fn list(args: &HubKeyArgs) -> Outcome {
    let folder = HubFile::read(&args.dir)?.key_folder();
    let mut rows = Vec::new();
    for file in key_files(&folder)? {
        let key = signing_key(&file)?;
        rows.push((
            key.public().id().to_string(),
            key.public().to_line(),
            file.with_extension("pub"),
        ));
    }
    if args.json {
        let keys: Vec<_> = rows
            .iter()
            .map(|(id, key, public)| json!({"id": id, "key": key, "public": public}))
            .collect();
        report::json(&mut std::io::stdout().lock(), &keys)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    for (id, key, _) in &rows {
        writeln!(out, "{id}  {key}")?;
    }
    if rows.is_empty() {
        let dir = args.dir.display();
        writeln!(
            prose::stderr(),
            "The hub signs nothing; `skillwire hub key new {dir}` makes a key."
        )?;
    }
    Ok(Exit::Ok)
}

/// Stops signing with a key. Its public part stays, so that old decisions can still be understood.
pub(super) fn retire(args: &HubKeyRetireArgs) -> Outcome {
    let folder = HubFile::read(&args.dir)?.key_folder();
    let wanted = args.id.trim_start_matches("sha256:");
    let mut found = Vec::new();
    for file in key_files(&folder)? {
        let id = signing_key(&file)?.public().id().to_string();
        if wanted.len() >= 6 && id.trim_start_matches("sha256:").starts_with(wanted) {
            found.push((id, file));
        }
    }
    let [(id, file)] = &found[..] else {
        return Err(Failure::usage(format!(
            "`{}` names no key of the hub.",
            args.id.escape_debug()
        ))
        .hint(format!("`skillwire hub key list {}` shows them.", args.dir.display())));
    };
    if args.dry_run {
        return would(args.json, &format!("The hub would sign with {id} no longer."));
    }
    let retired = file.with_extension("retired");
    fs::rename(file, &retired).map_err(|error| {
        Failure::usage(format!("`{}` cannot be renamed.", file.display())).because(error)
    })?;
    if args.json {
        let retired = json!({"id": id, "retired": true, "file": retired});
        report::json(&mut std::io::stdout().lock(), &retired)?;
        return Ok(Exit::Ok);
    }
    writeln!(prose::stdout(), "The hub signs with {id} no longer.")?;
    writeln!(
        prose::stderr(),
        "If the key leaked, tell the users: `skillwire server trust LABEL KEY...` takes it out."
    )?;
    Ok(Exit::Ok)
}
