//! Starts the bridge once, as an agent would, and counts what it offers.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skillwire_agents::BridgeEntry;

/// The longest time that the bridge may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns how many skills the bridge offers that this entry starts.
pub(super) fn count_skills(entry: &BridgeEntry) -> io::Result<usize> {
    let mut child = Command::new(entry.command())
        .args(entry.args())
        .envs(entry.variables().iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("`{}` cannot be started: {error}", entry.command()),
            )
        })?;
    let counted = converse(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    counted
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
