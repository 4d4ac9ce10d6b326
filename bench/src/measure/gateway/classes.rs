//! Policies over many skills and many classes of callers: pages, publications, a change of the policy, memory.

use std::{
    fmt::Write as _,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use skillwire_hub::{Caller, Subject};
use skillwire_hub_store::{HubStore, NewToken};

use super::super::{
    Bench, connected, contest,
    hub::{
        place::{EMBEDDED, HubPlace, broken, small_skill},
        publishing::{FLAT, publication_in},
    },
    progress, summary,
};
use crate::{
    broken::{Broken, Result},
    http::{client::Connection, load::Target},
    proc,
    report::{Check, Quantity, Row},
    server::{HttpServer, PATIENCE},
    stats::percentile,
    wire,
};

/// The least share of the rate with one class.
const SHARE: f64 = 0.9;

const CONNECTIONS: [usize; 2] = [1, 32];

/// How long a change of the policy may take until every class notices.
const MOST_SECONDS: f64 = 10.0;

const MOST_BYTES: f64 = 800.0 * 1_048_576.0;

/// The most publications whose time is taken.
const PUBLICATIONS: usize = 200;

const POLICY: &str = "policy.cedar";

/// A hub whose callers form classes, and the token of a caller of each.
struct ClassedHub {
    hub: HubPlace,
    tokens: Vec<String>,
    namespaces: Vec<String>,
}

fn class(at: usize) -> String {
    format!("class-{at:02}")
}

impl ClassedHub {
    /// The kept hub of the largest size.
    async fn kept(bench: &Bench) -> Result<Self> {
        let (skills, namespaces) = (bench.plan.huge, namespaces(bench));
        let name = format!("hub-{skills}-in-{}", namespaces.len());
        let hub = HubPlace::kept_at(bench, &name, skills, &namespaces).await?;
        Self::of(bench, hub, namespaces).await
    }

    /// A hub of medium size for this run.
    async fn small(bench: &Bench) -> Result<Self> {
        let namespaces = namespaces(bench);
        let hub = HubPlace::seeded_in(bench, bench.plan.medium, &namespaces, EMBEDDED).await?;
        Self::of(bench, hub, namespaces).await
    }

    async fn of(bench: &Bench, hub: HubPlace, namespaces: Vec<String>) -> Result<Self> {
        let file = hub.folder.join("tokens");
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let mut tokens: Vec<String> = kept.lines().map(str::to_owned).collect();
        if tokens.len() < bench.plan.classes {
            let store = HubStore::open(hub.store()?).await.map_err(broken)?;
            let admin = Caller::administrator(Subject::parse("bench").map_err(broken)?);
            for at in tokens.len()..bench.plan.classes {
                let subject = Subject::parse(&caller(at)).map_err(broken)?;
                let new = NewToken::new(caller(at), subject);
                let (_, secret) = store.create_token(&admin, new).await.map_err(broken)?;
                tokens.push(secret.expose());
            }
            store.close().await;
            fs::write(&file, tokens.join("\n")).map_err(Broken::at(&file))?;
        }
        let mut text =
            format!("{EMBEDDED}\n[access.policy]\nfile = \"{POLICY}\"\n\n[access.groups]\n");
        for at in 0..bench.plan.classes {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{} = [\"{}\"]", class(at), caller(at));
        }
        let toml = hub.folder.join("hub.toml");
        fs::write(&toml, text).map_err(Broken::at(&toml))?;
        Ok(Self { hub, tokens, namespaces })
    }

    /// Writes the policy of some classes; each turn of it shows them other namespaces.
    fn decide(&self, classes: usize, turn: usize) -> Result<()> {
        let mut text = String::new();
        for at in 0..classes {
            let seen: Vec<String> = (0..self.namespaces.len())
                .filter(|namespace| sees(at, *namespace, turn))
                .map(|namespace| format!("\"{}\"", self.namespaces[namespace]))
                .collect();
            let (class, seen) = (class(at), seen.join(", "));
            let _ = writeln!(
                text,
                "@id(\"{class}\") permit (principal in Group::\"{class}\", action == Action::\"read\", resource) \
                 when {{ [{seen}].contains(resource.namespace) }};"
            );
        }
        // The file is replaced at once, so that the hub reads no half of it.
        let (new, file) = (self.hub.folder.join("policy.new"), self.hub.folder.join(POLICY));
        fs::write(&new, text).map_err(Broken::at(&new))?;
        fs::rename(&new, &file).map_err(Broken::at(&file))
    }

    /// A read of a skill in a namespace with the token of a class.
    fn read(&self, class: usize, namespace: usize) -> Vec<u8> {
        // Skills are dealt out to the namespaces in turn.
        let uri = format!("skill://{}/skill-{namespace:06}/SKILL.md", self.namespaces[namespace]);
        let request = wire::http_request("resources/read", json!({ "uri": uri }));
        wire::authorized(&request, &self.tokens[class])
    }
}

fn caller(at: usize) -> String {
    format!("caller-{at:02}")
}

fn namespaces(bench: &Bench) -> Vec<String> {
    (0..bench.plan.namespaces).map(|at| format!("area-{at:03}")).collect()
}

/// Whether a class sees a namespace: three of five, and others with every turn.
fn sees(class: usize, namespace: usize, turn: usize) -> bool {
    ((namespace + turn) * (class % 4 + 1) + namespace / (class + 2)) % 5 < 3
}

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    let classes = bench.plan.classes;
    let small = ClassedHub::small(bench).await?;
    small.decide(classes, 0)?;
    let few = publish(bench, &small).await?;
    drop(small);
    let hub = ClassedHub::kept(bench).await?;
    hub.decide(1, 0)?;
    pages(bench, &hub).await?;
    let count = hub.hub.skills;
    hub.decide(classes, 0)?;
    let server = hub.hub.serve(bench).await?.settled().await?;
    // Each class has a view from its first request on.
    for at in 0..classes {
        page_requests(server.target, &hub.tokens[at], 1).await?;
    }
    change(bench, &hub, &server, count).await?;
    let memory = proc::memory(server.target.pid)?;
    server.stop().await?;
    let what = format!("{count} skills, {classes} classes, after changes of the policy");
    bench.report.rows.push(
        Row::new(
            format!("highest memory of a replica, {what}"),
            Quantity::Memory,
            summary([memory.peak])?,
        )
        .against("resident then", summary([memory.resident])?)
        .wants(Check::AtMost(MOST_BYTES, Quantity::Memory)),
    );
    let many = publish(bench, &hub).await?;
    let medium = bench.plan.medium;
    let what = format!("publish acknowledged, median, {count} skills and {classes} classes");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary([many.median])?)
            .against(format!("the same at {medium}"), summary([few.median])?)
            .wants(Check::AtMostOfReference(FLAT)),
    );
    let what = format!("processor time of a publish, {count} skills and {classes} classes");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary([many.cpu])?)
            .against(format!("the same at {medium}"), summary([few.cpu])?),
    );
    Ok(())
}

/// Compares pages for many classes with pages for one, of a replica each.
async fn pages(bench: &mut Bench, hub: &ClassedHub) -> Result<()> {
    let (classes, count) = (bench.plan.classes, hub.hub.skills);
    progress(&format!("a replica with {count} skills and one class"));
    let one = hub.hub.serve(bench).await?.settled().await?;
    let pages = (count / 200).max(classes);
    let all = page_requests(one.target, &hub.tokens[0], pages).await?;
    // A second replica over the same records, with a policy of its own.
    let other = bench.new_home()?;
    let second = ClassedHub {
        hub: hub.hub.beside(other.path())?,
        tokens: hub.tokens.clone(),
        namespaces: hub.namespaces.clone(),
    };
    second.decide(classes, 0)?;
    progress(&format!("a replica with {count} skills and {classes} classes"));
    let many = second.hub.serve(bench).await?.settled().await?;
    let mut each = Vec::new();
    for token in &second.tokens {
        each.push(page_requests(many.target, token, all.len() / classes).await?);
    }
    // As many pages on both sides, those of the classes in turn.
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|at| each.iter().filter_map(move |of| of.get(at)));
    let theirs: Arc<[Vec<u8>]> = turns.cloned().collect();
    let ours: Arc<[Vec<u8>]> = all.into_iter().take(theirs.len()).collect();
    for connections in CONNECTIONS {
        let what = format!(
            "`skills/list` page of 100, {}, {count} skills, {} pages of {classes} classes",
            connected(connections),
            theirs.len()
        );
        progress(&what);
        let (rounds, time) = (bench.plan.rounds, bench.plan.load);
        let pair = ((many.target, &theirs), (one.target, &ours));
        let held = contest::hold_each(pair.0, pair.1, connections, rounds, time).await?;
        contest::note(&mut bench.report, &what, "classes", &held.ours);
        contest::note(&mut bench.report, &what, "one class", &held.bare);
        bench.report.rows.push(
            Row::new(what, Quantity::Rate, summary(contest::rates(&held.ours))?)
                .against("as many of one class", summary(contest::rates(&held.bare))?)
                .wants(Check::AtLeastOfReference(SHARE)),
        );
    }
    many.stop().await?;
    one.stop().await
}

/// Changes the policy, and waits until each class sees what it should and no longer what it should not.
async fn change(
    bench: &mut Bench,
    hub: &ClassedHub,
    server: &HttpServer,
    count: usize,
) -> Result<()> {
    let classes = bench.plan.classes;
    let mut connection = Connection::open(server.target.address, PATIENCE).await?;
    let mut times = Vec::new();
    for turn in 1..=bench.plan.long_rounds {
        progress(&format!("a change of the policy, {count} skills and {classes} classes"));
        let mut expected = Vec::new();
        for class in 0..classes {
            for is_seen in [true, false] {
                let differs = |namespace: &usize| {
                    sees(class, *namespace, turn) == is_seen
                        && sees(class, *namespace, turn - 1) != is_seen
                };
                let found = (0..hub.namespaces.len()).find(differs);
                expected.extend(found.map(|namespace| (hub.read(class, namespace), is_seen)));
            }
        }
        if expected.is_empty() {
            return Err(Broken::new("The policies do not differ."));
        }
        // Where times of files are kept in whole seconds, a change within one would not show.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let start = Instant::now();
        hub.decide(classes, turn)?;
        for (request, is_seen) in &expected {
            loop {
                let body = connection.exchange_within(request, PATIENCE).await?;
                if memchr::memmem::find(body, b"\"contents\"").is_some() == *is_seen {
                    break;
                }
                if start.elapsed() > PATIENCE {
                    return Err(Broken::new("The policy never took effect."));
                }
            }
        }
        times.push(start.elapsed().as_secs_f64());
    }
    let what = format!("a policy changed until all notice, {count} skills and {classes} classes");
    bench.report.rows.push(
        Row::new(what, Quantity::Time, summary(times)?)
            .wants(Check::AtMost(MOST_SECONDS, Quantity::Time)),
    );
    Ok(())
}

/// What publications took, in seconds.
struct Published {
    median: f64,
    cpu: f64,
}

async fn publish(bench: &Bench, hub: &ClassedHub) -> Result<Published> {
    let count = bench.plan.publications.min(PUBLICATIONS);
    let classes = bench.plan.classes;
    progress(&format!("{count} publications, {} skills and {classes} classes", hub.hub.skills));
    let server = hub.hub.serve(bench).await?.settled().await?;
    for token in &hub.tokens {
        page_requests(server.target, token, 1).await?;
    }
    let mut connection = Connection::open(server.target.address, PATIENCE).await?;
    let mut times = Vec::with_capacity(count);
    // Names that a hub of an earlier run does not have.
    let run = std::process::id() as usize * 10_000;
    let before = proc::cpu(server.target.pid)?;
    for at in 0..count {
        let number = 1_000_000 + run + at;
        let namespace = &hub.namespaces[at % hub.namespaces.len()];
        let request = publication_in(namespace, number, small_skill(number), &hub.hub.token)?;
        let start = Instant::now();
        connection.exchange_within(&request, PATIENCE).await?;
        times.push(start.elapsed());
    }
    let used = proc::cpu(server.target.pid)? - before;
    server.stop().await?;
    times.sort_unstable();
    let median = percentile(&times, 500).as_secs_f64();
    let cpu = used / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    Ok(Published { median, cpu })
}

/// The requests of the first pages that a caller gets.
async fn page_requests(target: Target, token: &str, most: usize) -> Result<Vec<Vec<u8>>> {
    let mut connection = Connection::open(target.address, PATIENCE).await?;
    let (mut requests, mut cursor) = (Vec::new(), None::<String>);
    while requests.len() < most.max(1) && (requests.is_empty() || cursor.is_some()) {
        let params = wire::page_params(cursor.as_deref());
        let request = wire::authorized(&wire::http_request("skills/list", params), token);
        let page = connection.exchange_within(&request, PATIENCE).await?;
        if memchr::memmem::find(page, b"\"frontmatter\":").is_none() {
            return Err(Broken::new("A class sees nothing."));
        }
        cursor = wire::next_cursor(page);
        requests.push(request);
    }
    Ok(requests)
}
