//! Serves over a pair of pipes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use skillwire_protocol::{message::notification, meta, method};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::{broadcast, mpsc},
};

use super::{
    Fault, HostileServer, ReceivedRequest, ScriptedReply, ServerPush,
    receive::Channel,
    reply::{ReplyPlan, SendStep},
};

/// How much a pipe buffers before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// What the writing task does next.
enum Outgoing {
    Bytes(Vec<u8>),
    HangUp,
}

impl HostileServer {
    /// Opens two pipes to the server, the one it writes and the one it reads; it stops when they
    /// are dropped.
    pub fn pipes(&self) -> (DuplexStream, DuplexStream) {
        let (client_output, server_input) = tokio::io::duplex(PIPE_BYTES);
        let (server_output, client_input) = tokio::io::duplex(PIPE_BYTES);
        let (out, queue) = mpsc::channel(16);
        tokio::spawn(write(server_output, queue));
        tokio::spawn(self.clone().serve(server_input, out));
        (client_input, client_output)
    }

    async fn serve(self, input: DuplexStream, out: mpsc::Sender<Outgoing>) {
        let legacy = Arc::new(AtomicBool::new(false));
        let unasked = tokio::spawn(forward_pushes(
            self.0.pushed.subscribe(),
            Arc::clone(&legacy),
            out.clone(),
        ));
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(request) = self.receive(line.as_bytes(), &Channel::Pipe) else { continue };
            if request.method == method::INITIALIZE {
                legacy.store(true, Ordering::Relaxed);
            }
            let noise = self.0.faults.lock().iter().rev().find_map(|fault| match fault {
                Fault::NoiseBefore(noise) => Some(noise.clone()),
                _ => None,
            });
            let reply = self.reply(&request);
            let pushed = self.0.pushed.subscribe();
            let out = out.clone();
            tokio::spawn(async move {
                // The client may have disconnected.
                let _ = send(reply, &request, noise, pushed, &out).await;
            });
        }
        self.note("(end of input)", &[]);
        unasked.abort();
    }
}

async fn send(
    reply: ScriptedReply,
    request: &ReceivedRequest,
    noise: Option<Vec<u8>>,
    pushed: broadcast::Receiver<ServerPush>,
    out: &mpsc::Sender<Outgoing>,
) -> Result<(), mpsc::error::SendError<Outgoing>> {
    let line = |mut bytes: Vec<u8>| {
        bytes.push(b'\n');
        out.send(Outgoing::Bytes(bytes))
    };
    if let Some(noise) = noise {
        line(noise).await?;
    }
    if request.method == method::LISTEN && matches!(reply, ScriptedReply::Honest) {
        return follow(request, pushed, out).await;
    }
    let plan = ReplyPlan::of(reply, request);
    for gate in &plan.held {
        gate.opened().await;
    }
    for message in &plan.before {
        line(message.clone().into_bytes()).await?;
    }
    for step in plan.steps {
        match step {
            SendStep::Bytes(bytes) => out.send(Outgoing::Bytes(bytes)).await?,
            SendStep::Wait(gate) => gate.opened().await,
            SendStep::Repeat(filler) => loop {
                out.send(Outgoing::Bytes(filler.clone())).await?;
            },
            SendStep::Forever => return Ok(()),
            SendStep::HangUp => return out.send(Outgoing::HangUp).await,
        }
    }
    line(Vec::new()).await
}

/// Acknowledges a subscription and sends it the notifications from then on.
async fn follow(
    request: &ReceivedRequest,
    mut pushed: broadcast::Receiver<ServerPush>,
    out: &mpsc::Sender<Outgoing>,
) -> Result<(), mpsc::error::SendError<Outgoing>> {
    let mut message = subscribed(request, method::ACKNOWLEDGED, acknowledgment(request));
    loop {
        out.send(Outgoing::Bytes(format!("{message}\n").into_bytes())).await?;
        message = loop {
            match pushed.recv().await {
                Ok(ServerPush::Notification(method, params)) => {
                    break subscribed(request, &method, params);
                }
                Ok(ServerPush::Message(_)) => {}
                Err(_) => return Ok(()),
            }
        };
    }
}

/// Acknowledges everything that the client asked for.
pub(super) fn acknowledgment(request: &ReceivedRequest) -> Value {
    json!({ "notifications": request.params["notifications"] })
}

/// A notification that belongs to a subscription.
pub(super) fn subscribed(request: &ReceivedRequest, method: &str, mut params: Value) -> String {
    let id: Value = serde_json::from_str(&request.id).unwrap_or(Value::Null);
    params["_meta"] = json!({ meta::SUBSCRIPTION_ID: id });
    notification(method, &params)
}

/// Sends notifications to a legacy client, and raw messages to any client.
async fn forward_pushes(
    mut pushed: broadcast::Receiver<ServerPush>,
    legacy: Arc<AtomicBool>,
    out: mpsc::Sender<Outgoing>,
) {
    while let Ok(pushed) = pushed.recv().await {
        let message = match pushed {
            ServerPush::Notification(method, params) if legacy.load(Ordering::Relaxed) => {
                notification(&method, &params)
            }
            ServerPush::Notification(..) => continue,
            ServerPush::Message(message) => message,
        };
        if out.send(Outgoing::Bytes(format!("{message}\n").into_bytes())).await.is_err() {
            return;
        }
    }
}

async fn write(mut output: DuplexStream, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing::Bytes(bytes)) = queue.recv().await {
        if output.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
