//! `skillwire verify-signature`: says who signed a skill, if it is as it was signed.

use std::{
    io::{self, Write},
    path::Path,
    time::SystemTime,
};

use serde_json::{Value, json};
use skillwire_attest::{MAX_SIGNATURE_BYTES, SIGNATURE_FILES, SigningTime, TrustedSigner};
use skillwire_core::RelPath;
use skillwire_source::SkillContent;

use super::files_of;
use crate::{
    args::{ReadingArgs, TrustedSignerArgs, VerifySignatureArgs},
    commands::{Outcome, one_skill},
    exit::Exit,
    failure::Failure,
    features::Feature,
    output::{ADDED, ERROR, FAINT, STRONG},
    prose, regular_file,
    report::{self, printable},
    signatures::{self, CheckedSignature},
};

/// What is needed to check each skill.
struct Check<'a> {
    trusted: Vec<TrustedSigner>,
    now: SystemTime,
    /// A signature outside the skill.
    detached: Option<&'a Path>,
}

/// A skill with its signature, or why there is none.
struct CheckedSkill {
    skill: String,
    /// The file that holds the signature.
    signature: Option<String>,
    checked: Option<CheckedSignature>,
    /// Why nothing was checked.
    unchecked: Option<(&'static str, String)>,
}

pub(crate) fn run(args: &VerifySignatureArgs) -> Outcome {
    let detached = args.signature.as_deref();
    if detached.is_some() && args.skills.len() > 1 {
        return Err(Failure::usage("`--signature` names the signature of one skill.")
            .hint("Verify the skills one by one."));
    }
    let now = args.at.as_deref().map(signatures::time).transpose()?;
    let check = Check {
        trusted: trusted(&args.trusted)?,
        now: now.unwrap_or_else(SystemTime::now),
        detached,
    };
    let mut results = Vec::new();
    for skill in &args.skills {
        let result = if Path::new(skill).exists() {
            check.folder(skill)?
        } else {
            Feature::Host.needed_for("skillwire verify-signature HANDLE")?;
            check.handle(skill, args.json)?
        };
        if !args.json {
            print(&mut prose::stdout(), &result)?;
        }
        results.push(result);
    }
    if args.json {
        let results: Vec<Value> = results.iter().map(to_json).collect();
        report::json(&mut io::stdout().lock(), &results)?;
    }
    let all = results.iter().all(CheckedSkill::is_verified);
    Ok(if all { Exit::Ok } else { Exit::Verification })
}

/// The signers that the options name.
fn trusted(args: &TrustedSignerArgs) -> Result<Vec<TrustedSigner>, Failure> {
    let TrustedSignerArgs { key, root, identity, issuer } = args;
    let keys = key.iter().map(|key| signatures::trusted_key(key));
    let roots = root
        .iter()
        .map(|root| signatures::trusted_root(root, identity.as_deref(), issuer.as_deref()));
    let trusted: Vec<_> = keys.chain(roots).collect::<Result<_, _>>()?;
    #[cfg(feature = "host")]
    let trusted = if trusted.is_empty() {
        crate::settings::HostSettings::resolve()?.trusted_signers()?
    } else {
        trusted
    };
    if trusted.is_empty() {
        return Err(Failure::usage("No signer is trusted, so nothing can be verified.").hint(
            "Name a key with `--key` or a root with `--root`, or write signers into `trust.toml`.",
        ));
    }
    Ok(trusted)
}

impl Check<'_> {
    /// Checks the skill of a folder, as a server would serve it.
    fn folder(&self, folder: &str) -> Result<CheckedSkill, Failure> {
        let reading = ReadingArgs { lenient: true, ..ReadingArgs::default() };
        let skill = match one_skill::read(folder, &reading) {
            Ok(skill) => skill,
            Err(failure) if failure.exit() == Exit::Findings => {
                let problem = "no skill in it can be served".to_owned();
                return Ok(CheckedSkill::unchecked(folder, "not_served", problem));
            }
            Err(failure) => return Err(failure),
        };
        let files = files_of(&skill)?;
        let (bytes, inside) = match (self.detached, signatures::signature_path(&files)) {
            (Some(file), _) => (read_detached(file)?, None),
            (None, None) => return Ok(CheckedSkill::unsigned(folder)),
            (None, Some(path)) => {
                let SkillContent::Files(tree) = &skill.content else {
                    return Ok(CheckedSkill::unsigned(folder));
                };
                let size = files.iter().find(|(other, ..)| **other == path).map(|(.., size)| size);
                let bytes = tree.store.read(&path, size.unwrap_or_default());
                let bytes = bytes.map_err(|error| {
                    Failure::usage(format!("`{path}` in `{folder}` cannot be read.")).because(error)
                })?;
                (bytes.to_vec(), Some(path))
            }
        };
        Ok(self.checked(folder, &bytes, inside.as_ref(), files))
    }

    /// Checks a skill of a server or of a skill folder. Only its signature is read: the manifest
    /// has the digest of every other file.
    #[cfg(feature = "host")]
    fn handle(&self, handle: &str, json: bool) -> Result<CheckedSkill, Failure> {
        use skillwire_attest::SkillFiles;

        use crate::{args::OriginArgs, session};

        let mut result = None;
        let options = session::SessionOptions::about(handle, OriginArgs::default());
        session::with(json, options, async |session| {
            let named = session.find_now(handle).await?;
            let name = named.handle.as_str();
            let listed = &named.listed;
            let no_digests = "its files have no digests that could be compared".to_owned();
            let content = listed.content().filter(|_| !listed.integrity().is_first_seen());
            let Some(content) = content else {
                result = Some(CheckedSkill::unchecked(name, "no_digests", no_digests));
                return Ok(Exit::Ok);
            };
            let paths = content.files().iter().filter_map(|file| {
                Some((listed.id().uri.below(&file.uri)?, file.digest, file.size))
            });
            let files = SkillFiles::new(paths).map_err(|error| super::no_identity(&error))?;
            let (bytes, inside) = match (self.detached, signatures::signature_path(&files)) {
                (Some(file), _) => (read_detached(file)?, None),
                (None, None) => {
                    result = Some(CheckedSkill::unsigned(name));
                    return Ok(Exit::Ok);
                }
                (None, Some(path)) => {
                    let read = session.host().inspect(listed, path.as_str()).await?;
                    (read.bytes.to_vec(), Some(path))
                }
            };
            result = Some(self.checked(name, &bytes, inside.as_ref(), files));
            Ok(Exit::Ok)
        })?;
        result.ok_or_else(|| Failure::new(Exit::Internal, "The skill was not checked."))
    }

    #[cfg(not(feature = "host"))]
    #[expect(clippy::unused_self, reason = "builds with servers call it the same way")]
    fn handle(&self, handle: &str, _: bool) -> Result<CheckedSkill, Failure> {
        Err(Failure::usage(format!("`{handle}` does not exist.")))
    }

    fn checked(
        &self,
        skill: &str,
        bytes: &[u8],
        inside: Option<&RelPath>,
        files: skillwire_attest::SkillFiles,
    ) -> CheckedSkill {
        let signature = match (inside, self.detached) {
            (Some(path), _) => Some(path.to_string()),
            (None, file) => file.map(|file| file.display().to_string()),
        };
        let checked = CheckedSignature::check(bytes, inside, files, &self.trusted, self.now);
        CheckedSkill { skill: skill.to_owned(), signature, checked: Some(checked), unchecked: None }
    }
}

fn read_detached(file: &Path) -> Result<Vec<u8>, Failure> {
    let text = regular_file::read(file, MAX_SIGNATURE_BYTES as u64).map_err(|error| {
        Failure::usage(format!("The signature `{}` cannot be read.", file.display())).because(error)
    })?;
    Ok(text.into_bytes())
}

impl CheckedSkill {
    fn unchecked(skill: &str, code: &'static str, problem: String) -> Self {
        let skill = skill.to_owned();
        Self { skill, signature: None, checked: None, unchecked: Some((code, problem)) }
    }

    fn unsigned(skill: &str) -> Self {
        let names = SIGNATURE_FILES.map(|name| format!("`{name}`")).join(", ");
        Self::unchecked(skill, "unsigned", format!("it has no signature in {names}"))
    }

    fn is_verified(&self) -> bool {
        self.checked.as_ref().is_some_and(|checked| checked.content.is_ok())
    }
}

fn to_json(result: &CheckedSkill) -> Value {
    let mut value = match (&result.checked, &result.unchecked) {
        (Some(checked), _) => checked.json(),
        (None, unchecked) => json!({
            "verified": false,
            "code": unchecked.as_ref().map(|(code, _)| code),
            "problem": unchecked.as_ref().map(|(_, problem)| problem),
        }),
    };
    value["skill"] = json!(result.skill);
    value["signature"] = json!(result.signature);
    value
}

fn print(out: &mut impl Write, result: &CheckedSkill) -> io::Result<()> {
    let skill = printable(&result.skill);
    let refused = |out: &mut dyn Write, problem: &str| {
        writeln!(
            out,
            "{ERROR}not verified{ERROR:#} {STRONG}{skill}{STRONG:#}: {}.",
            printable(problem)
        )
    };
    let Some(checked) = &result.checked else {
        let problem = result.unchecked.as_ref().map_or("", |(_, problem)| problem);
        return refused(out, problem);
    };
    match &checked.content {
        Err(error) => refused(out, &format!("the signature {error}"))?,
        Ok(content) => {
            let signer = printable(&content.signer().to_string());
            writeln!(
                out,
                "{ADDED}verified{ADDED:#} {STRONG}{skill}{STRONG:#}: signed by {signer}."
            )?;
            let time = match content.time() {
                SigningTime::Logged(time) => {
                    format!("logged at {}", humantime::format_rfc3339_seconds(time))
                }
                SigningTime::Stamped(time) => {
                    format!(
                        "seen by a timestamp authority at {}",
                        humantime::format_rfc3339_seconds(time)
                    )
                }
                SigningTime::Unproven => "at a time that nothing proves".to_owned(),
            };
            writeln!(out, "  {FAINT}{}, {time}{FAINT:#}", content.content_id())?;
        }
    }
    out.flush()
}
