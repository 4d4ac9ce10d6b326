//! Measures how long publications take, from a small hub to a large one.
//!
//! ```text
//! cargo run --release -p skillwire-hub-store --example publish_bench -- FOLDER [SKILLS] [POSTGRES-URL]
//! ```
//!
//! It publishes skills of 40 KB in four files one after another and prints percentiles for the first thousand
//! and for the last thousand; then it reads everything that a replica reads when it starts. With a URL the
//! database is PostgreSQL; the bytes are in a folder in both cases.
#![expect(clippy::print_stdout, reason = "what it measured goes to standard output")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use bytes::Bytes;
use skillwire_core::RelPath;
use skillwire_hub::{Caller, ChannelName, PageRequest, Subject};
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, NewNamespace, StoreError, StoreOptions, Upload,
    UploadedFile,
};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let folder: PathBuf = arguments.next().ok_or("the folder of the hub is missing")?.into();
    let skills: usize = arguments.next().map_or(Ok(2_000), |count| count.parse())?;
    std::fs::create_dir_all(&folder)?;
    let database = match arguments.next() {
        Some(url) => DatabaseLocation::Postgres(url),
        None => DatabaseLocation::Sqlite(folder.join("hub.db")),
    };
    let options = StoreOptions::new(database, BlobLocation::Folder(folder.join("blobs")));
    let store = HubStore::open(options).await?;
    let admin = Caller::administrator(Subject::parse("bench")?);
    let new = NewNamespace::new("acme".parse()?, admin.subject.clone()).with_protected(true);
    store.create_namespace(&admin, new).await?;

    let mut times = Vec::with_capacity(skills);
    for number in 0..skills {
        let upload = upload(number)?;
        let start = Instant::now();
        store.publish(&admin, upload).await?;
        times.push(start.elapsed());
    }
    let part = skills.min(1_000);
    report("first", &mut times[..part].to_vec());
    report("last", &mut times[skills - part..].to_vec());
    read_all(&store).await?;
    store.close().await;
    Ok(())
}

/// A skill of 40 KB in four files.
fn upload(number: usize) -> Result<Upload, Failure> {
    let file = |path: &str| -> Result<UploadedFile, Failure> {
        let line = format!("{path} of skill {number}, a line of some text that is its own.\n");
        let bytes = Bytes::from(line.repeat(10_000 / line.len()));
        let path = RelPath::parse(path).map_err(|error| error.to_string())?;
        Ok(UploadedFile { path, bytes, claimed: None })
    };
    let files = ["SKILL.md", "scripts/run.py", "references/a.md", "references/b.md"];
    let files = files.into_iter().map(file).collect::<Result<_, _>>()?;
    let entry = format!(r#"{{"name":"skill-{number}","description":"{}"}}"#, "x".repeat(200));
    Ok(Upload::new(format!("acme/skill-{number}").parse()?, files).with_entry(entry))
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "{name} {}: p50 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}

/// Reads what a replica reads when it starts.
async fn read_all(store: &HubStore) -> Result<(), StoreError> {
    let start = Instant::now();
    let mut page = PageRequest::first(PageRequest::MAX_LIMIT);
    let mut count = 0;
    loop {
        let served = store.served_page(&ChannelName::latest(), &page).await?;
        count += served.items.len();
        if served.next.is_none() {
            break;
        }
        page = page.after(served.next);
    }
    println!("a replica reads {count} skills in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
