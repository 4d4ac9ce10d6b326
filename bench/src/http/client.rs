//! One keep-alive connection that reads answers without parsing them.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use crate::broken::{Broken, Result};

/// The longest answer that is accepted.
const MAX_ANSWER: usize = 256 << 20;
/// The pause between two attempts to connect to a server that is starting.
const RETRY: Duration = Duration::from_millis(5);

/// A connection; its buffer holds the last answer.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects, waiting up to `patience` for a server that does not listen yet.
    pub(crate) async fn open(address: SocketAddr, patience: Duration) -> Result<Self> {
        let start = Instant::now();
        loop {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, buffer: Vec::with_capacity(64 << 10) });
                }
                Err(error) if start.elapsed() > patience => return Err(error.into()),
                Err(_) => sleep(RETRY).await,
            }
        }
    }

    /// Sends one request and returns the body of its answer, which must say that it succeeded.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let start = loop {
            self.read_more().await?;
            if let Some(at) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
        };
        if !self.buffer.starts_with(b"HTTP/1.1 20") {
            let shown = &self.buffer[..self.buffer.len().min(400)];
            return Err(Broken::new(format!("No answer: {}", String::from_utf8_lossy(shown))));
        }
        match content_length(&self.buffer[..start]) {
            Some(length) if length <= MAX_ANSWER => {
                let end = start + length;
                self.buffer.reserve(end.saturating_sub(self.buffer.len()));
                while self.buffer.len() < end {
                    self.read_more().await?;
                }
                Ok(&self.buffer[start..end])
            }
            Some(_) => Err(Broken::new("An answer is too long.")),
            // Chunks: JSON escapes line ends, so this can only be the last chunk.
            None => {
                while !self.buffer.ends_with(b"\r\n0\r\n\r\n") {
                    self.read_more().await?;
                }
                Ok(&self.buffer[start..])
            }
        }
    }

    /// Like [`exchange`](Self::exchange), with a timeout.
    pub(crate) async fn exchange_within(
        &mut self,
        request: &[u8],
        patience: Duration,
    ) -> Result<&[u8]> {
        timeout(patience, self.exchange(request))
            .await
            .map_err(|_| Broken::new(format!("No answer within {} s.", patience.as_secs())))?
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.buffer.len() > MAX_ANSWER {
            return Err(Broken::new("An answer is too long."));
        }
        self.buffer.reserve(16 << 10);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(Broken::new("The server closed the connection.")),
            _ => Ok(()),
        }
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        let value = name.eq_ignore_ascii_case(NAME).then_some(value)?;
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    })
}
