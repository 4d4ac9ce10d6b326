//! The messages that are sent, of the modern era.

use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";

/// A request on one line, without the line's end.
pub(crate) fn message(id: usize, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// The parameters that ask for the page after a cursor.
pub(crate) fn page_params(cursor: Option<&str>) -> Value {
    cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }))
}

/// A whole HTTP request; each stands alone, so all have the same id.
pub(crate) fn http_request(method: &str, params: Value) -> Vec<u8> {
    http_request_to("/mcp", method, params)
}

/// The same to another path than `/mcp`.
pub(crate) fn http_request_to(path: &str, method: &str, params: Value) -> Vec<u8> {
    let name = match params["uri"].as_str().or_else(|| params["name"].as_str()) {
        Some(name) => format!("Mcp-Name: {name}\r\n"),
        None => String::new(),
    };
    let body = message(1, method, params);
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n\
         Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The same request with a token.
pub(crate) fn authorized(request: &[u8], token: &str) -> Vec<u8> {
    let line = memchr::memchr(b'\n', request).map_or(0, |at| at + 1);
    let header = format!("Authorization: Bearer {token}\r\n");
    [&request[..line], header.as_bytes(), &request[line..]].concat()
}

/// A request to an API.
pub(crate) fn api_request(method: &str, path: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media_type}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Finds the cursor of the next page without parsing the page.
///
/// JSON escapes quotes inside strings, so no text in the page can look like the cursor.
pub(crate) fn next_cursor(page: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\"nextCursor\":\"";
    let start = memchr::memmem::rfind(page, KEY)? + KEY.len();
    let end = memchr::memchr(b'"', &page[start..])?;
    String::from_utf8(page[start..start + end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_found_wherever_they_stand() {
        assert_eq!(next_cursor(br#"{"nextCursor":"a+/=","skills":[]}"#).as_deref(), Some("a+/="));
        assert_eq!(next_cursor(br#"{"skills":["\"nextCursor\":\"x"]}"#), None);
    }
}
