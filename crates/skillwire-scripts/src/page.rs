//! `skills/execute`, for clients of the "Skills" page.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_engine::dialect::{NotRun, RunScripts, Script};
use skillwire_sandbox::outcome::End;

use crate::{
    reply,
    scripts::{Scripts, Wanted},
};

/// Runs scripts for the page.
#[derive(Debug, Clone)]
pub struct PageScripts(Arc<Scripts>);

impl PageScripts {
    /// Runs what these rules allow.
    pub fn new(scripts: Arc<Scripts>) -> Self {
        Self(scripts)
    }
}

impl RunScripts for PageScripts {
    fn run(&self, script: Script) -> BoxFuture<'static, Result<Value, NotRun>> {
        let scripts = Arc::clone(&self.0);
        async move {
            let Script { skill, path, arguments, caller, progress } = script;
            let wanted = Wanted { skill, script: path, arguments, caller };
            let ran = scripts.run(wanted, |tick| reply::running(&progress, tick)).await;
            let ran = ran.map_err(|why| NotRun(why.to_string()))?;
            // The page keeps its error for what was not run, or not to its end.
            if let End::Stopped(why) = ran.outcome.end {
                return Err(NotRun(format!("It was stopped: {why}.")));
            }
            Ok(json!({
                "content": reply::content(&ran.outcome, &ran.kept),
                "isError": !ran.outcome.end.is_success(),
            }))
        }
        .boxed()
    }
}
