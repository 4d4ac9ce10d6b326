//! Runs scripts of approved skills for the clients of a bridge.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};
use skillwire_core::{RelPath, visible::one_line};
use skillwire_gateway::{
    BridgeScript, BridgeScripts, MissingPackages, ScriptFailure, ScriptReport, ScriptResult,
};
use skillwire_scripts::{
    ExecutionRules, FileRun, FileRunError, JobFile, NetworkDestination, PackageOffer, PackageTools,
    RunReport, ScriptRunner,
};
use skillwire_server::offer::Linked;
use skillwire_trust::{InputPath, Refusal, RunGrants};

use crate::{args::IsolationArgs, execution, failure::Failure, refusals, settings};

/// The name under which files of runs are kept; a bridge has one user.
const CALLER: &str = "";

/// Runs scripts in the sandbox of this program.
struct SandboxedScripts(Arc<ScriptRunner>);

/// Makes what runs the scripts of a bridge, if this machine can isolate them.
pub(crate) fn scripts(
    isolation: IsolationArgs,
    interpreters: &[String],
) -> Result<Option<Arc<dyn BridgeScripts>>, Failure> {
    let interpreters = execution::interpreters(interpreters)?;
    let sandbox = execution::sandbox(isolation);
    if let Err(unavailable) = sandbox.isolation() {
        tracing::info!("scripts cannot be isolated here, so clients cannot run any: {unavailable}");
        return Ok(None);
    }
    // The user's grants decide, and no rules of an operator.
    let runner = ScriptRunner::new(sandbox, interpreters, ExecutionRules::default());
    let runner = execution::with_packages(runner);
    Ok(Some(Arc::new(SandboxedScripts(Arc::new(runner)))))
}

impl BridgeScripts for SandboxedScripts {
    fn resolve_input(&self, path: &str) -> Result<InputPath, String> {
        let shown = path.escape_debug();
        let real = std::fs::canonicalize(path)
            .map_err(|error| format!("`{shown}`, which cannot be read: {error}"))?;
        let text = real.to_str().ok_or_else(|| format!("`{shown}`, which is not UTF-8"))?;
        InputPath::parse(text).map_err(|error| error.to_string())
    }

    fn run(&self, script: BridgeScript) -> BoxFuture<'static, Result<ScriptResult, ScriptFailure>> {
        let runner = Arc::clone(&self.0);
        async move {
            let BridgeScript { skill, files, script, declarations, words, grants, reports, .. } =
                script;
            let variables = variables(&grants)?;
            let command = format!(
                "skillwire run {} {}",
                refusals::argument(&skill.to_string()),
                refusals::argument(script.as_str())
            );
            let run = FileRun {
                caller: CALLER.to_owned(),
                files,
                script,
                declarations,
                how_to_install: Some(format!(
                    "`{}` shows them to the user, and installs them if the user agrees.",
                    one_line(&command)
                )),
                words,
                inputs: grants.inputs.iter().map(|path| path.as_path().to_owned()).collect(),
                variables,
                destinations: destinations(&grants)?,
                limits: execution::granted_limits(&grants),
            };
            let on_report = |report: &RunReport| {
                let (done, text) = report.progress();
                // The channel is full if the client is slow. It gets the next report.
                let _ = reports.try_send(ScriptReport { done, text });
            };
            let mut ran = runner.run_files(run, on_report).await.map_err(failure)?;
            ran.record["asked_by"] = "model".into();
            Ok(ScriptResult {
                summary: ran.summary(),
                content: ran.content(),
                is_error: !ran.outcome.end.is_success(),
                record: ran.record.to_string(),
            })
        }
        .boxed()
    }

    fn describe_arguments(&self, declarations: &[u8], script: &RelPath) -> Option<String> {
        skillwire_scripts::describe_declared(declarations, script)
    }

    fn package_lists(&self, script: &RelPath) -> Vec<RelPath> {
        skillwire_scripts::package_lists(script)
    }

    fn missing_packages(
        &self,
        script: RelPath,
        files: Vec<(RelPath, Bytes)>,
    ) -> BoxFuture<'static, Option<MissingPackages>> {
        let runner = Arc::clone(&self.0);
        let tools =
            PackageTools { uv: settings::find_program("uv"), npm: settings::find_program("npm") };
        async move {
            let files: Vec<_> =
                files.into_iter().map(|(path, bytes)| JobFile { path, bytes }).collect();
            let resolving =
                tokio::task::spawn_blocking(move || runner.offer_packages(tools, &script, &files));
            match resolving.await.ok()? {
                Ok(offer) => offer.map(missing_packages),
                // The script runs without them, and its result says which file lists them.
                Err(error) => {
                    tracing::warn!(%error, "the packages of a script cannot be resolved");
                    None
                }
            }
        }
        .boxed()
    }

    fn output(&self, uri: &str) -> Option<Linked> {
        let file = self.0.outputs().read(CALLER, uri)?;
        Some(Linked { bytes: file.bytes, media_type: file.media_type })
    }
}

fn missing_packages(offer: PackageOffer) -> MissingPackages {
    let offer = Arc::new(offer);
    MissingPackages {
        file: offer.file.clone(),
        packages: offer.packages.iter().map(ToString::to_string).collect(),
        digest: offer.digest,
        install: Box::new(move || install(Arc::clone(&offer)).boxed()),
    }
}

async fn install(offer: Arc<PackageOffer>) -> Result<(), String> {
    let failed = match tokio::task::spawn_blocking(move || offer.install()).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let why = execution::sentence(&one_line(&failed));
    Err(format!("The packages were not installed, and the script did not run. {why}"))
}

fn variables(grants: &RunGrants) -> Result<Vec<(String, String)>, ScriptFailure> {
    let value = |name: &str| {
        settings::variable(name).ok_or_else(|| {
            ScriptFailure::NotRun(format!(
                "The variable `{name}` is not set where the bridge runs."
            ))
        })
    };
    grants.env.iter().map(|name| Ok((name.to_string(), value(name.as_str())?))).collect()
}

fn destinations(grants: &RunGrants) -> Result<Vec<NetworkDestination>, ScriptFailure> {
    let destination = |text: String| {
        NetworkDestination::parse(&text).map_err(|error| ScriptFailure::NotRun(format!("{error}.")))
    };
    grants.network.iter().map(|grant| destination(grant.to_string())).collect()
}

fn failure(error: FileRunError<Refusal>) -> ScriptFailure {
    match error {
        FileRunError::Files(refusal) => ScriptFailure::Refused(Box::new(refusal)),
        FileRunError::NotRun(reason) => ScriptFailure::NotRun(reason.to_string()),
        error => ScriptFailure::NotRun(execution::sentence(&error.to_string())),
    }
}
