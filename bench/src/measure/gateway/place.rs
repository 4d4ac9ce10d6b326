//! A hub whose `hub.toml` names upstreams, and what its API says about them.

use std::{
    fmt::Write as _,
    fs,
    time::{Duration, Instant},
};

use serde::Deserialize;
use tempfile::TempDir;

use super::super::{
    Bench,
    hub::place::{EMBEDDED, HubPlace},
};
use crate::{
    broken::{Broken, Result},
    http::{client::Connection, load::Target},
    server::{HttpServer, PATIENCE},
    wire,
};

/// How often a hub is asked whether it has listed its upstreams.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// An upstream of a hub.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    pub(super) label: String,
    url: String,
    /// The keys of its table besides label and source.
    how: &'static str,
    pub(super) skills: usize,
}

impl Upstream {
    /// An upstream whose files and tools are passed on.
    pub(super) fn passed_on(label: String, server: &HttpServer, skills: usize) -> Self {
        Self::new(label, server, skills, "mode = \"passthrough\"\ntools = [\"*\"]\n")
    }

    /// An upstream whose content a rule approves, and which is served from the store from then on.
    pub(super) fn pinned(label: String, server: &HttpServer, skills: usize) -> Self {
        Self::new(label, server, skills, "mode = \"pin\"\nrules = { text-only = true }\n")
    }

    fn new(label: String, server: &HttpServer, skills: usize, how: &'static str) -> Self {
        let url = format!("http://{}/mcp", server.target.address);
        Self { label, url, how, skills }
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.how.contains("pin")
    }

    /// The path of its own address.
    pub(super) fn path(&self) -> String {
        format!("/mcp/u/{}", self.label)
    }
}

/// A hub for this run, in a folder that goes with it.
pub(super) struct GatewayHub {
    hub: HubPlace,
    pub(super) token: String,
    _scratch: TempDir,
}

/// What the API says about an upstream.
#[derive(Debug, Deserialize)]
pub(super) struct Shown {
    pub(super) label: String,
    pub(super) status: Option<Status>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) health: String,
    pub(super) skills: usize,
    #[serde(default)]
    pub(super) failure: Option<String>,
}

impl GatewayHub {
    pub(super) async fn make(bench: &Bench, upstreams: &[Upstream]) -> Result<Self> {
        let scratch = bench.new_home()?;
        let folder = scratch.path().join("hub");
        let hub = HubPlace::make(bench.skillwire.path(), &folder, &tables(upstreams)).await?;
        let token = hub.token.clone();
        Ok(Self { hub, token, _scratch: scratch })
    }

    /// Names other upstreams; the hub must not run.
    pub(super) fn configure(&self, upstreams: &[Upstream]) -> Result<()> {
        let file = self.hub.folder.join("hub.toml");
        fs::write(&file, tables(upstreams)).map_err(Broken::at(&file))
    }

    /// Starts the hub, and waits until it serves every skill of these upstreams.
    pub(super) async fn serve(&self, bench: &Bench, upstreams: &[Upstream]) -> Result<HttpServer> {
        let server = self.hub.serve(bench).await?;
        let start = Instant::now();
        while let Some(missing) = self.missing(&server, upstreams).await? {
            if start.elapsed() > PATIENCE {
                return Err(Broken::new(format!("The hub does not serve everything: {missing}")));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        for upstream in upstreams.iter().filter(|upstream| upstream.is_pinned()) {
            while listed(server.target, &upstream.path(), &self.token).await? < upstream.skills {
                if start.elapsed() > PATIENCE {
                    let label = &upstream.label;
                    return Err(Broken::new(format!("{label} was never approved as a whole.")));
                }
                tokio::time::sleep(4 * ASK_EVERY).await;
            }
        }
        Ok(server)
    }

    /// An upstream that is not listed as a whole yet.
    async fn missing(&self, server: &HttpServer, all: &[Upstream]) -> Result<Option<String>> {
        let shown = self.upstreams(server).await?;
        for upstream in all {
            let found = shown.iter().find(|shown| shown.label == upstream.label);
            let status = found.and_then(|shown| shown.status.as_ref());
            if status.is_none_or(|status| status.skills < upstream.skills) {
                return Ok(Some(format!("{} is {status:?}", upstream.label)));
            }
        }
        Ok(None)
    }

    /// Asks the API for all upstreams.
    pub(super) async fn upstreams(&self, server: &HttpServer) -> Result<Vec<Shown>> {
        #[derive(Deserialize)]
        struct Page {
            items: Vec<Shown>,
        }
        let mut connection = Connection::open(server.target.address, PATIENCE).await?;
        let request = wire::api_request("GET", "/api/v1/upstreams?limit=1000", "text/plain", b"");
        let request = wire::authorized(&request, &self.token);
        let page: Page =
            serde_json::from_slice(connection.exchange_within(&request, PATIENCE).await?)?;
        Ok(page.items)
    }
}

/// The `hub.toml` with these upstreams.
fn tables(upstreams: &[Upstream]) -> String {
    let mut text = EMBEDDED.to_owned();
    for Upstream { label, url, how, .. } in upstreams {
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "\n[[upstreams]]\nlabel = \"{label}\"\nsource = {{ kind = \"mcp\", url = \"{url}\" }}\n{how}"
        );
    }
    text
}

/// The number of skills that are listed at a path now.
pub(super) async fn listed(target: Target, path: &str, token: &str) -> Result<usize> {
    let mut connection = Connection::open(target.address, PATIENCE).await?;
    let (mut count, mut cursor) = (0, None::<String>);
    loop {
        let params = wire::page_params(cursor.as_deref());
        let request = wire::http_request_to(path, "skills/list", params);
        let request = wire::authorized(&request, token);
        let page = connection.exchange_within(&request, PATIENCE).await?;
        count += memchr::memmem::find_iter(page, b"\"frontmatter\":").count();
        cursor = wire::next_cursor(page);
        if cursor.is_none() {
            return Ok(count);
        }
    }
}
