//! Whether a script really runs isolated here: one is run, and looks around.

use bytes::Bytes;
use skillwire_core::path::RelPath;

use super::supervisor::{self, Failed, Shared};
use crate::{
    arguments::Arguments,
    interpreter::Interpreters,
    isolation::{Missing, Tier},
    job::{Job, JobFile},
    outcome::End,
    sandbox::Cancel,
};

/// A script that works only where it can do what scripts need, and nothing else.
///
/// Only commands that the shell has in itself: without namespaces there are no other processes.
const LOOK_AROUND: &str = r#"
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

/// Runs the script in a tier and judges what it says.
pub(crate) fn probe(shared: &Shared, tier: Tier) -> Result<Vec<String>, Missing> {
    let missing = |what: &str, why: String, hint: &str| {
        let (what, hint) = (what.to_owned(), hint.to_owned());
        Missing { tier, what, why, hint }
    };
    let job =
        job().map_err(|why| missing("a shell to try it with", why, "Install `sh` in `/bin`."))?;
    let cancel = Cancel::new().map_err(|error| {
        missing("an event descriptor", error.to_string(), "Raise the limit on open files.")
    })?;
    let finished = match supervisor::run(shared, &job, tier, &cancel, &mut |_| {}) {
        Ok(finished) => finished,
        Err(Failed::Step { what, why, hint }) => return Err(missing(what, why, hint)),
        Err(Failed::Exec(error)) => {
            let hint = "Make `/bin/sh` a program that every user may execute.";
            return Err(missing("a shell to try it with", error.to_string(), hint));
        }
        Err(Failed::Supervisor(error)) => {
            let hint = "Look at the limits on processes, files and memory here.";
            return Err(missing("a helper process", error.to_string(), hint));
        }
    };
    let outcome = finished.outcome;
    let kept = outcome.files.iter().any(|file| file.bytes == "kept\n");
    if outcome.end == End::Exited(0) && outcome.stdout.as_str() == "isolated\n" && kept {
        return Ok(finished.notes);
    }
    let said = format!("{}{}", outcome.stdout.as_str(), outcome.stderr.as_str());
    let why = format!("a script that was tried {} and said `{}`", outcome.end, said.trim());
    Err(missing("layers that hold", why, "Report this with the kernel's version."))
}

fn job() -> Result<Job, String> {
    let script = RelPath::parse("look.sh").map_err(|error| error.to_string())?;
    let file = JobFile { path: script.clone(), bytes: Bytes::from_static(LOOK_AROUND.as_bytes()) };
    let arguments = Arguments::typed(vec!["word".to_owned()], b"input\n".to_vec());
    let arguments = arguments.map_err(|error| error.to_string())?;
    Job::new(vec![file], script, arguments, &Interpreters::default())
        .map_err(|error| error.to_string())
}
