//! Traces and lines of the log at a collector of OpenTelemetry.

use std::{collections::BTreeMap, net::SocketAddr};

use serde_json::json;
use skillwire_testkit::{SkillFolder, modern_request};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};

use crate::support::{HttpServer, TEST_TIMEOUT, command, finish};

/// A collector on this machine: it takes requests and keeps their paths, headers and bodies.
struct Collector {
    address: SocketAddr,
    taken: mpsc::UnboundedReceiver<(String, String, Vec<u8>)>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, taken) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    loop {
                        let (mut first, mut headers) = (String::new(), String::new());
                        if stream.read_line(&mut first).await.unwrap_or(0) == 0 {
                            return;
                        }
                        while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
                            stream.read_line(&mut headers).await.unwrap();
                        }
                        let headers = headers.to_ascii_lowercase();
                        let length =
                            headers.lines().find_map(|line| line.strip_prefix("content-length: "));
                        let mut body = vec![0; length.unwrap().parse().unwrap()];
                        stream.read_exact(&mut body).await.unwrap();
                        stream
                            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                            .await
                            .unwrap();
                        let path = first.split(' ').nth(1).unwrap().to_owned();
                        let _ = sender.send((path, headers, body));
                    }
                });
            }
        });
        Self { address, taken }
    }

    /// The next request to a path; those to others are skipped.
    async fn next(&mut self, path: &str) -> (String, Vec<u8>) {
        loop {
            let taken = timeout(TEST_TIMEOUT, self.taken.recv()).await.expect("something is sent");
            let (to, headers, body) = taken.expect("the collector runs");
            if to == path {
                return (headers, body);
            }
        }
    }
}

/// The fields of a message of Protobuf that hold bytes, by their numbers.
fn fields(mut message: &[u8]) -> BTreeMap<u64, Vec<&[u8]>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields: BTreeMap<u64, Vec<&[u8]>> = BTreeMap::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let length = match tag & 7 {
            0 => {
                varint(&mut message);
                continue;
            }
            1 => 8,
            5 => 4,
            _ => usize::try_from(varint(&mut message)).unwrap(),
        };
        let (value, rest) = message.split_at(length);
        fields.entry(tag >> 3).or_default().push(value);
        message = rest;
    }
    fields
}

/// The spans, or the lines, of a request to the collector.
fn records(body: &[u8]) -> Vec<BTreeMap<u64, Vec<&[u8]>>> {
    let of_resource = fields(fields(body)[&1][0]);
    let scope = fields(of_resource[&2][0]);
    scope[&2].iter().map(|record| fields(record)).collect()
}

fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|window| window == text.as_bytes())
}

const TRACE: [u8; 16] = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn a_request_is_a_span_of_its_clients_trace_by_header_or_metadata() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut collector = Collector::start().await;
    let mut command = command(&folder, &["serve", ".", "--http", "127.0.0.1:0"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.address))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
        .env("OTEL_SERVICE_NAME", "acme-skills");
    let server = HttpServer::start(command).await;
    let (_, body) = collector.next("/v1/logs").await;
    assert!(has(&body, "serving") && has(&body, "acme-skills"), "the start is reported");

    server.request(&[("traceparent", PARENT)], "skills/list", json!({})).await;
    let (headers, body) = collector.next("/v1/traces").await;
    assert!(headers.contains("x-key: abc") && headers.contains("application/x-protobuf"));
    let spans = records(&body);
    let request = spans.iter().find(|span| span[&5][0] == b"http request").expect("a span");
    assert_eq!(request[&1][0], TRACE);
    assert_eq!(request[&4][0], 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
    let inside = spans.iter().find(|span| span[&5][0] == b"request").expect("the span inside");
    assert_eq!((inside[&1][0], inside[&4][0]), (&TRACE[..], request[&2][0]));
    assert!(has(&body, "skills/list") && has(&body, "/mcp"));

    let mut asked = modern_request(1, "skills/list", json!({}));
    asked["params"]["_meta"]["traceparent"] = PARENT.into();
    server.request(&[], "skills/list", asked["params"].clone()).await;
    let (_, body) = collector.next("/v1/traces").await;
    assert!(records(&body).iter().all(|span| span[&1][0] == TRACE));
}

#[tokio::test]
async fn a_server_works_without_its_collector_and_says_so() {
    let folder = SkillFolder::with_skills(&["a"]);
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let mut started = command(&folder, &["serve", ".", "--http", "127.0.0.1:0"]);
    started.env("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere);
    let mut server = HttpServer::start(started).await;
    assert_eq!(server.uris().await, ["skill://a/SKILL.md"]);
    server.process.wait_for_line("could not be sent to the collector").await;
    let mut wrong = command(&folder, &["serve", "."]);
    wrong.env("OTEL_EXPORTER_OTLP_ENDPOINT", "collector");
    finish(wrong).await.assert_refused(2, "`OTEL_EXPORTER_OTLP_ENDPOINT` cannot be used");
}
