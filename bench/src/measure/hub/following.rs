//! Three replicas under load: when a publication is visible on each, and when a revocation works.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use super::{
    super::{Bench, progress, summary},
    engines::Engines,
    place::{HubPlace, NAMESPACE, small_skill},
    publishing::publication,
};
use crate::{
    broken::{Broken, Result},
    http::client::Connection,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::percentile,
    wire,
};

const REPLICAS: usize = 3;
const VISIBLE: f64 = 1.0;
const REVOKED: f64 = 2.0;

/// How often a replica is asked whether it follows.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// The reads of a tick are sent one after the other, as timers are no finer than this.
const TICK: Duration = Duration::from_millis(5);

pub(super) async fn measure(bench: &mut Bench, engines: &Engines) -> Result<()> {
    let hub = HubPlace::seeded(bench, bench.plan.medium, engines.tables(2)?).await?;
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        replicas.push(hub.serve(bench).await?);
    }
    progress("publications and revocations on three replicas");
    let mut readers = JoinSet::new();
    for replica in &replicas {
        readers.spawn(read(replica.target.address, hub.token.clone(), bench.plan.background));
    }
    let mut watched = Watched::open(&replicas, &hub.token).await?;
    let (mut visible, mut revoked) = (Vec::new(), Vec::new());
    for at in 0..bench.plan.watched {
        let times = tokio::select! {
            times = watched.publish_and_revoke(2_000_000 + at) => times?,
            ended = readers.join_next() => {
                let said = ended.map_or_else(String::new, |ended| format!("{ended:?}"));
                return Err(Broken::new(format!("A reader ended: {said}")));
            }
        };
        visible.extend(times.0);
        revoked.extend(times.1);
    }
    readers.shutdown().await;
    for replica in replicas {
        replica.stop().await?;
    }
    let load = bench.plan.background;
    for (what, mut times, most) in [
        ("a publication is visible on each of three replicas", visible, VISIBLE),
        ("a revoked file is refused by each of three replicas", revoked, REVOKED),
    ] {
        times.sort_unstable();
        let at = |per_mille| percentile(&times, per_mille).as_secs_f64();
        let row = Row::new(
            format!("{what}, p99 of {}, {load} reads/s", times.len()),
            Quantity::Time,
            summary([at(990)])?,
        );
        let row = row.against("the median", summary([at(500)])?);
        bench.report.rows.push(row.wants(Check::AtMost(most, Quantity::Time)));
    }
    Ok(())
}

/// Reads files of one replica at its share of the rate, for ever.
async fn read(address: std::net::SocketAddr, token: String, rate: u32) -> Result<()> {
    let mut connection = Connection::open(address, PATIENCE).await?;
    let requests: Vec<Vec<u8>> = (0..64)
        .map(|at| {
            let uri = format!("skill://{NAMESPACE}/skill-{at:06}/SKILL.md");
            wire::authorized(&wire::http_request("resources/read", json!({ "uri": uri })), &token)
        })
        .collect();
    let start = Instant::now();
    let share = f64::from(rate) / f64::from(u32::try_from(REPLICAS).unwrap_or(1));
    let mut ticks = tokio::time::interval(TICK);
    let mut sent = 0_u32;
    let mut next = requests.iter().cycle();
    loop {
        ticks.tick().await;
        let due = start.elapsed().as_secs_f64() * share;
        while f64::from(sent) < due {
            let Some(request) = next.next() else { return Ok(()) };
            connection.exchange_within(request, PATIENCE).await?;
            sent += 1;
        }
        // A load that falls behind by a second is not the load that the row names.
        if due - f64::from(sent) > share {
            return Err(Broken::new("The replicas do not take the load."));
        }
    }
}

/// The connections that watch each replica.
struct Watched {
    replicas: Vec<Connection>,
    /// The connection that publishes, to the first replica.
    writer: Connection,
    token: String,
}

impl Watched {
    async fn open(replicas: &[HttpServer], token: &str) -> Result<Self> {
        let mut watched = Vec::new();
        for replica in replicas {
            watched.push(Connection::open(replica.target.address, PATIENCE).await?);
        }
        let writer = Connection::open(replicas[0].target.address, PATIENCE).await?;
        Ok(Self { replicas: watched, writer, token: token.to_owned() })
    }

    /// Publishes a skill and revokes it; returns when each replica followed, from the request on.
    async fn publish_and_revoke(
        &mut self,
        number: usize,
    ) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let publish = publication(number, small_skill(number), &self.token)?;
        let start = Instant::now();
        self.writer.exchange_within(&publish, PATIENCE).await?;
        let visible = self.until(number, start, true).await?;
        let body = br#"{"transition":"revoke","reason":"a measurement"}"#;
        let path = format!("/api/v1/skills/{NAMESPACE}/skill-{number:06}/versions/1.0.0/state");
        let revoke = wire::api_request("POST", &path, "application/json", body);
        let start = Instant::now();
        self.writer.exchange_within(&wire::authorized(&revoke, &self.token), PATIENCE).await?;
        Ok((visible, self.until(number, start, false).await?))
    }

    /// Waits until each replica serves a file, or refuses it.
    async fn until(
        &mut self,
        number: usize,
        start: Instant,
        served: bool,
    ) -> Result<Vec<Duration>> {
        let uri = format!("skill://{NAMESPACE}/skill-{number:06}/SKILL.md");
        let request = wire::http_request("resources/read", json!({ "uri": uri }));
        let request = wire::authorized(&request, &self.token);
        let mut times = vec![None; self.replicas.len()];
        while times.contains(&None) {
            for (replica, time) in self.replicas.iter_mut().zip(&mut times) {
                if time.is_some() {
                    continue;
                }
                let answer = replica.exchange_within(&request, PATIENCE).await?;
                let has_text = memchr::memmem::find(answer, b"\"contents\"").is_some();
                if has_text == served {
                    *time = Some(start.elapsed());
                }
            }
            if start.elapsed() > PATIENCE {
                return Err(Broken::new("A replica does not follow."));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(times.into_iter().flatten().collect())
    }
}
