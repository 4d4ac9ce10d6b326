//! Messages as lines on a pair of pipes, many requests at once.

mod pending;
pub(super) mod process;
mod stderr;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use skillwire_protocol::{
    LineAssembler, LineEvent, RequestId, RpcError,
    message::{error_response, response},
    method,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot},
};

use self::{
    pending::{PendingCalls, WaitingCaller},
    process::ServerProcess,
};
use super::{
    call::{OutgoingRequest, cancelled},
    changes::{self, Changes, SubscriptionGuard},
    conversation::Conversations,
    error::ClientError,
    incoming::{self, Incoming},
    task::OwnedTask,
};

/// Messages in the write queue; a server that does not read makes requests wait.
const OUTGOING: usize = 256;

/// How many lines in a row may be no messages, as in a banner, before the connection is given up.
const MAX_NOISE_LINES: usize = 256;

/// Bytes per read.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most bytes that are skipped to find the end of a line that is too long.
const MAX_SKIPPED_BYTES: usize = 64 * 1024 * 1024;

/// A server at the other end of two pipes.
pub(super) struct Pipe {
    shared: Arc<PipeShared>,
    reader: OwnedTask,
    writer: OwnedTask,
    process: Option<ServerProcess>,
}

struct PipeShared {
    pending: PendingCalls,
    outgoing: mpsc::Sender<String>,
    /// Whether the server is a legacy one: only those may send requests, and the client answers
    /// only them.
    legacy: AtomicBool,
    conversations: Arc<Conversations>,
}

impl Pipe {
    pub(super) fn new(
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Box<dyn AsyncWrite + Send + Unpin>,
        process: Option<ServerProcess>,
        conversations: Arc<Conversations>,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(OUTGOING);
        let legacy = AtomicBool::new(false);
        let pending = PendingCalls::default();
        let shared = Arc::new(PipeShared { pending, outgoing, legacy, conversations });
        let reader = OwnedTask::spawn(read_all(input, Arc::clone(&shared)));
        let writer = OwnedTask::spawn(write_all(output, queue));
        Self { shared, reader, writer, process }
    }

    /// Treats the server as a legacy one from now on.
    pub(super) fn speak_legacy(&self) {
        self.shared.legacy.store(true, Ordering::Relaxed);
    }

    /// Sends a request and waits for its answer; dropping the future cancels it.
    pub(super) async fn call(
        &self,
        call: &OutgoingRequest,
        bytes: usize,
    ) -> Result<Box<RawValue>, ClientError> {
        let (reply, answer) = oneshot::channel();
        self.shared.pending.add(call.id, WaitingCaller::Answer { bytes, reply })?;
        let mut pending_request =
            PendingRequest { shared: Arc::clone(&self.shared), id: call.id, sent: false };
        self.shared.send(call.text.clone()).await?;
        pending_request.sent = call.may_be_cancelled();
        answer.await.unwrap_or_else(|_| Err(ended("it was given up")))
    }

    /// Opens a modern subscription.
    pub(super) async fn listen(&self, call: &OutgoingRequest) -> Result<Changes, ClientError> {
        let (sender, acknowledged) = oneshot::channel();
        let changes = changes::channel();
        let receiver = changes.subscribe();
        let waiting = WaitingCaller::Changes { acknowledged: Some(sender), changes };
        self.shared.pending.add(call.id, waiting)?;
        let mut pending_request =
            PendingRequest { shared: Arc::clone(&self.shared), id: call.id, sent: false };
        self.shared.send(call.text.clone()).await?;
        pending_request.sent = true;
        acknowledged.await.unwrap_or_else(|_| Err(ended("it was given up")))?;
        Ok(Changes::new(receiver, Some(SubscriptionGuard::new(move || drop(pending_request)))))
    }

    /// Subscribes to the changes that a legacy server announces.
    pub(super) fn overhear(&self) -> Result<Changes, ClientError> {
        Ok(Changes::new(self.shared.pending.overhear()?, None))
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, text: String) -> Result<(), ClientError> {
        self.shared.send(text).await
    }

    /// Returns the server's last output on standard error.
    pub(super) fn stderr(&self) -> String {
        self.process.as_ref().map(ServerProcess::stderr).unwrap_or_default()
    }

    /// Returns the last lines that a server process wrote to its standard error before it ended.
    pub(super) async fn last_words(&self) -> Option<String> {
        self.process.as_ref()?.last_words().await
    }

    /// Closes the server's input, which asks it to exit, and kills it if it does not.
    pub(super) async fn close(&self, grace: Duration) {
        self.writer.stop();
        self.shared.pending.end(&ended("it was closed here"));
        if let Some(process) = &self.process {
            process.end(grace).await;
        }
        self.reader.stop();
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.shared.pending.end(&ended("it was given up"));
    }
}

impl PipeShared {
    async fn send(&self, text: String) -> Result<(), ClientError> {
        self.outgoing.send(text).await.map_err(|_| ended("the server no longer reads"))
    }

    fn line(&self, line: &[u8]) -> LineKind {
        match incoming::read(line) {
            Ok(Incoming::Answer { id: Some(id), outcome }) => {
                self.pending.answer(&id, line.len(), outcome);
            }
            // An error without an id does not say which request it belongs to.
            Ok(Incoming::Answer { id: None, .. }) => return LineKind::Noise,
            Ok(Incoming::Notification { method, params }) if method == method::PROGRESS => {
                self.conversations.progress(params);
            }
            Ok(Incoming::Notification { method, params }) => {
                self.pending.notification(&method, params, self.legacy.load(Ordering::Relaxed));
            }
            Ok(Incoming::Request { id, method, params }) => {
                if !self.legacy.load(Ordering::Relaxed) {
                    return LineKind::Message;
                }
                if method == method::ELICIT {
                    let outgoing = self.outgoing.clone();
                    let send = move |text| drop(outgoing.try_send(text));
                    self.conversations.ask(None, id, params, send);
                } else {
                    // The reader must not wait for a server that sends requests without reading the
                    // answers.
                    let _ = self.outgoing.try_send(answer_to(&id, &method));
                }
            }
            Err(unreadable) => {
                if !self.pending.fail(unreadable.id.as_ref(), unreadable.problem) {
                    return LineKind::Noise;
                }
            }
        }
        LineKind::Message
    }
}

/// The classification of a line.
enum LineKind {
    Message,
    Noise,
}

/// Answers a legacy server's request: only `ping` gets a result.
pub(super) fn answer_to(id: &RequestId, method: &str) -> String {
    if method == method::PING {
        response(id, "{}")
    } else {
        error_response(Some(id), &RpcError::method_not_found(method))
    }
}

async fn read_all(input: Box<dyn AsyncRead + Send + Unpin>, shared: Arc<PipeShared>) {
    let mut reader = BufReader::with_capacity(CHUNK_BYTES, input);
    let mut lines = LineAssembler::default();
    let mut noise = 0;
    let why = loop {
        let Ok(chunk) = reader.fill_buf().await else { break "the server's output cannot be read" };
        if chunk.is_empty() {
            break if lines.is_between_lines() {
                "the server closed its output"
            } else {
                "the server ended in the middle of a message"
            };
        }
        let (taken, event) = lines.take(chunk, shared.pending.longest_line());
        reader.consume(taken);
        match event {
            LineEvent::Unfinished if lines.skipped() > MAX_SKIPPED_BYTES => {
                break "a message had no end";
            }
            LineEvent::Unfinished | LineEvent::Skipped => {}
            LineEvent::TooLong => {
                noise += 1;
                shared.pending.too_long(incoming::id_in(lines.line()).as_ref());
            }
            LineEvent::Complete if lines.line().trim_ascii().is_empty() => {}
            LineEvent::Complete => match shared.line(lines.line()) {
                LineKind::Message => noise = 0,
                LineKind::Noise => noise += 1,
            },
        }
        if noise > MAX_NOISE_LINES {
            break "the server wrote many lines to its standard output that are no messages";
        }
    };
    shared.pending.end(&ended(why));
}

async fn write_all(
    mut output: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::Receiver<String>,
) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if written.await.is_err() {
            // The reader goes on to the end of the server's output, which explains the failure
            // better.
            return;
        }
    }
}

/// A request without an answer yet.
struct PendingRequest {
    shared: Arc<PipeShared>,
    id: u64,
    sent: bool,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if self.shared.pending.forget(self.id) && self.sent {
            // If the queue is full, the server is not reading, so a cancellation would not reach it
            // either.
            let _ = self.shared.outgoing.try_send(cancelled(self.id));
        }
    }
}

fn ended(why: &str) -> ClientError {
    ClientError::closed(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_not_followed_for_ever_h_70() {
        let endless = Box::new(tokio::io::repeat(b'x'));
        let pipe = Pipe::new(endless, Box::new(tokio::io::sink()), None, Arc::default());
        // A request in flight when the line becomes too long fails first; the next lasts longer.
        let ended = loop {
            let (reply, answer) = oneshot::channel();
            let failed =
                match pipe.shared.pending.add(1, WaitingCaller::Answer { bytes: 1024, reply }) {
                    Ok(()) => answer.await.unwrap().unwrap_err(),
                    Err(error) => error,
                };
            if !matches!(failed, ClientError::TooLarge(_)) {
                break failed;
            }
        };
        assert_eq!(ended, super::ended("a message had no end"));
    }
}
