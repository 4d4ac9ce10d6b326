//! The memory of a process that holds a whole listing.

use std::process::Stdio;

use skillwire_host::Host;
use skillwire_trust::Registry;

use super::{super::summary, Bench, host, url};
use crate::{
    broken::{Broken, Result},
    measure::progress,
    proc,
    report::{Check, Quantity, Row},
    server::HttpServer,
};

const MIB: f64 = 1_048_576.0;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.huge)?;
    let home = bench.new_home()?;
    let server = HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    progress(&format!("memory of a registry of {}", corpus.count));
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.arg("registry").arg(url(server.target)).arg(corpus.count.to_string());
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let ended = command.output().await?;
    server.stop().await?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let resident: f64 = said
        .trim()
        .parse()
        .map_err(|_| Broken::new(format!("The registry's process said {said:?}.")))?;
    let what = format!("host: resident memory with a registry of {}", corpus.count);
    bench.report.rows.push(
        Row::new(what, Quantity::Memory, summary([resident])?)
            .wants(Check::AtMost(300.0 * MIB, Quantity::Memory)),
    );
    Ok(())
}

/// Lists a server into a registry and returns the bytes this process holds then.
pub(crate) async fn resident(url: &str, count: usize) -> Result<f64> {
    let (host, label) = host(Host::builder(), url.to_owned())?;
    let listing = host.list(&label).await?;
    let registry = Registry::new(listing.skills.iter().cloned());
    if registry.items().len() != count {
        let listed = registry.items().len();
        return Err(Broken::new(format!("{listed} of {count} skills were listed.")));
    }
    // Host and listing are still held, as they are in an agent.
    Ok(proc::memory(std::process::id())?.resident)
}
