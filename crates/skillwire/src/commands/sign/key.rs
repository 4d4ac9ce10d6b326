//! `skillwire key new`: makes a key to sign skills with.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;
use skillwire_attest::SigningKey;

use crate::{
    args::KeyNewArgs,
    commands::{Outcome, private_file},
    exit::Exit,
    failure::Failure,
    prose, report,
    settings::signing_key_file,
};

pub(crate) fn run(args: &KeyNewArgs) -> Outcome {
    let file = match &args.out {
        Some(file) => file.clone(),
        None => default_file()?,
    };
    let public_file = file.with_extension("pub");
    if public_file == file {
        return Err(Failure::usage(format!("`{}` is the name of a public key.", file.display()))
            .hint("Choose another ending, such as `.pem`."));
    }
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| {
        Failure::new(Exit::Internal, "This system gives no random bytes.").because(error)
    })?;
    let key = SigningKey::from_seed(&seed);
    if args.out.is_none()
        && let Some(folder) = file.parent()
    {
        private_file::folder(folder).map_err(|error| not_written(folder, error))?;
    }
    // The public key is written first: a private key without it would have to be removed by hand.
    private_file::write_new(&public_file, &key.public().to_pem(), false)
        .map_err(|error| not_written(&public_file, error))?;
    if let Err(error) = private_file::write_new(&file, &key.to_pem(), true) {
        let _ = fs::remove_file(&public_file);
        return Err(not_written(&file, error));
    }
    let public = key.public();
    if args.json {
        let made = json!({
            "private": file,
            "public": public_file,
            "key": public.to_line(),
            "id": public.id().to_string(),
        });
        report::json(&mut io::stdout().lock(), &made)?;
    } else {
        let mut out = prose::stdout();
        writeln!(out, "Made the key `{}`; keep it to yourself.", file.display())?;
        writeln!(out, "Its public part is `{}`:\n{}", public_file.display(), public.to_line())?;
        out.flush()?;
    }
    Ok(Exit::Ok)
}

/// The file of the key that `sign` uses unless another one is named.
pub(super) fn default_file() -> Result<PathBuf, Failure> {
    signing_key_file().ok_or_else(|| {
        Failure::usage("There is no folder to keep a key in: this user has no home.")
            .hint("Name a file, or set `SKILLWIRE_HOME` to a folder that only you can write to.")
    })
}

fn not_written(path: &Path, error: io::Error) -> Failure {
    let exists = error.kind() == io::ErrorKind::AlreadyExists;
    let failure = Failure::usage(format!("`{}` cannot be written.", path.display())).because(error);
    if exists {
        failure.hint("A key is never overwritten. Name another file with `--out FILE`.")
    } else {
        failure
    }
}
