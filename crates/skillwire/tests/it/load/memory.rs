//! The memory of a server whose clients ask for much and read nothing, or send their bodies byte by
//! byte.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, legacy_request, modern_request};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use super::say;
use crate::support::HttpServer;

/// The size of each large file.
const FILE_BYTES: usize = 6 << 20;

/// Skills with a large file; all of them together do not fit into the cache of the server.
const SKILLS: usize = 24;

/// Clients that ask and never read.
const SILENT: usize = 100;

/// The most KiB for the program itself, the files that are being read, and what the allocator keeps. The
/// pages of the program count: a debug build with every part is a file of 300 MB. Without a bound on
/// answers, the readers below would cost 800 MB.
const BASE: usize = 160 * 1024;

/// The KiB of files that the server caches.
const CACHED: usize = 128 * 1024;

/// A folder of skills, each with a large file that does not compress.
fn large_skills(count: usize) -> SkillFolder {
    let folder = SkillFolder::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes: Vec<u8> = (0..FILE_BYTES / 8)
        .flat_map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state ^ (state >> 29)).to_le_bytes()
        })
        .collect();
    for number in 0..count {
        bytes[..8].copy_from_slice(&(number as u64 | 0xff00).to_le_bytes());
        folder.skill(&format!("skills/s{number}"));
        folder.file(&format!("skills/s{number}/data.bin"), &bytes);
    }
    folder
}

/// The most resident memory that a server ever had, in KiB.
fn peak_memory(server: &HttpServer) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A connection whose system buffers little.
async fn narrow(server: &HttpServer) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(server.address).await.unwrap()
}

fn post(body: &Value, headers: &str) -> String {
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn read_request(uri: &str) -> String {
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\nMcp-Name: {uri}\r\n"
    );
    post(&modern_request(1, "resources/read", json!({ "uri": uri })), &headers)
}

/// Sends requests and reads no answer.
async fn silent_readers(server: &HttpServer, request: impl Fn(usize) -> String) -> Vec<TcpStream> {
    let mut silent = Vec::new();
    for number in 0..SILENT {
        let mut stream = narrow(server).await;
        stream.write_all(request(number).as_bytes()).await.unwrap();
        silent.push(stream);
    }
    silent
}

/// The processor time that a server has used, in clock ticks.
fn work_done(server: &HttpServer) -> usize {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.process.id())).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let number =
        |index: usize| -> usize { fields.split_whitespace().nth(index).unwrap().parse().unwrap() };
    number(11) + number(12)
}

/// Waits until the server has nothing more to do, and returns the peak of its memory.
async fn settled_peak(server: &HttpServer) -> usize {
    let (mut done, mut idle) = (work_done(server), 0);
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = work_done(server);
        idle = if now > done + 1 { 0 } else { idle + 1 };
        done = now;
        if idle >= 10 {
            break;
        }
    }
    peak_memory(server)
}

#[tokio::test]
async fn clients_that_never_read_cannot_use_more_memory_than_answers_may_sec_01() {
    let folder = large_skills(SKILLS);
    let memory = ["skills", "--no-index", "--answer-memory", "64"];
    let server = HttpServer::serve(&folder, &memory).await;
    let request = |number| read_request(&format!("skill://s{}/data.bin", number % SKILLS));
    let silent = silent_readers(&server, request).await;
    let peak = settled_peak(&server).await;
    say(format_args!("{SILENT} silent readers of {SKILLS} files: {peak} KiB"));
    assert!(peak < BASE + CACHED + 64 * 1024, "{peak} KiB");
    // Small answers are sent meanwhile.
    let listed = server.request(&[], "skills/list", json!({})).await;
    assert_eq!(listed.status, 200);
    drop(silent);
    let mut honest = narrow(&server).await;
    honest.write_all(read_request("skill://s0/data.bin").as_bytes()).await.unwrap();
    let mut start = vec![0; 4096];
    let length = honest.read(&mut start).await.unwrap();
    let start = String::from_utf8_lossy(&start[..length]).into_owned();
    assert!(start.contains("\"blob\":\""), "{start}");
}

#[tokio::test]
async fn archives_for_clients_that_never_read_are_within_the_same_memory_sec_01() {
    let folder = large_skills(1);
    let memory = ["skills", "--no-index", "--answer-memory", "64"];
    let server = HttpServer::serve(&folder, &memory).await;
    let request = |_| {
        let read = legacy_request(1, "resources/read", json!({ "uri": "skill://s0.zip" }));
        post(&read, "MCP-Protocol-Version: 2025-11-25\r\n")
    };
    let _silent = silent_readers(&server, request).await;
    let peak = settled_peak(&server).await;
    say(format_args!("{SILENT} silent readers of an archive: {peak} KiB"));
    assert!(peak < BASE + CACHED + 64 * 1024, "{peak} KiB");
}

#[tokio::test]
async fn a_body_in_single_bytes_costs_no_more_than_its_bytes_sec_02() {
    const SENDERS: usize = 8;
    const CHUNKS: usize = 40_000;
    let folder = SkillFolder::with_skills(&["skills/a"]);
    let server = HttpServer::serve(&folder, &["skills", "--no-index"]).await;
    let before = peak_memory(&server);
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let mut senders = Vec::new();
    for _ in 0..SENDERS {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        senders.push(stream);
    }
    for part in 0..10 {
        let chunks = "1\r\n \r\n".repeat(CHUNKS / 10);
        for stream in &mut senders {
            stream.write_all(chunks.as_bytes()).await.unwrap();
        }
        say(format_args!("part {part}: {} KiB", peak_memory(&server)));
    }
    for stream in &mut senders {
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let mut answer = [0; 64];
        let length = stream.read(&mut answer).await.unwrap();
        // Blanks are no message. On a busy machine the body may also come too late.
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
    }
    let grown = peak_memory(&server) - before;
    say(format_args!("{SENDERS} bodies of {CHUNKS} chunks: {grown} KiB more"));
    assert!(grown < 8 * 1024, "{grown} KiB");
}
