//! Servers that run over pipes or over HTTP, until the value is dropped.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    broken::{Broken, Result},
    http::load::Target,
    proc,
};

/// How long a server may take to start, or to answer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);
/// How long a server may take to end after its input is closed.
const FAREWELL: Duration = Duration::from_mins(1);

/// How long a server may take to become idle after its start.
const SETTLING: Duration = Duration::from_mins(1);
/// A server is idle if it used less than this share of one core in each of several samples.
const IDLE: f64 = 0.05;
const QUIET_TURNS: usize = 4;
const TURN: Duration = Duration::from_millis(250);

/// A server on pipes.
#[derive(Debug)]
pub(crate) struct PipeServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(crate) pid: u32,
}

impl PipeServer {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = spawn(&mut command)?;
        let pid = child.id().ok_or_else(gone)?;
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = child.stdout.take().ok_or_else(gone)?;
        Ok(Self { child, input, output: BufReader::with_capacity(256 << 10, output), pid })
    }

    /// Sends one message and returns the next line.
    pub(crate) async fn ask(&mut self, message: &str) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let exchange = async {
            self.input.write_all(message.as_bytes()).await?;
            self.input.write_all(b"\n").await?;
            self.input.flush().await?;
            self.output.read_until(b'\n', &mut line).await
        };
        let length = timeout(PATIENCE, exchange).await.map_err(|_| late())??;
        if length == 0 { Err(gone()) } else { Ok(line) }
    }

    /// Closes the input and waits, so that the server can write what it keeps.
    pub(crate) async fn stop(self) -> Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        if timeout(FAREWELL, child.wait()).await.is_err() {
            child.kill().await?;
        }
        Ok(())
    }
}

/// A server on HTTP.
#[derive(Debug)]
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) target: Target,
}

impl HttpServer {
    /// Starts a server and waits until it says where it listens.
    pub(crate) async fn start(mut command: Command) -> Result<Self> {
        let mut child = spawn(&mut command)?;
        let pid = child.id().ok_or_else(gone)?;
        let address = match (child.stdout.take(), child.stderr.take()) {
            (Some(output), _) => announced(output).await?,
            (None, Some(output)) => announced(output).await?,
            (None, None) => return Err(gone()),
        };
        Ok(Self { child, target: Target { address, pid } })
    }

    /// Waits until the server is idle.
    ///
    /// Work after its start, such as setting up watches, is not part of the cost of a request, and
    /// it would disturb a reference that is measured at the same time.
    pub(crate) async fn settled(self) -> Result<Self> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < QUIET_TURNS && start.elapsed() < SETTLING {
            let before = proc::cpu(self.target.pid)?;
            tokio::time::sleep(TURN).await;
            let idle = proc::cpu(self.target.pid)? - before < IDLE * TURN.as_secs_f64();
            quiet = if idle { quiet + 1 } else { 0 };
        }
        Ok(self)
    }

    /// Writes a line to the input of a helper.
    pub(crate) async fn tell(&mut self, line: &str) -> Result<()> {
        let input = self.child.stdin.as_mut().ok_or_else(gone)?;
        input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(input.flush().await?)
    }

    /// Ends the server process that this value started.
    pub(crate) async fn stop(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| {
        let program = command.as_std().get_program().display();
        Broken::new(format!("{program} does not start: {error}."))
    })
}

/// Waits for `listening on http://ADDRESS/...`, then keeps reading so that the server can go on.
async fn announced(output: impl AsyncRead + Unpin + Send + 'static) -> Result<SocketAddr> {
    let mut lines = BufReader::new(output).lines();
    let address = timeout(PATIENCE, find_address(&mut lines)).await.map_err(|_| late())??;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok(address)
}

async fn find_address<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>) -> Result<SocketAddr> {
    while let Some(line) = lines.next_line().await? {
        let Some((_, url)) = line.split_once("listening on http://") else { continue };
        let authority = url.split('/').next().unwrap_or(url);
        return authority.parse().map_err(|_| Broken::new(format!("No address: {line}")));
    }
    Err(gone())
}

fn gone() -> Broken {
    Broken::new("The server ended before it answered.")
}

fn late() -> Broken {
    Broken::new(format!("The server did not answer within {} s.", PATIENCE.as_secs()))
}
