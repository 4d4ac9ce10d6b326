//! Starts the bridge once, as an agent would, and counts what it offers.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skillwire_agents::BridgeEntry;
use skillwire_trust::Standing;

use crate::{
    exit::Exit,
    session::{self, Session, SessionOptions},
};

/// The longest time that the bridge may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the last line of a bridge that failed is waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The most lines that are read of a bridge that failed.
const MAX_LINES: usize = 10_000;

/// Returns how many skills the bridge offers that this entry starts.
pub(super) fn count_skills(entry: &BridgeEntry) -> io::Result<usize> {
    let mut child = Command::new(entry.command())
        .args(entry.args())
        .envs(entry.variables().iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("`{}` cannot be started: {error}", entry.command()),
            )
        })?;
    let said = child.stderr.take().map(follow);
    let counted = converse(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    counted.map_err(|error| match said.and_then(|said| last_line(&said)) {
        Some(said) => io::Error::new(error.kind(), format!("{error}; it last said: {said}")),
        None => error,
    })
}

/// Reads what the bridge says about itself, as long as it or a program that it started can say something.
fn follow(stderr: ChildStderr) -> Receiver<String> {
    let (sender, said) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if !line.trim().is_empty() && sender.send(line).is_err() {
                return;
            }
        }
    });
    said
}

fn last_line(said: &Receiver<String>) -> Option<String> {
    let deadline = Instant::now() + LAST_WORDS;
    let left = || deadline.saturating_duration_since(Instant::now());
    let lines = std::iter::from_fn(|| said.recv_timeout(left()).ok());
    let line = lines.take(MAX_LINES).last()?;
    Some(anstream::adapter::strip_str(&line).to_string())
}

/// Counts the skills of servers that wait for a decision of the user; `None` if that cannot be told.
pub(super) fn count_waiting() -> Option<usize> {
    let mut waiting = None;
    let counted = session::run(false, async || {
        let session = Session::open(&SessionOptions::default())?;
        let found = session.discover(None).await;
        let known = found.map(|found| {
            let of_servers = found.registry.items().iter();
            let of_servers = of_servers.filter(|item| item.skill.id().origin.server().is_some());
            of_servers
                .filter(|item| {
                    let standing = session.host().standing_of_known(&item.skill);
                    matches!(standing, Ok(Standing::New | Standing::Changed(_)))
                })
                .count()
        });
        session.host().disconnect().await;
        waiting = known.ok();
        Ok(Exit::Ok)
    });
    counted.ok().and(waiting)
}

fn converse(child: &mut Child) -> io::Result<usize> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the bridge has no pipes"));
    };
    let (sender, answers) = channel();
    // Ends with the pipe, when the bridge does.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let client = json!({ "name": "skillwire-setup", "version": env!("CARGO_PKG_VERSION") });
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let mut say = |message: Value| writeln!(input, "{message}").and_then(|()| input.flush());
    say(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }))?;
    let deadline = Instant::now() + PATIENCE;
    answer(&answers, 1, deadline)?;
    say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let call = json!({ "name": "list_skills", "arguments": {} });
    say(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }))?;
    let result = answer(&answers, 2, deadline)?;
    let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    // The tool's text begins with the number of skills.
    let count = text.split_whitespace().next().and_then(|word| word.parse().ok());
    count.ok_or_else(|| io::Error::other("the bridge did not say how many skills it has"))
}

fn answer(answers: &Receiver<Value>, id: u64, deadline: Instant) -> io::Result<Value> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut message = answers.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                io::Error::new(io::ErrorKind::TimedOut, "the bridge did not answer in 20 seconds")
            }
            RecvTimeoutError::Disconnected => io::Error::other("the bridge ended at once"),
        })?;
        if message["id"] == id {
            return match message.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(io::Error::other(format!("the bridge refused: {}", message["error"]))),
            };
        }
    }
}
