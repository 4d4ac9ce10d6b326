//! A host that uses everything a server offers, for suites that watch what a host does.
//!
//! It lists the skills at a URL, approves and loads each, and reads every file of those that
//! loaded; with `--approve-only` it stops before loading anything. It prints what is refused and
//! does not use it, and prints how many skills and files it read.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;

use skillwire_client::Endpoint;
use skillwire_core::Resources;
use skillwire_host::Host;
use skillwire_trust::{Grants, KnownSkill, Refusal, ServerLabel};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let load = arguments.first().is_none_or(|first| first != "--approve-only");
    let Some(url) = arguments.pop().filter(|url| url.contains("://")) else {
        println!("Usage: conformance-client [--approve-only] URL");
        return ExitCode::from(2);
    };
    let label = ServerLabel::parse("suite").expect("a valid label");
    let host = Host::builder().build();
    host.add_server(label.clone(), Endpoint::Http { url, headers: Vec::new() });
    let listing = match host.list(&label).await {
        Ok(listing) => listing,
        Err(refusal) => {
            println!("not listed: {refusal}");
            return ExitCode::FAILURE;
        }
    };
    for refusal in &listing.refused {
        println!("refused: {refusal}");
    }
    let mut skills = 0;
    let mut files = 0;
    for skill in &listing.skills {
        match use_skill(&host, skill, load).await {
            Ok(read) => (skills, files) = (skills + 1, files + read),
            Err(refusal) => println!("refused: {refusal}"),
        }
    }
    println!("{skills} skills used, {files} files read");
    ExitCode::SUCCESS
}

/// Approves one skill, loads it and reads all its files; returns how many files it read.
async fn use_skill(host: &Host, skill: &KnownSkill, load: bool) -> Result<usize, Refusal> {
    let listed = skill.certain()?;
    let approved = host.approve(listed, Grants::load_only())?;
    if !load {
        return Ok(0);
    }
    let window = host.load(approved).await?.window;
    let Resources::Listed(files) = &listed.entry().resources else { return Ok(1) };
    for file in files {
        window.read(file.uri.as_str()).await?;
    }
    Ok(files.len())
}
