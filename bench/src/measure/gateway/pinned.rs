//! Reads of pinned skills, against `skillwire serve` with tokens over the same folder.

use std::{fs, sync::Arc};

use serde_json::json;

use super::{
    super::{Bench, connected, contest, progress, summary},
    place::{GatewayHub, Upstream},
};
use crate::{
    broken::{Broken, Result},
    corpus::rng::Rng,
    report::{Check, Quantity, Row},
    server::HttpServer,
    wire,
};

/// The least share of the rate of `serve`.
const SHARE: f64 = 0.9;

const CONNECTIONS: [usize; 2] = [1, 32];

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.medium)?;
    let home = bench.new_home()?;
    let upstream =
        HttpServer::start(bench.skillwire.over_http(&corpus.folder, home.path())).await?;
    let pinned = [Upstream::pinned("pinned".to_owned(), &upstream, corpus.count)];
    progress(&format!("approval of {} skills", corpus.count));
    let hub = GatewayHub::make(bench, &pinned).await?;
    let server = hub.serve(bench, &pinned).await?;
    // What is pinned needs no upstream any more.
    upstream.stop().await?;
    let server = server.settled().await?;
    let tokens = home.path().join("tokens");
    fs::write(&tokens, format!("bench {}\n", hub.token)).map_err(Broken::at(&tokens))?;
    let file = tokens.to_str().ok_or_else(|| Broken::new("The folder has no name."))?;
    let serve = bench.skillwire.with_arguments(["--token-file".to_owned(), file.to_owned()]);
    let serve = HttpServer::start(serve.over_http(&corpus.folder, home.path())).await?;
    let serve = serve.settled().await?;
    let mut uris: Vec<String> = corpus.file_uris().collect();
    Rng::new(1, 0).shuffle(&mut uris);
    uris.truncate(bench.plan.spread);
    let requests = |path: &str, uris: &[String]| -> Arc<[Vec<u8>]> {
        let request = |uri: &String| {
            let request = wire::http_request_to(path, "resources/read", json!({ "uri": uri }));
            wire::authorized(&request, &hub.token)
        };
        uris.iter().map(request).collect()
    };
    let hot = &uris[..bench.plan.hot.min(uris.len())];
    for (set, uris) in [("spread over", &uris[..]), ("hot set of", hot)] {
        let (ours, theirs) = (requests(&pinned[0].path(), uris), requests("/mcp", uris));
        for connections in CONNECTIONS {
            let what = format!(
                "`resources/read` of pinned skills, {}, {set} {} files",
                connected(connections),
                uris.len()
            );
            progress(&what);
            let (rounds, time) = (bench.plan.rounds, bench.plan.load);
            let pair = ((server.target, &ours), (serve.target, &theirs));
            let held = contest::hold_each(pair.0, pair.1, connections, rounds, time).await?;
            contest::note(&mut bench.report, &what, "hub", &held.ours);
            contest::note(&mut bench.report, &what, "serve", &held.bare);
            bench.report.rows.push(
                Row::new(what, Quantity::Rate, summary(contest::rates(&held.ours))?)
                    .against("`serve` with tokens", summary(contest::rates(&held.bare))?)
                    .wants(Check::AtLeastOfReference(SHARE)),
            );
        }
    }
    server.stop().await?;
    serve.stop().await
}
