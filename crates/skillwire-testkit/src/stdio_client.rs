//! A client over pipes, to a server in the same process or in one of its own.

use std::{path::Path, process::Stdio, sync::Arc};

use serde_json::Value;
use skillwire_server::{Engine, stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines},
    process::{Child, Command},
    task::JoinHandle,
    time::{Duration, timeout},
};

use crate::rpc::{RpcReply, modern_request};

/// A test that waits longer than this has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The server at the other end of the pipes.
#[derive(Debug)]
enum Peer {
    Task(JoinHandle<std::io::Result<()>>),
    Process(Child),
}

/// A client on a pair of pipes.
pub struct StdioClient {
    input: Option<Box<dyn AsyncWrite + Unpin + Send>>,
    output: Lines<BufReader<Box<dyn AsyncRead + Unpin + Send>>>,
    peer: Peer,
}

/// How a server over pipes ended.
#[derive(Debug)]
pub struct ServerExit {
    /// The exit code of a process; 0 for a task that ended well.
    pub code: Option<i32>,
    /// The standard error of a process.
    pub stderr: String,
}

impl StdioClient {
    /// Connects to an engine in this process.
    pub fn in_process(engine: Arc<Engine>) -> Self {
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (server_output, output) = tokio::io::duplex(64 * 1024);
        let task = tokio::spawn(stdio::run(engine, server_input, server_output));
        Self::new(Box::new(input), Box::new(output), Peer::Task(task))
    }

    /// Starts a server as a process.
    pub fn spawn(binary: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("standard input is piped");
        let output = child.stdout.take().expect("standard output is piped");
        Self::new(Box::new(input), Box::new(output), Peer::Process(child))
    }

    fn new(
        input: Box<dyn AsyncWrite + Unpin + Send>,
        output: Box<dyn AsyncRead + Unpin + Send>,
        peer: Peer,
    ) -> Self {
        Self { input: Some(input), output: BufReader::new(output).lines(), peer }
    }

    /// Writes raw bytes; a server that is gone is not an error here.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes.as_ref()).await;
            let _ = input.flush().await;
        }
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n")).await;
    }

    /// Reads the next line as it was sent, or nothing at the end.
    pub async fn line(&mut self) -> Option<String> {
        let line = timeout(TIMEOUT, self.output.next_line()).await.expect("the server is alive");
        line.expect("output is UTF-8")
    }

    /// Reads the next message, or nothing at the end.
    pub async fn next(&mut self) -> Option<Value> {
        let line = self.line().await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}")))
    }

    /// Sends a request and reads the next message.
    pub async fn request(&mut self, request: &Value) -> RpcReply {
        self.send(request).await;
        RpcReply(self.next().await.expect("the server answers"))
    }

    /// Sends a modern request and reads the next message.
    pub async fn modern(&mut self, id: i64, method: &str, params: Value) -> RpcReply {
        self.request(&modern_request(id, method, params)).await
    }

    /// Closes the server's input and waits for its end.
    pub async fn close(mut self) -> ServerExit {
        self.input = None;
        self.ended().await
    }

    /// Waits for the server's end.
    pub async fn ended(self) -> ServerExit {
        // Nothing reads the output any more. A server that waits for room in the pipe would never
        // end.
        drop(self.output);
        match self.peer {
            Peer::Task(task) => {
                let result =
                    timeout(TIMEOUT, task).await.expect("the server ends").expect("no panic");
                ServerExit { code: result.ok().map(|()| 0), stderr: String::new() }
            }
            Peer::Process(child) => {
                let output =
                    timeout(TIMEOUT, child.wait_with_output()).await.expect("the server ends");
                let output = output.expect("the server can be waited for");
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                ServerExit { code: output.status.code(), stderr }
            }
        }
    }
}
