//! Running the real program.

use std::{
    ffi::OsStr,
    net::SocketAddr,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::Value;
use skillwire_testkit::{
    HttpConnection, HttpReply, RpcReply, SkillFolder, modern_headers, modern_request,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// The program under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_skillwire");

/// Nothing here takes this long; a test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Insists on an error: this exit code, these words on standard error, nothing else anywhere.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, words: &str) {
        let ran = self.exits(code);
        assert!(ran.stderr.contains(words), "{words:?} is not in {}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }

    /// Everything a person would see, for snapshots.
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

/// The program in a folder, on pipes and in an environment that is the same everywhere.
pub(crate) fn command(folder: &SkillFolder, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).current_dir(folder.path()).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "SKILLWIRE_LOG"] {
        command.env_remove(name);
    }
    // What a server remembers between starts must not outlive the test, nor be among the skills.
    command.env("SKILLWIRE_HOME", folder.path().join(".git/skillwire"));
    command
}

/// Runs the program to its end.
pub(crate) async fn run(folder: &SkillFolder, arguments: &[impl AsRef<OsStr>]) -> Ran {
    finish(command(folder, arguments)).await
}

/// Runs a command to its end.
pub(crate) async fn finish(mut command: Command) -> Ran {
    let child = command.spawn().expect("the program starts");
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.expect("the program ends").expect("the program can be waited for");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A running server, what it says followed as it is said.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    lines: UnboundedReceiver<String>,
    said: Vec<String>,
}

impl Process {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the server starts");
        let (sender, lines) = unbounded_channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(async move {
                let mut stderr = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = stderr.next_line().await {
                    // A test that no longer listens must not block the server.
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines, said: Vec::new() }
    }

    /// Waits for a line on standard error that contains these words.
    pub(crate) async fn says(&mut self, words: &str) -> String {
        while let Some(line) = self.hears().await {
            if line.contains(words) {
                return line;
            }
        }
        panic!("the server never said {words:?}: {:#?}", self.said);
    }

    async fn hears(&mut self) -> Option<String> {
        let line = timeout(PATIENCE, self.lines.recv()).await;
        let line = line.unwrap_or_else(|_| panic!("nothing more is said: {:#?}", self.said))?;
        self.said.push(line.clone());
        Some(line)
    }

    /// The process id of a server that runs.
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

    /// Ends the server by force and returns all that it wrote on standard output.
    pub(crate) async fn killed(mut self) -> String {
        self.child.start_kill().expect("the server runs");
        let output = timeout(PATIENCE, self.child.wait_with_output()).await;
        let output = output.expect("the server ends").expect("the server can be waited for");
        String::from_utf8(output.stdout).expect("output is UTF-8")
    }

    /// Waits for the end.
    pub(crate) async fn ended(mut self) -> Ran {
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status = status.expect("the server ends").expect("the server can be waited for");
        while self.hears().await.is_some() {}
        Ran { code: status.code(), stdout: String::new(), stderr: self.said.join("\n") }
    }
}

/// A server on pipes.
#[derive(Debug)]
pub(crate) struct Piped {
    pub(crate) process: Process,
    pub(crate) input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Piped {
    /// Starts `serve` with these arguments.
    pub(crate) fn serve(folder: &SkillFolder, arguments: &[&str]) -> Self {
        Self::start(command(folder, &[&["serve"], arguments].concat()))
    }

    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        let mut process = Process::start(command);
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
        let line = timeout(PATIENCE, self.output.next_line()).await.expect("the server answers");
        let line = line.expect("output is UTF-8")?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}")))
    }

    /// Reads standard output up to a line that contains these words.
    pub(crate) async fn lines_until(&mut self, words: &str) -> String {
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.contains(words)) {
            let line = timeout(PATIENCE, self.output.next_line()).await.expect("more is said");
            lines.push(line.expect("output is UTF-8").expect("the program runs"));
        }
        lines.join("\n")
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

    /// The URIs that are listed.
    pub(crate) async fn uris(&mut self) -> Vec<String> {
        uris(&self.modern("skills/list", Value::Null).await)
    }

    /// Asks for the listing until it is as expected.
    pub(crate) async fn until_listed(&mut self, expected: &[&str]) {
        let start = Instant::now();
        loop {
            let listed = self.uris().await;
            if listed == expected {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{listed:?} is listed, not {expected:?}");
        }
    }

    /// Closes standard input and waits for the end.
    pub(crate) async fn close(mut self) -> Ran {
        self.input = None;
        self.process.ended().await
    }
}

/// A server on a port of its own.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Listening {
    /// Starts `serve` on loopback with these arguments and waits until it listens.
    pub(crate) async fn serve(folder: &SkillFolder, arguments: &[&str]) -> Self {
        let http = ["--http", "127.0.0.1:0"];
        Self::start(command(folder, &[&["serve"], arguments, &http].concat())).await
    }

    /// Starts a command and waits until it listens.
    pub(crate) async fn start(command: Command) -> Self {
        let mut process = Process::start(command);
        let line = process.says("listening on").await;
        let address = line.strip_prefix("listening on http://");
        let address = address.and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("not the exact line: {line:?}"));
        Self { process, address: address.parse().expect("an address is printed") }
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

    /// The URIs that are listed.
    pub(crate) async fn uris(&self) -> Vec<String> {
        uris(&self.modern("skills/list", Value::Null).await)
    }

    /// Asks for a page.
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

/// A `SKILL.md` with these lines after a name and a description.
pub(crate) fn skill_with(name: &str, lines: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name}. Use when testing.\n{lines}---\n\n# Text\n"
    )
}
