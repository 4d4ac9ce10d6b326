//! A forge over HTTP: `git http-backend`, with redirections as forges answer for renamed repositories.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

/// From which path to which requests are redirected.
type Redirection = Arc<Mutex<Option<(String, String)>>>;

/// A forge that listens until the test ends.
pub(super) struct WebForge {
    pub(super) address: SocketAddr,
    redirection: Redirection,
    refusal: Redirection,
}

impl WebForge {
    /// Serves the repositories below a folder.
    pub(super) fn serve(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let redirection = Redirection::default();
        let shared = Arc::clone(&redirection);
        let refusal = Redirection::default();
        let refused = Arc::clone(&refusal);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let moved = shared.lock().unwrap().clone();
                let refused = refused.lock().unwrap().clone();
                answer(stream, &root, moved.as_ref(), refused.as_ref());
            }
        });
        Self { address, redirection, refusal }
    }

    /// Redirects requests for one repository to another.
    pub(super) fn redirect(&self, from: &str, to: &str) {
        *self.redirection.lock().unwrap() = Some((from.to_owned(), to.to_owned()));
    }

    /// Answers requests for one repository with this status.
    pub(super) fn refuse(&self, path: &str, status: &str) {
        *self.refusal.lock().unwrap() = Some((path.to_owned(), status.to_owned()));
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn answer(
    mut stream: TcpStream,
    root: &PathBuf,
    moved: Option<&(String, String)>,
    refused: Option<&(String, String)>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let Some(first) = lines.first() else { return };
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    if let Some((path, status)) = refused
        && target.starts_with(path.as_str())
    {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n");
        let _ = write!(stream, "{head}WWW-Authenticate: Basic realm=\"forge\"\r\n\r\n");
        return;
    }
    if let Some((from, to)) = moved
        && target.starts_with(from.as_str())
    {
        let location = target.replacen(from.as_str(), to, 1);
        let head = "HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\nConnection: close\r\n";
        let _ = write!(stream, "{head}Location: {location}\r\n\r\n");
        return;
    }
    let header = |name: &str| {
        let find = |line: &String| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        lines.iter().find_map(find).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let _ = input.write_all(&body);
    drop(input);
    let output = child.wait_with_output().unwrap().stdout;
    let split = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&output[..split]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let body = &output[(split + 4).min(output.len())..];
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(body);
}
