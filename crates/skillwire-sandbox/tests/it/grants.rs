//! Granted variables and destinations reach a script, and nothing else does.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpListener,
};

use serde_json::json;

use crate::support::{AttackScript, SECRET, assert_all_fail_inside, attempts, test_cases};

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
