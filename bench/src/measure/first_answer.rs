//! Spawn to the answer to `server/discover`.

use std::{path::Path, time::Instant};

use serde_json::json;

use super::{Bench, peer, progress, summary};
use crate::{
    broken::{Broken, Result},
    program::Program,
    report::{Check, Quantity, Row},
    server::PipeServer,
    wire,
};

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let corpus = bench.corpus(bench.plan.small)?;
    let rounds = bench.plan.rounds * 2;
    let mut ours = Vec::new();
    let mut theirs: Vec<Result<Vec<f64>>> = bench.peers.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..rounds {
        let home = bench.new_home()?;
        ours.push(once(&bench.skillwire, &corpus.folder, home.path()).await?);
        for (program, times) in bench.peers.iter().zip(&mut theirs) {
            if round == 0 {
                progress(&format!("first answer of {}", program.name));
            }
            let Ok(known) = times else { continue };
            match once(program, &corpus.folder, home.path()).await {
                Ok(time) => known.push(time),
                Err(broken) => *times = Err(broken),
            }
        }
    }
    let peers = bench.peers.iter().zip(theirs).map(|(program, times)| peer(program.name, times));
    let what = format!("spawn to `server/discover` answer over stdio, {} skills", corpus.count);
    let row = Row::new(what, Quantity::Time, summary(ours)?)
        .among(peers.collect())
        .wants(Check::TimesBestPeer(20.0));
    bench.report.rows.push(row);
    Ok(())
}

async fn once(program: &Program, folder: &Path, home: &Path) -> Result<f64> {
    let start = Instant::now();
    let mut server = PipeServer::start(program.over_stdio(folder, home))?;
    let answer = server.ask(&wire::message(1, "server/discover", json!({}))).await?;
    let took = start.elapsed().as_secs_f64();
    server.stop().await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    match answer["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/skills"] {
        serde_json::Value::Object(_) => Ok(took),
        _ => Err(Broken::new(format!("It does not serve skills: {answer}"))),
    }
}
