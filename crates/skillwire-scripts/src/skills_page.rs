//! The method `skills/execute`, for clients of the "Skills" page.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_engine::dialect::{NotRun, RunScripts, Script};
use skillwire_sandbox::RunEnd;

use crate::{
    reply,
    runner::{ScriptRequest, ScriptRunner},
};

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
    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>> {
        let runner = Arc::clone(&self.0);
        async move {
            let Script { skill, path, arguments, caller, progress } = script;
            let request = ScriptRequest { skill, script: path, arguments, caller };
            let run = runner.run(request, |run| reply::report_progress(&progress, run)).await;
            let run = run.map_err(|reason| NotRun(reason.to_string()))?;
            // The page has an error for scripts that did not run to their end.
            if let RunEnd::Stopped(reason) = run.outcome.end {
                return Err(NotRun(format!("The script was stopped: {reason}.")));
            }
            Ok(json!({
                "content": reply::content(&run.outcome, &run.files),
                "isError": !run.outcome.end.is_success(),
            }))
        }
        .boxed()
    }
}
