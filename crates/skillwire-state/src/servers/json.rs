//! Servers in the JSON shape of MCP clients, read and written by hand: an error of a derived reader
//! would quote the value it refused, which may be a secret.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Map, Value, json};
use skillwire_client::{
    HttpServer, InvalidServer, Secret, ServerConfig, ServerUrl, StdioServer, WellKnownOrigin,
};
use skillwire_core::{
    strict_json::{self, JsonLimits},
    visible::truncated,
};

/// The largest file that is read.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// The key of the user's consent to search all resources of a server for skills.
pub(super) const LEGACY: &str = "legacyDiscovery";

/// The key of the public keys whose signed decisions count instead of a question.
pub(super) const TRUST_KEYS: &str = "trustKeys";

/// The most keys of one server.
const MOST_TRUST_KEYS: usize = 16;

/// Keys that say how a server is reached.
const TRANSPORT: [&str; 8] =
    ["type", "url", "headers", "bearerTokenFile", "command", "args", "env", "cwd"];

/// Keys that only describe a server to users.
const IGNORED: [&str; 4] = ["$schema", "description", "name", "title"];

/// Parses a document and refuses duplicate keys; the error is a clause that follows the file's
/// path.
pub(super) fn document(text: &str) -> Result<Map<String, Value>, InvalidServer> {
    if text.len() > MAX_BYTES {
        return Err(InvalidServer::new(format!("has more than {MAX_BYTES} bytes")));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    strict_json::object(text, JsonLimits::new(16, 50_000))
        .map_err(|error| InvalidServer::new(format!("is not a JSON object: {error}")))
}

/// One server as it was read: its configuration or the reason why it has none, and notes for the
/// user.
pub(super) struct ReadServer {
    pub(super) config: Result<ServerConfig, InvalidServer>,
    /// Whether all its resources may be searched for skills.
    pub(super) legacy: bool,
    /// Public keys whose signed decisions count instead of a question, as the user wrote them.
    pub(super) trust_keys: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Reads one server.
pub(super) fn read(value: &Value) -> ReadServer {
    let Value::Object(fields) = value else {
        let config = Err(InvalidServer::new("it is not an object"));
        return ReadServer { config, legacy: false, trust_keys: Vec::new(), notes: Vec::new() };
    };
    // Only the value `true` is consent.
    let legacy = fields.get(LEGACY) == Some(&Value::Bool(true));
    let mut fields = ServerFields { fields, used: vec!["type", "disabled", LEGACY, TRUST_KEYS] };
    let config = fields.server();
    let mut notes = Vec::new();
    let trust_keys = trust_keys(fields.fields.get(TRUST_KEYS)).unwrap_or_else(|| {
        // Keys that cannot be read are keys that nothing is decided by: the user is asked.
        notes.push(format!("`{TRUST_KEYS}` is not a list of up to {MOST_TRUST_KEYS} keys"));
        Vec::new()
    });
    for key in fields.unused() {
        let key = truncated(key);
        notes.push(format!("the key `{key}` means nothing here and is not followed"));
    }
    ReadServer { config, legacy, trust_keys, notes }
}

fn trust_keys(value: Option<&Value>) -> Option<Vec<String>> {
    let Some(value) = value else { return Some(Vec::new()) };
    let keys = value.as_array().filter(|keys| keys.len() <= MOST_TRUST_KEYS)?;
    keys.iter().map(|key| key.as_str().map(str::to_owned)).collect()
}

struct ServerFields<'a> {
    fields: &'a Map<String, Value>,
    used: Vec<&'static str>,
}

impl ServerFields<'_> {
    fn server(&mut self) -> Result<ServerConfig, InvalidServer> {
        if !matches!(self.fields.get("disabled"), None | Some(Value::Bool(false))) {
            return Err(InvalidServer::new("it is switched off by `disabled`"));
        }
        let command = self.fields.contains_key("command");
        let url = self.fields.contains_key("url");
        let kind = match self.fields.get("type") {
            None if command && !url => "stdio",
            None if url && !command => "http",
            None => return Err(InvalidServer::new("it needs either `command` or `url`")),
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(InvalidServer::new("`type` is not a string")),
        };
        match kind {
            "stdio" if url => Err(InvalidServer::new("`url` does not fit the type `stdio`")),
            "stdio" => self.stdio().map(ServerConfig::Stdio),
            "http" | "streamable-http" | "streamableHttp" if command => {
                Err(InvalidServer::new("`command` does not fit the type `http`"))
            }
            "http" | "streamable-http" | "streamableHttp" => self.http().map(ServerConfig::Http),
            "well-known" if command => {
                Err(InvalidServer::new("`command` does not fit the type `well-known`"))
            }
            "well-known" => {
                let url = self.text("url")?.ok_or(InvalidServer::new("`url` is missing"))?;
                WellKnownOrigin::new(&url).map(ServerConfig::WellKnown)
            }
            "sse" => Err(InvalidServer::new(
                "the old transport `sse` is not spoken here; ask for the server's `http` address",
            )),
            _ => Err(InvalidServer::new("`type` is neither `stdio` nor `http`")),
        }
    }

    fn stdio(&mut self) -> Result<StdioServer, InvalidServer> {
        let command = self.text("command")?.ok_or(InvalidServer::new("`command` is missing"))?;
        let args = match self.take("args") {
            None => Vec::new(),
            Some(Value::Array(args)) => {
                let args = args.iter().map(|arg| arg.as_str().map(str::to_owned));
                args.collect::<Option<_>>()
                    .ok_or(InvalidServer::new("`args` holds something that is not a string"))?
            }
            Some(_) => return Err(InvalidServer::new("`args` is not a list")),
        };
        let env = self.secrets("env")?;
        let folder = self.text("cwd")?.map(PathBuf::from);
        StdioServer::new(command, args, env)?.in_folder(folder)
    }

    fn http(&mut self) -> Result<HttpServer, InvalidServer> {
        let url = self.text("url")?.ok_or(InvalidServer::new("`url` is missing"))?;
        let url = ServerUrl::parse(&url)?;
        let headers = self.secrets("headers")?;
        let token = self.text("bearerTokenFile")?.map(PathBuf::from);
        HttpServer::new(url, headers, token)
    }

    fn take(&mut self, key: &'static str) -> Option<&Value> {
        self.used.push(key);
        self.fields.get(key)
    }

    fn text(&mut self, key: &'static str) -> Result<Option<String>, InvalidServer> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(InvalidServer::new(format!("`{key}` is not a string"))),
        }
    }

    fn secrets(&mut self, key: &'static str) -> Result<BTreeMap<String, Secret>, InvalidServer> {
        let wrong = || InvalidServer::new(format!("`{key}` is not an object of strings"));
        match self.take(key) {
            None => Ok(BTreeMap::new()),
            Some(Value::Object(map)) => map
                .iter()
                .map(|(name, value)| {
                    let value = value.as_str().ok_or_else(wrong)?;
                    Ok((name.clone(), Secret::new(value)))
                })
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn unused(&self) -> impl Iterator<Item = &String> {
        let known = |key: &&String| !self.used.contains(&key.as_str());
        self.fields.keys().filter(known).filter(|key| !IGNORED.contains(&key.as_str()))
    }
}

/// Writes a server in place of an earlier one, whose other keys stay. The result must go into the
/// configuration file and nowhere else.
pub(super) fn replace(earlier: &Map<String, Value>, config: &ServerConfig) -> Map<String, Value> {
    let mut fields = write(config);
    let kept = earlier.iter().filter(|(key, _)| !TRANSPORT.contains(&key.as_str()));
    fields.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    fields
}

/// Writes one server with its secrets. The result must go into the configuration file and nowhere
/// else.
pub(super) fn write(config: &ServerConfig) -> Map<String, Value> {
    let revealed = |secrets: &BTreeMap<String, Secret>| -> Map<String, Value> {
        secrets.iter().map(|(name, secret)| (name.clone(), secret.reveal().into())).collect()
    };
    let mut fields = Map::new();
    match config {
        ServerConfig::Stdio(server) => {
            fields.insert("command".to_owned(), server.command().into());
            fields.insert("args".to_owned(), json!(server.args()));
            if !server.env().is_empty() {
                fields.insert("env".to_owned(), revealed(server.env()).into());
            }
            if let Some(folder) = server.folder() {
                fields.insert("cwd".to_owned(), json!(folder));
            }
        }
        ServerConfig::WellKnown(origin) => {
            fields.insert("type".to_owned(), "well-known".into());
            fields.insert("url".to_owned(), origin.url().into());
        }
        ServerConfig::Http(server) => {
            fields.insert("type".to_owned(), "http".into());
            fields.insert("url".to_owned(), server.url().reveal().into());
            if !server.headers().is_empty() {
                fields.insert("headers".to_owned(), revealed(server.headers()).into());
            }
            if let Some(path) = server.bearer_token_file() {
                fields.insert("bearerTokenFile".to_owned(), json!(path));
            }
        }
    }
    fields
}
