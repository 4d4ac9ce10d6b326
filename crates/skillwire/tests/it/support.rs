//! Runs the real program, and servers of it.

use std::{
    ffi::OsStr,
    net::SocketAddr,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::Value;
use skillwire_testkit::{
    HttpConnection, HttpReply, LEGACY_HEADERS, RpcReply, SkillFolder, initialize_params,
    legacy_request, modern_headers, modern_request,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// The program under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_skillwire");

/// A test that waits longer than this for anything has failed.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The output and exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandResult {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn assert_exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Asserts that the command failed with this exit code and these words on standard error, and
    /// printed nothing to standard output.
    #[track_caller]
    pub(crate) fn assert_refused(self, code: i32, words: &str) {
        let ran = self.assert_exit(code);
        assert!(ran.stderr.contains(words), "{words:?} is not in {}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }

    /// Everything that a user would see, for snapshots.
    pub(crate) fn transcript(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        let errors = match self.stderr.as_str() {
            "" => String::new(),
            text => format!("--- standard error\n{text}"),
        };
        format!("{}{errors}--- exit code {code}", self.stdout)
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }
}

/// The program in a folder, with pipes and the same environment on every machine.
pub(crate) fn command(folder: &SkillFolder, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).current_dir(folder.path()).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "SKILLWIRE_LOG"] {
        command.env_remove(name);
    }
    // The server's index must not outlive the test, and must not lie among the skills.
    command.env("SKILLWIRE_HOME", folder.path().join(".git/skillwire"));
    command
}

/// Runs the program to its end.
pub(crate) async fn run(folder: &SkillFolder, arguments: &[impl AsRef<OsStr>]) -> CommandResult {
    finish(command(folder, arguments)).await
}

/// Runs a command to its end.
pub(crate) async fn finish(mut command: Command) -> CommandResult {
    let child = command.spawn().expect("the program starts");
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await;
    let output = output.expect("the program ends").expect("the program can be waited for");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    CommandResult {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// A running server, whose standard error is read as it is written.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    lines: UnboundedReceiver<String>,
    said: Vec<String>,
}

impl ServerProcess {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the server starts");
        let (sender, lines) = unbounded_channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(async move {
                let mut stderr = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = stderr.next_line().await {
                    // Reads on after the test stopped listening, so that the server never blocks.
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines, said: Vec::new() }
    }

    /// Waits for a line on standard error that contains these words.
    pub(crate) async fn wait_for_line(&mut self, words: &str) -> String {
        while let Some(line) = self.next_line().await {
            if line.contains(words) {
                return line;
            }
        }
        panic!("the server never said {words:?}: {:#?}", self.said);
    }

    async fn next_line(&mut self) -> Option<String> {
        let line = timeout(TEST_TIMEOUT, self.lines.recv()).await;
        let line = line.unwrap_or_else(|_| panic!("nothing more is said: {:#?}", self.said))?;
        self.said.push(line.clone());
        Some(line)
    }

    /// The process id of the running server.
    #[cfg(unix)]
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("the server runs")
    }

    /// Sends a signal.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id();
        let sent = std::process::Command::new("sh")
            .args(["-c", &format!("kill -s {name} {id}")])
            .status()
            .expect("there is a shell");
        assert!(sent.success());
    }

    /// Kills the server and returns everything that it wrote to standard output.
    pub(crate) async fn kill(mut self) -> String {
        self.child.start_kill().expect("the server runs");
        let output = timeout(TEST_TIMEOUT, self.child.wait_with_output()).await;
        let output = output.expect("the server ends").expect("the server can be waited for");
        String::from_utf8(output.stdout).expect("output is UTF-8")
    }

    /// Waits until the server has ended.
    pub(crate) async fn wait(mut self) -> CommandResult {
        let status = timeout(TEST_TIMEOUT, self.child.wait()).await;
        let status = status.expect("the server ends").expect("the server can be waited for");
        while self.next_line().await.is_some() {}
        CommandResult { code: status.code(), stdout: String::new(), stderr: self.said.join("\n") }
    }
}

/// A server that is connected by pipes (`--stdio`).
#[derive(Debug)]
pub(crate) struct StdioServer {
    pub(crate) process: ServerProcess,
    pub(crate) input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl StdioServer {
    /// Starts `serve` with these arguments.
    pub(crate) fn serve(folder: &SkillFolder, arguments: &[&str]) -> Self {
        Self::start(command(folder, &[&["serve"], arguments].concat()))
    }

    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        let mut process = ServerProcess::start(command);
        let input = process.child.stdin.take();
        let output = process.child.stdout.take().expect("standard output is piped");
        Self { process, input, output: BufReader::new(output).lines() }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    /// Reads the next line of standard output, which must be a message.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line =
            timeout(TEST_TIMEOUT, self.output.next_line()).await.expect("the server answers");
        let line = line.expect("output is UTF-8")?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}")))
    }

    /// Reads standard output up to and including a line that contains these words.
    pub(crate) async fn lines_until(&mut self, words: &str) -> String {
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.contains(words)) {
            let line = timeout(TEST_TIMEOUT, self.output.next_line()).await.expect("more is said");
            lines.push(line.expect("output is UTF-8").expect("the program runs"));
        }
        lines.join("\n")
    }

    /// Reads standard output to its end.
    pub(crate) async fn rest(&mut self) -> String {
        let mut lines = Vec::new();
        loop {
            let line = timeout(TEST_TIMEOUT, self.output.next_line()).await.expect("it ends");
            match line.expect("output is UTF-8") {
                Some(line) => lines.push(line),
                None => return lines.join("\n"),
            }
        }
    }

    /// Sends a request and reads the answer.
    pub(crate) async fn request(&mut self, request: &Value) -> RpcReply {
        self.send(request).await;
        RpcReply(self.next().await.expect("the server answers"))
    }

    /// Sends a modern request and reads the answer.
    pub(crate) async fn modern(&mut self, method: &str, params: Value) -> RpcReply {
        self.request(&modern_request(1, method, params)).await
    }

    /// The URIs that the server lists.
    pub(crate) async fn uris(&mut self) -> Vec<String> {
        uris(&self.modern("skills/list", Value::Null).await)
    }

    /// Requests the listing until it is as expected.
    pub(crate) async fn until_listed(&mut self, expected: &[&str]) {
        let start = Instant::now();
        loop {
            let listed = self.uris().await;
            if listed == expected {
                return;
            }
            assert!(start.elapsed() < TEST_TIMEOUT, "{listed:?} is listed, not {expected:?}");
        }
    }

    /// Closes standard input and waits until the server has ended.
    pub(crate) async fn close(mut self) -> CommandResult {
        self.input = None;
        self.process.wait().await
    }
}

/// A server that listens on a port of its own (`--http`).
#[derive(Debug)]
pub(crate) struct HttpServer {
    pub(crate) process: ServerProcess,
    pub(crate) address: SocketAddr,
}

impl HttpServer {
    /// Starts `serve` on loopback with these arguments and waits until it listens.
    pub(crate) async fn serve(folder: &SkillFolder, arguments: &[&str]) -> Self {
        let http = ["--http", "127.0.0.1:0"];
        Self::start(command(folder, &[&["serve"], arguments, &http].concat())).await
    }

    /// Starts a command and waits until it listens.
    pub(crate) async fn start(command: Command) -> Self {
        let mut process = ServerProcess::start(command);
        let line = process.wait_for_line("listening on").await;
        let address = line.strip_prefix("listening on http://");
        let address = address.and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("not the exact line: {line:?}"));
        Self { process, address: address.parse().expect("an address is printed") }
    }

    /// Starts `serve` on an address of its own, behind a proxy whose address it prints instead.
    pub(crate) async fn start_named(folder: &SkillFolder, arguments: &[&str]) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = free.local_addr().expect("a listener has an address");
        drop(free);
        let text = address.to_string();
        let arguments = [&["serve"], arguments, &["--http", &text]].concat();
        let mut process = ServerProcess::start(command(folder, &arguments));
        process.wait_for_line("listening on").await;
        Self { process, address }
    }

    /// Opens a legacy session, and returns its id.
    pub(crate) async fn initialize(&self, caller: (&str, &str)) -> String {
        let mut connection = HttpConnection::open(self.address).await;
        let request = legacy_request(1, "initialize", initialize_params("2025-11-25")).to_string();
        let headers = [&LEGACY_HEADERS[..], &[caller]].concat();
        connection.send("POST", "/mcp", &headers, request.as_bytes()).await;
        let reply = connection.reply().await;
        reply.header("mcp-session-id").expect("a session is opened").to_owned()
    }

    /// Sends a legacy request with further headers.
    pub(crate) async fn legacy(&self, extra: &[(&str, &str)], method: &str) -> HttpReply {
        let mut connection = HttpConnection::open(self.address).await;
        let request = legacy_request(1, method, serde_json::json!({})).to_string();
        let headers = [&LEGACY_HEADERS[..], extra].concat();
        connection.send("POST", "/mcp", &headers, request.as_bytes()).await;
        connection.reply().await
    }

    /// Sends a modern request with further headers.
    pub(crate) async fn request(
        &self,
        extra: &[(&str, &str)],
        method: &str,
        params: Value,
    ) -> HttpReply {
        post(self.address, extra, method, params).await
    }

    /// Sends a modern request.
    pub(crate) async fn modern(&self, method: &str, params: Value) -> RpcReply {
        self.request(&[], method, params).await.message()
    }

    /// The URIs that the server lists.
    pub(crate) async fn uris(&self) -> Vec<String> {
        uris(&self.modern("skills/list", Value::Null).await)
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &str) -> HttpReply {
        let mut connection = HttpConnection::open(self.address).await;
        connection.send("GET", path, &[], b"").await;
        connection.reply().await
    }
}

/// Posts a modern request.
pub(crate) async fn post(
    address: SocketAddr,
    extra: &[(&str, &str)],
    method: &str,
    params: Value,
) -> HttpReply {
    let mut connection = HttpConnection::open(address).await;
    let mut headers = modern_headers(method);
    headers.extend_from_slice(extra);
    let body = modern_request(1, method, params).to_string();
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    connection.reply().await
}

/// The URIs of a listing.
pub(crate) fn uris(reply: &RpcReply) -> Vec<String> {
    let skills = reply.result()["skills"].as_array().expect("a listing has skills");
    skills.iter().map(|skill| skill["uri"].as_str().expect("a URI is text").to_owned()).collect()
}

/// A `SKILL.md` whose frontmatter has a name, a description and these lines.
pub(crate) fn skill_with(name: &str, lines: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name}. Use when testing.\n{lines}---\n\n# Text\n"
    )
}
