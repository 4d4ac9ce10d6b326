//! Granted variables and destinations reach a script, and nothing else does.

use std::{
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    support::{AttackScript, SECRET, assert_all_fail_inside, attempts, test_cases},
    test_skip::{TestNeed, skip},
};

#[test]
fn a_granted_variable_arrives_and_one_that_steers_interpreters_is_refused() {
    for case in test_cases() {
        let attack = AttackScript::python("print(os.environ['API_TOKEN'])");
        let answer =
            attack.clone().request_field("environment", json!({ "API_TOKEN": SECRET })).run(case);
        assert_eq!(answer["stdout"], format!("{SECRET}\n"), "{case:?}: {answer}");
        for name in ["LD_PRELOAD", "PYTHONPATH", "PATH", "BASH_ENV"] {
            let answer =
                attack.clone().request_field("environment", json!({ name: "x" })).run(case);
            assert!(answer["invalid"].as_str().unwrap().contains(name), "{answer}");
        }
    }
}

const ASK: &str = r#"
import urllib.request
def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        print("body", answer.read(), flush=True)
def tunnel(port):
    proxy = os.environ["HTTPS_PROXY"].split(":")
    s = socket.create_connection(("127.0.0.1", int(proxy[2])), 5)
    s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
    answer = s.recv(100)
    if b" 200 " not in answer:
        raise OSError(1, answer)
    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print("body", s.recv(1000), flush=True)
attempt("granted", lambda: get("http://127.0.0.1:%d/" % given["granted"]))
attempt("tunnel", lambda: tunnel(given["granted"]))
attempt("other", lambda: get("http://127.0.0.1:%d/" % given["other"]))
attempt("other_tunnel", lambda: tunnel(given["other"]))
attempt("direct", lambda: socket.create_connection(("127.0.0.1", given["granted"]), 5))
attempt("datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("listen", lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt("six", lambda: socket.socket(socket.AF_INET6))
"#;

#[test]
fn with_a_network_grant_one_destination_is_reached_and_no_other() {
    for case in test_cases() {
        let granted = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let port = granted.local_addr().unwrap().port();
        let attack = AttackScript::python(ASK)
            .argument("granted", port)
            .argument("other", other.local_addr().unwrap().port())
            .request_field("network", json!([format!("127.0.0.1:{port}")]));
        if case.tier == "restricted" {
            // Landlock can bound ports, but not addresses.
            let answer = attack.run(case);
            assert!(answer["failed"].as_str().unwrap().contains("full isolation"), "{answer}");
            continue;
        }
        let serving = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = granted.accept().unwrap();
                let mut request = [0; 1024];
                assert!(stream.read(&mut request).unwrap() > 0);
                let body =
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
                stream.write_all(body).unwrap();
            }
            granted
        });
        let answer = attack.run(case);
        let granted = serving.join().unwrap();
        let output = answer["stdout"].as_str().unwrap();
        let went = attempts(output);
        assert_eq!((&went["granted"], &went["tunnel"]), (&None, &None), "{case:?}: {answer}");
        assert!(output.contains("body b'hello'"), "{answer}");
        let refused = ["other", "other_tunnel", "direct", "datagram", "listen", "six"];
        assert_all_fail_inside(&answer, &refused, case);
        assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        granted.set_nonblocking(true).unwrap();
        assert_eq!(granted.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

/// Asks a server through the proxy, by each program that scripts use for it.
const CLIENTS: [(&str, &str); 5] = [
    (
        "python.py",
        "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[2]).read().decode())\n",
    ),
    ("fetch.js", "fetch(process.argv[3]).then((r) => r.text()).then(console.log, console.log)\n"),
    (
        "http.js",
        "require('http').get(process.argv[3], (r) => r.on('data', (d) => console.log('' + d)))\n",
    ),
    ("curl.sh", "curl -sS \"$2\"\necho\n"),
    (
        "git.sh",
        "git ls-remote \"$2/x.git\" 2>&1 | grep -c 'repository\\|not found\\|hello'\necho hello\n",
    ),
];

#[test]
fn programs_of_every_kind_go_through_the_proxy() {
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        for (name, script) in CLIENTS {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = server.local_addr().unwrap().port();
            let serving = std::thread::spawn(move || {
                let (mut stream, _) = server.accept().unwrap();
                let mut request = [0; 2048];
                let read = stream.read(&mut request).unwrap();
                let body =
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
                stream.write_all(body).unwrap();
                String::from_utf8_lossy(&request[..read]).into_owned()
            });
            let attack = AttackScript::file(name, script.as_bytes())
                .argument("url", format!("http://127.0.0.1:{port}"))
                .request_field("network", json!([format!("127.0.0.1:{port}")]));
            let answer = attack.run(case);
            let printed = answer["stdout"].as_str().unwrap_or_else(|| panic!("{name}: {answer}"));
            assert!(printed.contains("hello"), "{name}, {case:?}: {answer}");
            assert!(serving.join().unwrap().starts_with("GET /"), "{name}");
        }
    }
}

#[test]
fn a_run_with_a_connection_that_hangs_ends_in_time_b_14() {
    // Addresses for documentation lead nowhere. Some networks refuse them at once instead.
    let script = r#"
proxy = os.environ["HTTPS_PROXY"].split(":")
s = socket.create_connection(("127.0.0.1", int(proxy[2])), 5)
s.sendall(b"CONNECT 192.0.2.1:81 HTTP/1.1\r\n\r\n")
s.recv(100)
time.sleep(30)
"#;
    for case in test_cases().into_iter().filter(|case| case.tier == "full") {
        let attack = AttackScript::python(script).request_field("network", json!(["192.0.2.1:81"]));
        let answer = attack.limit(json!({ "wall_ms": 1000 })).run(case);
        assert_eq!(answer["end"], json!({ "stopped": "wall" }), "{case:?}: {answer}");
        assert!(answer["wall_ms"].as_u64().unwrap() < 3_000, "{case:?}: {answer}");
    }
}

/// A server that answers every request over TLS, and a certificate that only its clients know.
struct TlsServer {
    process: Child,
    folder: TempDir,
    port: u16,
}

const TLS_SERVER: &str = r#"
import http.server, ssl, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"safe")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

impl TlsServer {
    /// Starts a server; `None` where no certificate can be made.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=test"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder.path())
            .output();
        if !made.as_ref().is_ok_and(|made| made.status.success()) {
            skip(TestNeed::Openssl, &format!("no certificate can be made: {made:?}"));
            return None;
        }
        let mut process = Command::new("/usr/bin/python3")
            .args(["-c", TLS_SERVER])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self { process, folder, port: line.trim().parse().unwrap() })
    }

    fn certificate(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("cert.pem")).unwrap()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks over TLS with every client that is installed, each of which finds the proxy by itself.
const ASK_OVER_TLS: &str = r#"
import shutil, ssl, subprocess, urllib.request
open("cert.pem", "w").write(given["certificate"])
def python(url):
    context = ssl.create_default_context(cafile="cert.pem")
    with urllib.request.urlopen(url, timeout=10, context=context) as answer:
        assert answer.read() == b"safe"
def program(words):
    env = dict(os.environ, NODE_EXTRA_CA_CERTS=os.path.abspath("cert.pem"))
    done = subprocess.run(words, capture_output=True, timeout=20, env=env)
    if done.stdout != b"safe":
        raise OSError(done.returncode, done.stderr)
get = """require("https").get(process.argv[1], answer => answer.pipe(process.stdout))
    .on("error", () => process.exit(1))"""
for name, port in [("granted", given["granted"]), ("other", given["other"])]:
    url = "https://127.0.0.1:%d/" % port
    attempt(name + "_python", lambda: python(url))
    if shutil.which("curl"):
        attempt(name + "_curl", lambda: program(["curl", "-sS", "--cacert", "cert.pem", url]))
    if shutil.which("node"):
        attempt(name + "_node", lambda: program(["node", "-e", get, url]))
"#;

#[test]
fn clients_reach_a_granted_server_over_tls_through_the_proxy_and_no_other() {
    let (Some(granted), Some(other)) = (TlsServer::start(), TlsServer::start()) else { return };
    for case in test_cases() {
        if case.tier != "full" {
            continue;
        }
        let attack = AttackScript::python(ASK_OVER_TLS)
            .argument("granted", granted.port)
            .argument("other", other.port);
        let ask = |certificate: String| {
            let network = json!([format!("127.0.0.1:{}", granted.port)]);
            let attack = attack.clone().argument("certificate", certificate);
            attack.request_field("network", network).run(case)
        };
        let answer = ask(granted.certificate());
        let went = attempts(answer["stdout"].as_str().unwrap());
        assert_eq!(went["granted_python"], None, "{case:?}: {answer}");
        assert!(went.len() >= 2, "{case:?}: {answer}");
        for (name, how) in &went {
            assert_eq!(how.is_none(), name.starts_with("granted_"), "{name}, {case:?}: {answer}");
        }
        // The other side is the server itself and not the proxy: its certificate is what counts.
        let answer = ask(other.certificate());
        let went = attempts(answer["stdout"].as_str().unwrap());
        assert!(went.values().all(Option::is_some), "{case:?}: {answer}");
    }
}
