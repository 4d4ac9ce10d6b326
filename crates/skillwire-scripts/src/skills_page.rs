//! The method `skills/execute`, for clients of the "Skills" page.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_engine::dialect::{NotRun, RunScripts, Script};
use skillwire_sandbox::RunEnd;
use skillwire_source::Skill;

use crate::{
    audit::{self, AuditSubject},
    reply,
    runner::{ScriptRequest, ScriptRunner},
    script_not_run::ScriptNotRun,
    sent_inputs::{self, InputContent},
};

/// The key of the arguments that holds input files.
const INPUTS: &str = "_inputs";

/// Answers `skills/execute` with a [`ScriptRunner`].
#[derive(Debug, Clone)]
pub struct SkillsPageScripts(Arc<ScriptRunner>);

impl SkillsPageScripts {
    /// Runs what the runner's rules allow.
    pub fn new(runner: Arc<ScriptRunner>) -> Self {
        Self(runner)
    }
}

impl RunScripts for SkillsPageScripts {
    fn not_found(&self, skill: &Skill, script: &str, caller: &str) {
        let subject = AuditSubject::without_file(skill, script, caller);
        audit::log_refused(&subject, &ScriptNotRun::NoSuchFile);
    }

    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>> {
        let runner = Arc::clone(&self.0);
        async move {
            let Script { skill, path, mut arguments, caller, progress } = script;
            // The page knows arguments alone, so inputs travel among them.
            let object = arguments.as_mut().and_then(Value::as_object_mut);
            let inputs = object.and_then(|object| object.remove(INPUTS)).unwrap_or_default();
            let inputs = sent_inputs::read(&inputs, |uri| {
                runner.outputs().read(&caller, uri).map(|file| InputContent::Bytes(file.bytes))
            });
            let inputs =
                inputs.map_err(|invalid| NotRun(ScriptNotRun::from(invalid).to_string()))?;
            let request = ScriptRequest { skill, script: path, arguments, inputs, caller };
            let run = runner.run(request, |run| reply::report_progress(&progress, run)).await;
            let run = run.map_err(|reason| NotRun(reason.to_string()))?;
            // The page has an error for scripts that did not run to their end.
            if let RunEnd::Stopped(reason) = run.outcome.end {
                return Err(NotRun(format!("The script was stopped: {reason}.")));
            }
            let mut content = reply::content(&run.outcome, &run.files);
            content.extend(run.note.map(|note| json!({ "type": "text", "text": note })));
            Ok(json!({
                "content": content,
                "isError": !run.outcome.end.is_success(),
            }))
        }
        .boxed()
    }
}
