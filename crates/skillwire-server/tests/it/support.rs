//! Helpers that several tests share.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use skillwire_catalog::Refreshed;
use skillwire_core::{Code, RelPath, Scheme, SkillPath};
use skillwire_server::Config;
use skillwire_source::{GeneratedSource, MemorySource, SkillGenerator, SkillSource};
use skillwire_testkit::{RpcReply, TestOptions, TestServer, skill_md};

/// The error code for parameters that name nothing that is served.
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// The code for methods that do not exist.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// The token file of two callers: `alice` sees everything, `bob` what is below `acme`.
pub(crate) const TOKENS: &str = "alice 0123456789abcdef\nbob fedcba9876543210 acme/**\n";

/// The header `alice` sends.
pub(crate) const ALICE: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef");

/// The header `bob` sends.
pub(crate) const BOB: (&str, &str) = ("Authorization", "Bearer fedcba9876543210");

/// The entry that `skills/get` has for a skill.
pub(crate) async fn entry(server: &TestServer, uri: &str) -> Value {
    server.call("skills/get", json!({ "uri": uri })).await["skill"].clone()
}

/// The URIs of the entries that `skills/list` has.
pub(crate) async fn listed(server: &TestServer) -> Vec<String> {
    server.skills().await.iter().map(|entry| text(&entry["uri"])).collect()
}

/// The result of `resources/read` for a file.
pub(crate) async fn read_result(server: &TestServer, uri: &str) -> Value {
    server.call("resources/read", json!({ "uri": uri })).await
}

/// The bytes that `resources/read` has for a file.
pub(crate) async fn read(server: &TestServer, uri: &str) -> Vec<u8> {
    content(&read_result(server, uri).await)
}

/// The bytes in the result of a `resources/read`, which has one item with either form.
pub(crate) fn content(result: &Value) -> Vec<u8> {
    let [item] = result["contents"].as_array().expect("contents is an array").as_slice() else {
        panic!("not one item: {result}");
    };
    match (item.get("text"), item.get("blob")) {
        (Some(Value::String(text)), None) => text.clone().into_bytes(),
        (None, Some(Value::String(blob))) => STANDARD.decode(blob).expect("a blob is base64"),
        _ => panic!("neither text nor blob: {item}"),
    }
}

/// All children that `resources/directory/read` has for a directory.
pub(crate) async fn children(server: &TestServer, uri: &str) -> Vec<Value> {
    server.pages("resources/directory/read", json!({ "uri": uri }), "resources", 1_000).await
}

/// Requests something that does not exist and returns the error.
pub(crate) async fn refused(server: &TestServer, method: &str, uri: &str) -> RpcReply {
    let reply = server.modern(method, json!({ "uri": uri })).await;
    assert_eq!(reply.code(), INVALID_PARAMS, "{method} {uri:?}");
    reply
}

/// Asserts that none of the three methods finds a skill.
pub(crate) async fn assert_absent(server: &TestServer, uri: &str) {
    assert!(!listed(server).await.contains(&uri.to_owned()), "{uri} is listed");
    refused(server, "skills/get", uri).await;
    refused(server, "resources/read", uri).await;
    let root = uri.strip_suffix("/SKILL.md").expect("the URI of a skill");
    refused(server, "resources/directory/read", root).await;
}

/// A JSON string.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

/// The names of an object's members, in order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
    let mut keys: Vec<_> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The digest of bytes as an entry writes it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hex = Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| hex + &hex_of(*byte));
    format!("sha256:{hex}")
}

fn hex_of(byte: u8) -> String {
    format!("{byte:02x}")
}

/// The files of an entry: URI to digest and size.
pub(crate) fn manifest(entry: &Value) -> BTreeMap<String, (String, u64)> {
    let resources = entry["resources"].as_array().expect("the entry lists files");
    let files: BTreeMap<_, _> = resources
        .iter()
        .map(|file| {
            assert_eq!(keys(file), ["digest", "size", "uri"]);
            let size = file["size"].as_u64().expect("a size is a whole number");
            (text(&file["uri"]), (text(&file["digest"]), size))
        })
        .collect();
    assert_eq!(files.len(), resources.len(), "a file is listed twice: {entry}");
    files
}

/// The URI of a skill's root.
pub(crate) fn root(entry: &Value) -> String {
    let uri = text(&entry["uri"]);
    uri.strip_suffix("/SKILL.md").unwrap_or_else(|| panic!("{uri} is no SKILL.md")).to_owned()
}

/// Every file below a folder: its path with `/` to its bytes.
pub(crate) fn on_disk(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for found in fs::read_dir(folder).expect("the folder can be listed") {
        let path = found.expect("an entry can be read").path();
        let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        if path.is_dir() {
            let inner = on_disk(&path).into_iter();
            files.extend(inner.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            files.insert(name, fs::read(&path).expect("a file can be read"));
        }
    }
    files
}

/// Decodes percent-encoding, independently of the server's own code.
pub(crate) fn percent_decode(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(hex, 16).expect("two hexadecimal digits"));
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("URIs stand for UTF-8 text")
}

/// The codes of all findings about files whose name ends in `file`.
pub(crate) fn findings(refreshed: &Refreshed, file: &str) -> Vec<Code> {
    let of_skills = refreshed.inspected().flat_map(|inspected| &inspected.findings);
    let all = of_skills.chain(&refreshed.findings);
    all.filter(|finding| finding.file.ends_with(file)).map(|finding| finding.code).collect()
}

/// Options of a server with small or large pages.
pub(crate) fn pages_of(page_size: usize) -> TestOptions {
    let config = Config::default().page_size(page_size);
    TestOptions { config, ..TestOptions::default() }
}

/// A source that holds minimal skills at these paths in memory.
pub(crate) fn in_memory<S: AsRef<str>>(paths: impl IntoIterator<Item = S>) -> Box<dyn SkillSource> {
    let mut source = MemorySource::new("memory");
    for path in paths {
        let path = SkillPath::parse(path.as_ref()).expect("the path of a skill");
        let file = Bytes::from(skill_md(path.name().as_str()));
        source.add(&path, [(RelPath::skill_file(), file)]).expect("one file cannot clash");
    }
    Box::new(source)
}

/// Makes a source of one skill that a generator makes.
pub(crate) fn generated(
    path: &str,
    generator: impl SkillGenerator + 'static,
) -> Box<dyn SkillSource> {
    let path = SkillPath::parse(path).expect("the path of a skill");
    Box::new(GeneratedSource::new(path, Scheme::default(), Arc::new(generator)))
}

/// Calls every method for everything that is served and returns the results.
pub(crate) async fn crawl(server: &TestServer) -> Vec<Value> {
    let mut results = vec![server.call("server/discover", json!({})).await];
    for method in
        ["skills/list", "resources/list", "resources/templates/list", "tools/list", "prompts/list"]
    {
        results.push(server.call(method, json!({})).await);
    }
    for listed in server.skills().await {
        let uri = text(&listed["uri"]);
        results.push(server.call("skills/get", json!({ "uri": uri })).await);
        let mut directories = vec![root(&listed)];
        while let Some(directory) = directories.pop() {
            let result = server.call("resources/directory/read", json!({ "uri": directory })).await;
            for child in result["resources"].as_array().expect("children") {
                let uri = text(&child["uri"]);
                if child["mimeType"] == "inode/directory" {
                    directories.push(uri);
                } else {
                    results.push(read_result(server, &uri).await);
                }
            }
            results.push(result);
        }
    }
    results
}
