//! Finds out whether a tier works on this machine by running a script in it.
//!
//! A probe of the single system calls would lie: a container's policy may allow `unshare` and
//! forbid the mounts that come after it.

use bytes::Bytes;
use skillwire_core::RelPath;

use super::supervisor::{RunFailure, RunSupervisor};
use crate::{
    arguments::ScriptArguments,
    cancel::CancelHandle,
    interpreter::InterpreterFinder,
    isolation::{IsolationTier, MissingRequirement},
    job::{JobFile, ScriptJob},
    outcome::RunEnd,
    sandbox::NoObserver,
};

/// A script that succeeds only where it can do what scripts need, and nothing else.
///
/// It uses only commands that are built into the shell: the restricted tier allows no second
/// process.
const PROBE_SCRIPT: &str = r#"
test "$1" = word || { echo "arguments do not arrive"; exit 1; }
read -r line && test "$line" = input || { echo "input does not arrive"; exit 1; }
test -r "$SKILL_DIR/look.sh" || { echo "the skill cannot be read"; exit 1; }
echo kept > "$OUTPUT_DIR/kept" || { echo "output cannot be written"; exit 1; }
{ echo x > "$SKILL_DIR/new"; } 2> /dev/null && { echo "the skill can be changed"; exit 1; }
for file in /etc/shadow /etc/passwd- /etc/hostname /proc/1/environ /sys/kernel/notes; do
    { read -r line < "$file"; } 2> /dev/null && { echo "$file can be read"; exit 1; }
done
echo isolated
"#;

/// Runs the script in a tier. Returns what the machine does not give within the tier, or the
/// requirement that made it fail.
pub(crate) fn probe(
    supervisor: &RunSupervisor,
    tier: IsolationTier,
) -> Result<Vec<String>, MissingRequirement> {
    let missing = |what: &str, why: String, hint: &str| MissingRequirement {
        tier,
        what: what.to_owned(),
        why,
        hint: hint.to_owned(),
    };
    let job = probe_job()
        .map_err(|why| missing("a shell to test it with", why, "Install `sh` in `/bin`."))?;
    let cancel = CancelHandle::new().map_err(|error| {
        missing("an event descriptor", error.to_string(), "Raise the limit on open files.")
    })?;
    let finished = match supervisor.run(&job, tier, &cancel, &mut NoObserver) {
        Ok(finished) => finished,
        Err(RunFailure::Isolation { what, why, hint }) => return Err(missing(what, why, hint)),
        Err(RunFailure::Exec(error)) => {
            let hint = "Make `/bin/sh` a program that every user may execute.";
            return Err(missing("a shell to test it with", error.to_string(), hint));
        }
        Err(RunFailure::Supervision(error)) => {
            let hint = "Check the limits on processes, open files and memory of this process.";
            return Err(missing("a helper process", error.to_string(), hint));
        }
    };
    let outcome = finished.outcome;
    let kept = outcome.files.iter().any(|file| file.bytes == "kept\n");
    if outcome.end == RunEnd::Exited(0) && outcome.stdout.as_str() == "isolated\n" && kept {
        return Ok(finished.notes);
    }
    let output = format!("{}{}", outcome.stdout.as_str(), outcome.stderr.as_str());
    let why = format!("a test script {} and wrote `{}`", outcome.end, output.trim());
    Err(missing("layers that hold", why, "Report this with the version of the kernel."))
}

fn probe_job() -> Result<ScriptJob, String> {
    let script = RelPath::parse("look.sh").map_err(|error| error.to_string())?;
    let file = JobFile { path: script.clone(), bytes: Bytes::from_static(PROBE_SCRIPT.as_bytes()) };
    let arguments = ScriptArguments::from_words(vec!["word".to_owned()], b"input\n".to_vec());
    let arguments = arguments.map_err(|error| error.to_string())?;
    ScriptJob::new(vec![file], script, arguments, &InterpreterFinder::default())
        .map_err(|error| error.to_string())
}
