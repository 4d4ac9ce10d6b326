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
    pending::{Pending, Waiting},
    process::Process,
};
use super::{
    call::{Call, cancelled},
    changes::{self, Changes, Subscription},
    error::ClientError,
    incoming::{self, Incoming},
    task::OwnedTask,
};

/// Messages that wait to be written; a server that reads nothing makes requests wait.
const OUTGOING: usize = 256;

/// Lines in a row that are no messages, as a banner may have, before a server counts as broken.
const MAX_NOISE_LINES: usize = 256;

/// What is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most that is passed over to find the end of a line that is too long.
const MAX_SKIPPED_BYTES: usize = 64 * 1024 * 1024;

/// A server at the other end of two pipes.
pub(super) struct Pipe {
    shared: Arc<Shared>,
    reader: OwnedTask,
    writer: OwnedTask,
    process: Option<Process>,
}

struct Shared {
    pending: Pending,
    outgoing: mpsc::Sender<String>,
    /// Only a legacy server may ask, and only on that era may a client answer.
    legacy: AtomicBool,
}

impl Pipe {
    pub(super) fn new(
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Box<dyn AsyncWrite + Send + Unpin>,
        process: Option<Process>,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(OUTGOING);
        let legacy = AtomicBool::new(false);
        let shared = Arc::new(Shared { pending: Pending::default(), outgoing, legacy });
        let reader = OwnedTask::spawn(read_all(input, Arc::clone(&shared)));
        let writer = OwnedTask::spawn(write_all(output, queue));
        Self { shared, reader, writer, process }
    }

    /// From here on the server is a legacy one.
    pub(super) fn speak_legacy(&self) {
        self.shared.legacy.store(true, Ordering::Relaxed);
    }

    /// Sends a request and waits for its answer; letting go cancels it.
    pub(super) async fn call(
        &self,
        call: &Call,
        bytes: usize,
    ) -> Result<Box<RawValue>, ClientError> {
        let (reply, answer) = oneshot::channel();
        self.shared.pending.add(call.id, Waiting::Answer { bytes, reply })?;
        let mut under_way = UnderWay { shared: Arc::clone(&self.shared), id: call.id, sent: false };
        self.shared.send(call.text.clone()).await?;
        under_way.sent = call.may_be_cancelled();
        answer.await.unwrap_or_else(|_| Err(ended("it was given up")))
    }

    /// Opens a modern subscription.
    pub(super) async fn listen(&self, call: &Call) -> Result<Changes, ClientError> {
        let (sender, acknowledged) = oneshot::channel();
        let changes = changes::channel();
        let receiver = changes.subscribe();
        let waiting = Waiting::Changes { acknowledged: Some(sender), changes };
        self.shared.pending.add(call.id, waiting)?;
        let mut under_way = UnderWay { shared: Arc::clone(&self.shared), id: call.id, sent: false };
        self.shared.send(call.text.clone()).await?;
        under_way.sent = true;
        acknowledged.await.unwrap_or_else(|_| Err(ended("it was given up")))?;
        Ok(Changes::new(receiver, Some(Subscription::new(move || drop(under_way)))))
    }

    /// Hears what a legacy server tells by itself.
    pub(super) fn overhear(&self) -> Result<Changes, ClientError> {
        Ok(Changes::new(self.shared.pending.overhear()?, None))
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, text: String) -> Result<(), ClientError> {
        self.shared.send(text).await
    }

    /// What the server wrote on its standard error last.
    pub(super) fn stderr(&self) -> String {
        self.process.as_ref().map(Process::stderr).unwrap_or_default()
    }

    /// Closes the server's input, which tells it to end, and sees to it that it does.
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

impl Shared {
    async fn send(&self, text: String) -> Result<(), ClientError> {
        self.outgoing.send(text).await.map_err(|_| ended("the server no longer reads"))
    }

    fn line(&self, line: &[u8]) -> Heard {
        match incoming::read(line) {
            Ok(Incoming::Answer { id: Some(id), outcome }) => {
                self.pending.answer(&id, line.len(), outcome);
            }
            // Without an id the server cannot tell which request was wrong.
            Ok(Incoming::Answer { id: None, .. }) => return Heard::Noise,
            Ok(Incoming::Notification { method, params }) => {
                self.pending.notification(&method, params, self.legacy.load(Ordering::Relaxed));
            }
            Ok(Incoming::Request { id, method }) => {
                if self.legacy.load(Ordering::Relaxed) {
                    // A server that asks without reading must not make us wait.
                    let _ = self.outgoing.try_send(answer_to(&id, &method));
                }
            }
            Err(unreadable) => {
                if !self.pending.fail(unreadable.id.as_ref(), unreadable.problem) {
                    return Heard::Noise;
                }
            }
        }
        Heard::Message
    }
}

/// What a line was.
enum Heard {
    Message,
    Noise,
}

/// Answers what a legacy server asks: it may see whether we live, and nothing else.
pub(super) fn answer_to(id: &RequestId, method: &str) -> String {
    if method == method::PING {
        response(id, "{}")
    } else {
        error_response(Some(id), &RpcError::method_not_found(method))
    }
}

async fn read_all(input: Box<dyn AsyncRead + Send + Unpin>, shared: Arc<Shared>) {
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
                Heard::Message => noise = 0,
                Heard::Noise => noise += 1,
            },
        }
        if noise > MAX_NOISE_LINES {
            break "the server writes what are no messages";
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
            // What the server still has to say is read to its end, which says more than this.
            return;
        }
    }
}

/// A request that has not been answered.
struct UnderWay {
    shared: Arc<Shared>,
    id: u64,
    sent: bool,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.shared.pending.forget(self.id) && self.sent {
            // When the queue is full the server does not read anyway.
            let _ = self.shared.outgoing.try_send(cancelled(self.id));
        }
    }
}

fn ended(why: &str) -> ClientError {
    ClientError::Closed(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_not_followed_for_ever_h_70() {
        let endless = Box::new(tokio::io::repeat(b'x'));
        let pipe = Pipe::new(endless, Box::new(tokio::io::sink()), None);
        // A request that waits while the line becomes too long fails first; the next one lasts longer.
        let ended = loop {
            let (reply, answer) = oneshot::channel();
            let failed = match pipe.shared.pending.add(1, Waiting::Answer { bytes: 1024, reply }) {
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
