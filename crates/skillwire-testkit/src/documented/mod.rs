//! Servers that answer with the literal JSON of the documents that defined each dialect.
//!
//! Everything else in this workspace that speaks an older dialect shares the types of
//! `skillwire-dialects`, so reader and writer could be wrong in the same way. These answers are written by
//! hand, after the document of each dialect; only digests and sizes are filled in.

mod answers;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;
use skillwire_core::Digest;
use skillwire_protocol::ErrorCode;

use crate::{
    Fault, HostileServer, ListeningServer, ReceivedRequest, ScriptedReply, ServedWebSite, WebSite,
    archives::{TarMember, gzip, refunds, tar},
};

/// The methods that a documented server answers by itself.
const METHODS: [&str; 9] = [
    "skills/list",
    "skills/get",
    "skills/read",
    "skills/read_reference",
    "skills/execute",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "completion/complete",
];

/// A dialect, by the number it has in `docs/dialects.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentedDialect {
    /// The released extension.
    D1,
    /// `skill://index.json` with frontmatter.
    D2,
    /// `skill://index.json` with types.
    D3,
    /// `resources/list` for a scope.
    D4,
    /// SEP-2076.
    D5,
    /// The "Skills" page.
    D6,
    /// `FastMCP`.
    D7,
    /// skilljack.
    D8,
    /// skills-over-mcp.
    D9,
    /// A usage resource.
    D10,
    /// An index on the web.
    D11,
    /// Resource templates alone.
    D12,
}

/// The skill `refunds`, before or after its author changed it.
#[derive(Debug, Clone)]
struct Edition {
    skill_md: String,
    archive: Vec<u8>,
}

impl Edition {
    fn new(is_changed: bool) -> Self {
        let [(_, skill_md), ..] = refunds();
        let mut skill_md = skill_md.to_owned();
        if is_changed {
            skill_md.push_str("3. Tell the customer.\n");
        }
        let files = refunds().map(|(path, text)| {
            let text = if path == "SKILL.md" { &*skill_md } else { text };
            TarMember::file(path, text)
        });
        let archive = gzip(&tar(&files), 6);
        Self { skill_md, archive }
    }

    /// `SKILL.md` without its frontmatter.
    fn body(&self) -> &str {
        self.skill_md.rsplit("---\n\n").next().unwrap_or_default()
    }

    /// A file of the skill, by its path.
    fn file(&self, path: &str) -> Option<&str> {
        if path == "SKILL.md" {
            return Some(&self.skill_md);
        }
        refunds().into_iter().find(|(name, _)| *name == path).map(|(_, text)| text)
    }

    /// Fills digests, sizes and texts into a literal document.
    fn fill(&self, document: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let [_, (_, email), (_, script)] = refunds();
        document
            .replace("@SKILL-DIGEST@", &Digest::of(self.skill_md.as_bytes()).to_string())
            .replace("@SKILL-SIZE@", &self.skill_md.len().to_string())
            .replace("@EMAIL-DIGEST@", &Digest::of(email.as_bytes()).to_string())
            .replace("@SCRIPT-DIGEST@", &Digest::of(script.as_bytes()).to_string())
            .replace("@ARCHIVE-DIGEST@", &Digest::of(&self.archive).to_string())
            .replace("@INSTRUCTIONS@", &quoted(self.body()))
    }
}

/// A server of one skill, `refunds`, in the literal shape of a dialect's document.
#[derive(Debug)]
pub struct DocumentedServer {
    dialect: DocumentedDialect,
    is_changed: Arc<AtomicBool>,
    running: RunningServer,
}

enum RunningServer {
    Mcp(HostileServer, ListeningServer),
    Web(ServedWebSite),
}

impl std::fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Mcp(..) => "an MCP server",
            Self::Web(_) => "a web site",
        })
    }
}

impl DocumentedServer {
    /// Starts the server on a free port of loopback.
    pub async fn start(dialect: DocumentedDialect) -> Self {
        let is_changed = Arc::new(AtomicBool::new(false));
        let running = if dialect == DocumentedDialect::D11 {
            let edition = Edition::new(false);
            let site = answers::WEB_FILES.iter().fold(WebSite::new(), |site, (path, kind)| {
                site.file(path, kind, answers::web_file(path, &edition))
            });
            RunningServer::Web(site.serve().await)
        } else {
            let server = mcp_server(dialect, &is_changed);
            let listening = server.http().await;
            RunningServer::Mcp(server, listening)
        };
        Self { dialect, is_changed, running }
    }

    /// The address that a user configures.
    pub fn url(&self) -> String {
        match &self.running {
            RunningServer::Mcp(_, listening) => listening.url(),
            RunningServer::Web(site) => site.url().to_owned(),
        }
    }

    /// The dialect.
    pub fn dialect(&self) -> DocumentedDialect {
        self.dialect
    }

    /// The MCP server, for what its log shows; a web origin has none.
    pub fn mcp(&self) -> Option<&HostileServer> {
        match &self.running {
            RunningServer::Mcp(server, _) => Some(server),
            RunningServer::Web(_) => None,
        }
    }

    /// Changes `SKILL.md`, and announces it as far as the dialect can.
    pub fn change(&self) {
        self.is_changed.store(true, Ordering::SeqCst);
        match &self.running {
            RunningServer::Mcp(server, _) => server.notify_list_changed(),
            RunningServer::Web(site) => {
                let edition = Edition::new(true);
                for (path, kind) in answers::WEB_FILES {
                    site.set_file(path, kind, answers::web_file(path, &edition));
                }
            }
        }
    }
}

fn mcp_server(dialect: DocumentedDialect, is_changed: &Arc<AtomicBool>) -> HostileServer {
    let capabilities = parse(answers::capabilities(dialect));
    let mut server = HostileServer::new().fault(Fault::Capabilities(capabilities));
    if dialect != DocumentedDialect::D1 {
        server = server.fault(Fault::LegacyOnly);
    }
    if dialect == DocumentedDialect::D10 {
        let instructions = "Before using the CRM tools, read the skill://folk/usage resource.";
        server = server.fault(Fault::Instructions(instructions.into()));
    }
    for method in METHODS {
        let is_changed = Arc::clone(is_changed);
        server = server.on(method, move |request: &ReceivedRequest, _| {
            let edition = Edition::new(is_changed.load(Ordering::SeqCst));
            match answers::answer(dialect, request, &edition) {
                Some(document) => ScriptedReply::Result(parse(&edition.fill(&document))),
                None => ScriptedReply::known_error(missing(dialect, &request.method)),
            }
        });
    }
    server
}

fn parse(document: &str) -> Value {
    serde_json::from_str(document).unwrap_or_else(|error| panic!("{error} in {document}"))
}

/// The code with which a server of the dialect says that it does not have something.
fn missing(dialect: DocumentedDialect, method: &str) -> ErrorCode {
    match (dialect, method) {
        (DocumentedDialect::D1, "skills/get" | "resources/read" | "resources/list")
        | (DocumentedDialect::D5, "skills/get")
        | (_, "completion/complete") => ErrorCode::InvalidParams,
        (DocumentedDialect::D6, "skills/read") | (_, "resources/read") => {
            ErrorCode::LegacyResourceNotFound
        }
        (DocumentedDialect::D6, "skills/read_reference") => ErrorCode::LegacyReferenceNotFound,
        (DocumentedDialect::D6, "skills/execute") => ErrorCode::LegacyScriptFailed,
        _ => ErrorCode::MethodNotFound,
    }
}
