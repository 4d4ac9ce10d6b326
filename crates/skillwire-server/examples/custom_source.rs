//! Skills from a place of your own: here a table of runbooks, as a database would hold it.

#![expect(clippy::print_stderr, reason = "a person starts it and wants to know where it listens")]

use std::{collections::BTreeMap, sync::Mutex};

use skillwire_server::{
    ChangeTracker, Digest, Finding, GroupKey, ScanRequest, SkillSource, Skills, SourceChange,
    SourceUnavailable, inspect_files,
};
use tokio::net::TcpListener;

/// A file that every runbook has.
const ON_CALL: &str = "# On call\n\nAsk in the incident channel; page the lead after 10 minutes.\n";

/// Runbooks by their path; each is the text of a `SKILL.md`.
#[derive(Debug, Default)]
pub(crate) struct Runbooks {
    pub(crate) table: Mutex<BTreeMap<String, String>>,
    tracker: ChangeTracker,
}

impl SkillSource for Runbooks {
    fn scan(
        &self,
        _: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let broken = |reason: String| SourceUnavailable::new("runbooks", reason);
        let table = self.table.lock().map_err(|error| broken(error.to_string()))?.clone();
        let keys = table.keys().map(|path| GroupKey(path.as_str().into()));
        let now = keys.zip(table.values().map(|text| Digest::of(text.as_bytes()))).collect();
        let inspect = |GroupKey(path): &GroupKey| {
            let text = table[&**path].clone().into();
            inspect_files(
                "runbooks",
                path,
                [("SKILL.md", text), ("references/on-call.md", ON_CALL.into())],
            )
        };
        self.tracker.report(&now, inspect, report);
        Ok(Vec::new())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = "---\nname: failover\ndescription: Moves traffic. Use on outages.\n---\n";
    let table = BTreeMap::from([("ops/failover".to_owned(), text.to_owned())]);
    let runbooks = Runbooks { table: Mutex::new(table), ..Runbooks::default() };
    let skills = Skills::builder().source(runbooks).build()?;
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8643".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    skills.serve_http(listener, std::future::pending()).await;
    Ok(())
}
