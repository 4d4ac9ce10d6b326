//! Newline-delimited messages over a pair of byte streams.
//!
//! Only messages are ever written. The end of input ends the server; so does an output that the
//! client no longer reads. Both eras may use one connection: a request with modern metadata is answered
//! on its own terms, everything else belongs to the session that `initialize` opened.

mod session;

use std::sync::Arc;

use skillwire_protocol::{LineAssembler, LineEvent};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use self::session::StdioSession;
use skillwire_engine::{Engine, OutgoingMessage};

/// Messages that may wait for a slow client before the server stops taking requests.
const OUTGOING: usize = 256;

/// The longest message the server accepts, in bytes.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// How long the client may take to read the last messages once its input has ended.
const LAST_WRITE: std::time::Duration = std::time::Duration::from_secs(5);

/// Serves one client until its input ends.
pub async fn run(
    engine: Arc<Engine>,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    run_until(engine, input, output, std::future::pending()).await
}

/// Serves one client until its input ends or `shutdown` is done, which ends subscriptions in order.
pub async fn run_until(
    engine: Arc<Engine>,
    input: impl AsyncRead + Unpin + Send,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
    shutdown: impl Future<Output = ()>,
) -> std::io::Result<()> {
    engine.catalog().ready().await;
    let (sender, mut receiver) = mpsc::channel::<OutgoingMessage>(OUTGOING);
    let writer = tokio::spawn(async move {
        while let Some(message) = receiver.recv().await {
            output.write_all(&message.into_line()).await?;
            if receiver.is_empty() {
                output.flush().await?;
            }
        }
        output.flush().await
    });
    let mut session = StdioSession::new(engine, sender.clone());
    let mut reader = BufReader::new(input);
    let mut lines = LineAssembler::default();
    tokio::pin!(shutdown);
    loop {
        let event = tokio::select! {
            chunk = reader.fill_buf() => {
                let chunk = chunk?;
                // A last line without a line end is not a message: the client may have died while
                // writing it.
                if chunk.is_empty() {
                    break;
                }
                let (taken, event) = lines.take(chunk, MAX_LINE_BYTES);
                reader.consume(taken);
                event
            }
            () = sender.closed() => break,
            () = &mut shutdown => {
                session.stop();
                break;
            }
        };
        match event {
            LineEvent::Unfinished | LineEvent::TooLong => {}
            LineEvent::Skipped => session.refuse_long_line().await,
            LineEvent::Complete if lines.line().trim_ascii().is_empty() => {}
            LineEvent::Complete => session.receive(lines.line()).await,
        }
    }
    drop(sender);
    session.close().await;
    // A client that closed its end may have stopped reading as well; do not wait for it for ever.
    let Ok(written) = tokio::time::timeout(LAST_WRITE, writer).await else { return Ok(()) };
    match written {
        // A client that went away is an ordinary end, not an error.
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Ok(result) => result,
        Err(_) => Ok(()),
    }
}
