//! `skillwire sign`: signs the files of a skill.

pub(super) mod key;
pub(super) mod verify;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;
use skillwire_attest::{
    Envelope, SIGNATURE_FILE, Signature, SigningKey, SkillFiles, Statement, TrustedSigner,
    skill_statement,
};
use skillwire_core::{NoContentId, RelPath};
use skillwire_source::{Skill, SkillContent};

use super::{Outcome, one_skill};
use crate::{
    args::{ReadingArgs, SignArgs},
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, regular_file, report,
};

/// The largest private key that is read.
const MAX_KEY_BYTES: u64 = 64 * 1024;

pub(crate) fn run(args: &SignArgs) -> Outcome {
    let skill = one_skill::read(&args.skill, &ReadingArgs::default())?;
    let inside = RelPath::parse(SIGNATURE_FILE).map_err(|_| Failure::usage(SIGNATURE_FILE))?;
    let files = files_of(&skill)?;
    // A signature in the skill cannot be over itself; a detached one is over every file.
    let files = if args.out.is_none() { files.without(&inside) } else { files };
    let statement = skill_statement(&files).map_err(|error| no_identity(&error))?;
    if args.dry_run {
        let mut out = io::stdout().lock();
        out.write_all(&statement.to_bytes())?;
        out.write_all(b"\n")?;
        return Ok(Exit::Ok);
    }
    let key = signing_key(args)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => folder_of(&args.skill).join(SIGNATURE_FILE),
    };
    let envelope =
        if args.add { added(&out, &statement, &key)? } else { Envelope::sign(&statement, &[&key]) };
    let text = envelope.to_json();
    let is_other = fs::read(&out).is_ok_and(|before| before != text.as_bytes());
    if is_other && !args.force && !args.add {
        return Err(Failure::usage(format!("`{}` holds another signature.", out.display())).hint(
            "Replace it with `--force`, add yours with `--add`, or name another file with `--out`.",
        ));
    }
    write(&out, &text)?;
    let content_id = files.content_id().map_err(|error| no_identity(&error))?;
    if args.json {
        let signed = json!({
            "signature": out,
            "key": key.public().id().to_string(),
            "files": files.len(),
            "contentId": content_id,
        });
        report::json(&mut io::stdout().lock(), &signed)?;
    } else {
        let count = counted(files.len(), "file");
        writeln!(prose::stdout(), "Signed {count} into `{}`.\n{content_id}", out.display())?;
    }
    Ok(Exit::Ok)
}

/// The files of a skill, with the digests that a server would list.
pub(super) fn files_of(skill: &Skill) -> Result<SkillFiles, Failure> {
    let SkillContent::Files(tree) = &skill.content else {
        return Err(Failure::usage("A skill made on request has no files to sign."));
    };
    let files = tree.files.iter().map(|file| (file.path.clone(), file.digest, file.size));
    SkillFiles::new(files).map_err(|error| no_identity(&error))
}

fn no_identity(error: &NoContentId) -> Failure {
    Failure::new(Exit::Findings, format!("The skill cannot be signed: its content {error}."))
        .hint("Rename the file.")
}

/// The folder of a skill that the user named by its folder or its `SKILL.md`.
fn folder_of(skill: &str) -> PathBuf {
    let path = PathBuf::from(skill);
    if path.is_file() { path.parent().map(Path::to_owned).unwrap_or_default() } else { path }
}

fn signing_key(args: &SignArgs) -> Result<SigningKey, Failure> {
    let file = match &args.key {
        Some(file) => file.clone(),
        None => key::default_file()?,
    };
    let text = regular_file::read(&file, MAX_KEY_BYTES).map_err(|error| {
        let hint = if args.key.is_none() {
            "`skillwire key new` makes a key."
        } else {
            "Name the file of a private key."
        };
        Failure::usage(format!("The key `{}` cannot be read.", file.display()))
            .because(error)
            .hint(hint)
    })?;
    SigningKey::from_pem(&text).map_err(|error| {
        Failure::usage(format!("`{}` cannot be used: the key {error}.", file.display()))
            .hint("Name an Ed25519 key; `skillwire key new` makes one.")
    })
}

/// Adds a signature to those in a file. The key that signs vouches for nothing but the content that
/// it sees, so the file must hold exactly the same statement.
fn added(file: &Path, statement: &Statement, key: &SigningKey) -> Result<Envelope, Failure> {
    let not_added = |problem: String| {
        Failure::new(
            Exit::Verification,
            format!("Nothing was added to `{}`: {problem}.", file.display()),
        )
        .hint("Sign anew with `--force`, or into another file with `--out`.")
    };
    let before =
        fs::read(file).map_err(|error| not_added(format!("it cannot be read: {error}")))?;
    let signature = Signature::parse(&before);
    let mut envelope =
        signature.map_err(|error| not_added(format!("the signature {error}")))?.into_envelope();
    envelope.add_signature(key);
    let again = Signature::parse(envelope.to_json().as_bytes());
    let trusted = [TrustedSigner::key(key.public().clone())];
    let vouched = again.and_then(|again| again.verify(&trusted, std::time::SystemTime::now()));
    let vouched = vouched.map_err(|error| not_added(format!("the signature {error}")))?;
    if vouched.statement() != statement {
        return Err(not_added("it is for other content".to_owned()));
    }
    Ok(envelope)
}

/// Writes a new file and renames it, so that no reader ever sees half a signature.
fn write(out: &Path, text: &str) -> Result<(), Failure> {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let new = out.with_file_name(name);
    fs::write(&new, text).and_then(|()| fs::rename(&new, out)).map_err(|error| {
        // An incomplete signature must not stay behind.
        let _ = fs::remove_file(&new);
        Failure::usage(format!("`{}` cannot be written.", out.display())).because(error)
    })
}
