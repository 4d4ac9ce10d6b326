//! Reads and pages through a hub, against `skillwire serve` with tokens over the same skills.

use std::{fs, path::PathBuf, sync::Arc};

use serde_json::json;

use super::{
    super::{Bench, connected, contest, progress, summary},
    place::{EMBEDDED, HubPlace, broken, upload},
};
use crate::{
    broken::{Broken, Result},
    corpus::{self, rng::Rng},
    http::{client::Connection, load::Target},
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    wire,
};

/// The least share of the rate of `serve`.
const SHARE: f64 = 0.9;

const CONNECTIONS: [usize; 2] = [1, 32];

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let count = bench.plan.large;
    let scratch = bench.new_home()?;
    let folder = scratch.path().join("skills");
    let (mut uploads, mut uris, mut areas) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..count {
        let (id, files) = skill(at);
        let root: PathBuf = folder.join(&id);
        for (file, content) in &files {
            let path = root.join(file);
            let parent = path.parent().unwrap_or(&root);
            fs::create_dir_all(parent).map_err(Broken::at(parent))?;
            fs::write(&path, content).map_err(Broken::at(&path))?;
            uris.push(format!("skill://{id}/{file}"));
        }
        areas.push(id.split('/').next().unwrap_or_default().to_owned());
        uploads.push((id, files));
    }
    areas.sort_unstable();
    areas.dedup();
    let mut hub =
        HubPlace::make(bench.skillwire.path(), &scratch.path().join("hub"), EMBEDDED).await?;
    let uploads = uploads.into_iter().map(|(id, files)| upload(&id, files));
    hub.publish(&areas, uploads, count).await?;
    let tokens = scratch.path().join("tokens");
    fs::write(&tokens, format!("bench {}\n", hub.token)).map_err(Broken::at(&tokens))?;
    let token_file = tokens.to_str().ok_or_else(|| broken("The folder has no name."))?;
    let with_tokens = ["--token-file".to_owned(), token_file.to_owned()];
    let serve = bench.skillwire.with_arguments(with_tokens);
    let serve = HttpServer::start(serve.over_http(&folder, scratch.path())).await?;
    let serve = serve.settled().await?;
    let server = hub.serve(bench).await?.settled().await?;
    reads(bench, (server.target, serve.target), &uris, &hub.token, "").await?;
    pages(bench, (server.target, serve.target), &hub.token, count).await?;
    server.stop().await?;
    // The same with every read in the audit log; what that costs has no target.
    let recorded = format!("[audit]\nreads = \"all\"\n\n{EMBEDDED}");
    let file = hub.folder.join("hub.toml");
    fs::write(&file, recorded).map_err(Broken::at(&file))?;
    let server = hub.serve(bench).await?.settled().await?;
    let what = ", every read in the audit log";
    reads(bench, (server.target, serve.target), &uris, &hub.token, what).await?;
    server.stop().await?;
    serve.stop().await
}

/// A skill of the corpus, with its namespace and name.
fn skill(at: usize) -> (String, Vec<(String, String)>) {
    let corpus::Skill { path, files } = corpus::skill(at);
    let area = path.split('/').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    (format!("{area}/{name}"), files)
}

async fn reads(
    bench: &mut Bench,
    pair: (Target, Target),
    uris: &[String],
    token: &str,
    how: &str,
) -> Result<()> {
    let mut uris = uris.to_vec();
    Rng::new(1, 0).shuffle(&mut uris);
    uris.truncate(bench.plan.spread);
    let request = |uri: &String| {
        let request = wire::http_request("resources/read", json!({ "uri": uri }));
        wire::authorized(&request, token)
    };
    let spread: Arc<[Vec<u8>]> = uris.iter().map(request).collect();
    let hot: Arc<[Vec<u8>]> = spread[..bench.plan.hot.min(spread.len())].into();
    for (set, requests) in [("spread over", &spread), ("hot set of", &hot)] {
        for connections in CONNECTIONS {
            let what = format!(
                "`resources/read` through a hub, {}, {set} {} files{how}",
                connected(connections),
                requests.len()
            );
            let asked = ((pair.0, requests), (pair.1, requests));
            contend(bench, what, asked, connections, how.is_empty()).await?;
        }
    }
    Ok(())
}

async fn pages(
    bench: &mut Bench,
    (hub, serve): (Target, Target),
    token: &str,
    count: usize,
) -> Result<()> {
    let (ours, theirs) =
        (all_pages(hub, token, count).await?, all_pages(serve, token, count).await?);
    for connections in CONNECTIONS {
        let what = format!(
            "`skills/list` page of 100 through a hub, {}, {count} skills",
            connected(connections)
        );
        contend(bench, what, ((hub, &ours), (serve, &theirs)), connections, true).await?;
    }
    Ok(())
}

async fn contend(
    bench: &mut Bench,
    what: String,
    (hub, serve): (contest::Asked<'_>, contest::Asked<'_>),
    connections: usize,
    has_target: bool,
) -> Result<()> {
    progress(&what);
    let (rounds, time) = (bench.plan.rounds, bench.plan.load);
    let held = contest::hold_each(hub, serve, connections, rounds, time).await?;
    contest::note(&mut bench.report, &what, "hub", &held.ours);
    contest::note(&mut bench.report, &what, "serve", &held.bare);
    let row = Row::new(what, Quantity::Rate, summary(contest::rates(&held.ours))?)
        .against("`serve` with tokens", summary(contest::rates(&held.bare))?);
    let row = if has_target { row.wants(Check::AtLeastOfReference(SHARE)) } else { row };
    bench.report.rows.push(row);
    Ok(())
}

/// Walks the listing once and returns the request of each page.
async fn all_pages(target: Target, token: &str, count: usize) -> Result<Arc<[Vec<u8>]>> {
    let mut connection = Connection::open(target.address, PATIENCE).await?;
    let (mut requests, mut cursor) = (Vec::new(), None::<String>);
    while requests.is_empty() || cursor.is_some() {
        let params = wire::page_params(cursor.as_deref());
        let request = wire::authorized(&wire::http_request("skills/list", params), token);
        cursor = wire::next_cursor(connection.exchange_within(&request, PATIENCE).await?);
        requests.push(request);
        if requests.len() > count {
            return Err(Broken::new("The listing does not end."));
        }
    }
    Ok(requests.into())
}
