//! The server on a pair of pipes.

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
    Asked, Fault, HostileServer, Reply, Said, lock,
    receive::Via,
    reply::{Sending, Step},
};

/// What a pipe holds before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// Something on its way to the client.
enum Out {
    Bytes(Vec<u8>),
    HangUp,
}

impl HostileServer {
    /// Opens pipes to the server: what it writes, and what it reads. It ends with them.
    pub fn pipes(&self) -> (DuplexStream, DuplexStream) {
        let (client_output, server_input) = tokio::io::duplex(PIPE_BYTES);
        let (server_output, client_input) = tokio::io::duplex(PIPE_BYTES);
        let (out, queue) = mpsc::channel(16);
        tokio::spawn(write(server_output, queue));
        tokio::spawn(self.clone().serve(server_input, out));
        (client_input, client_output)
    }

    async fn serve(self, input: DuplexStream, out: mpsc::Sender<Out>) {
        let legacy = Arc::new(AtomicBool::new(false));
        let unasked =
            tokio::spawn(overheard(self.0.said.subscribe(), Arc::clone(&legacy), out.clone()));
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(asked) = self.receive(line.as_bytes(), &Via::Pipe) else { continue };
            if asked.method == method::INITIALIZE {
                legacy.store(true, Ordering::Relaxed);
            }
            let noise = lock(&self.0.faults).iter().rev().find_map(|fault| match fault {
                Fault::NoiseBefore(noise) => Some(noise.clone()),
                _ => None,
            });
            let reply = self.reply(&asked);
            let said = self.0.said.subscribe();
            let out = out.clone();
            tokio::spawn(async move {
                // A client that is gone hears nothing.
                let _ = send(reply, &asked, noise, said, &out).await;
            });
        }
        self.note("(end of input)", &[]);
        unasked.abort();
    }
}

async fn send(
    reply: Reply,
    asked: &Asked,
    noise: Option<Vec<u8>>,
    said: broadcast::Receiver<Said>,
    out: &mpsc::Sender<Out>,
) -> Result<(), mpsc::error::SendError<Out>> {
    let line = |mut bytes: Vec<u8>| {
        bytes.push(b'\n');
        out.send(Out::Bytes(bytes))
    };
    if let Some(noise) = noise {
        line(noise).await?;
    }
    if asked.method == method::LISTEN && matches!(reply, Reply::Honest) {
        return follow(asked, said, out).await;
    }
    let sending = Sending::of(reply, asked);
    for gate in &sending.held {
        gate.passed().await;
    }
    for message in &sending.before {
        line(message.clone().into_bytes()).await?;
    }
    for step in sending.steps {
        match step {
            Step::Bytes(bytes) => out.send(Out::Bytes(bytes)).await?,
            Step::Wait(gate) => gate.passed().await,
            Step::Repeat(filler) => loop {
                out.send(Out::Bytes(filler.clone())).await?;
            },
            Step::Forever => return Ok(()),
            Step::HangUp => return out.send(Out::HangUp).await,
        }
    }
    line(Vec::new()).await
}

/// Acknowledges a subscription and tells it what is said from then on.
async fn follow(
    asked: &Asked,
    mut said: broadcast::Receiver<Said>,
    out: &mpsc::Sender<Out>,
) -> Result<(), mpsc::error::SendError<Out>> {
    let mut message = subscribed(asked, method::ACKNOWLEDGED, acknowledgment(asked));
    loop {
        out.send(Out::Bytes(format!("{message}\n").into_bytes())).await?;
        message = loop {
            match said.recv().await {
                Ok(Said::Notification(method, params)) => break subscribed(asked, &method, params),
                Ok(Said::Message(_)) => {}
                Err(_) => return Ok(()),
            }
        };
    }
}

/// What is acknowledged: everything that was asked for.
pub(super) fn acknowledgment(asked: &Asked) -> Value {
    json!({ "notifications": asked.params["notifications"] })
}

/// A notification that belongs to a subscription.
pub(super) fn subscribed(asked: &Asked, method: &str, mut params: Value) -> String {
    let id: Value = serde_json::from_str(&asked.id).unwrap_or(Value::Null);
    params["_meta"] = json!({ meta::SUBSCRIPTION_ID: id });
    notification(method, &params)
}

/// Tells a legacy client everything, and any client what is said to the letter.
async fn overheard(
    mut said: broadcast::Receiver<Said>,
    legacy: Arc<AtomicBool>,
    out: mpsc::Sender<Out>,
) {
    while let Ok(said) = said.recv().await {
        let message = match said {
            Said::Notification(method, params) if legacy.load(Ordering::Relaxed) => {
                notification(&method, &params)
            }
            Said::Notification(..) => continue,
            Said::Message(message) => message,
        };
        if out.send(Out::Bytes(format!("{message}\n").into_bytes())).await.is_err() {
            return;
        }
    }
}

async fn write(mut output: DuplexStream, mut queue: mpsc::Receiver<Out>) {
    while let Some(Out::Bytes(bytes)) = queue.recv().await {
        if output.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
