//! `skillwire bridge`: the skills of all origins for a client that knows tools and prompts.

mod configured_servers;
mod skill_folders;

use std::{io::Write as _, sync::Arc, time::Duration};

use skillwire_gateway::{Bridge, BridgeExtras, BridgeScripts, CardNotes};
use skillwire_server::{
    CacheScope, Config, Skills,
    http::{self, ConnectionLimits, HttpOptions, Tokens, Workers},
    offer::{ListChanges, Offers},
};
use skillwire_source::{FolderChanges, FolderWatcher, ScanRequest, watch_skill_folders};
use skillwire_state::Configured;
use tokio::net::TcpListener;

use self::{configured_servers::ConfiguredServers, skill_folders::FollowedSkillFolders};
use super::{Outcome, host::lock, serve::signals};
use crate::{
    args::BridgeArgs,
    exit::Exit,
    failure::Failure,
    logging, refusals,
    session::{self, Session, SkillFolders},
    settings::{
        HostSettings,
        bridge::{self, BridgeTransport},
    },
    terminal,
};

/// The longest time that the first answer waits for servers and folders.
const SETTLING: Duration = Duration::from_millis(700);

/// How long clients may cache lists, in milliseconds. It is short because an approval changes them.
const FRESH_MS: u64 = 1_000;

/// What a user is told who starts the bridge on a terminal, where it would wait in silence.
const ON_A_TERMINAL: &str = "\
`skillwire bridge` is an MCP server. A client starts it and talks to it over pipes, so add it to a client:
  Claude Code   claude mcp add --scope user skillwire -- skillwire bridge
  Codex         codex mcp add skillwire -- skillwire bridge
  others        { \"mcpServers\": { \"skillwire\": { \"command\": \"skillwire\", \"args\": [\"bridge\"] } } }
`skillwire bridge --help` shows the options. It now reads MCP messages from this terminal; Ctrl-C ends it.";

pub(super) fn run(args: &BridgeArgs) -> Outcome {
    let transport = bridge::transport(args)?;
    let _log = logging::start(args.log_format)?;
    if matches!(transport, BridgeTransport::Stdio) && terminal::is_interactive() {
        let _ = writeln!(anstream::stderr(), "{ON_A_TERMINAL}");
    }
    let lock = args.lock.as_deref().map(lock::read).transpose()?;
    // Folders are read later, in `start`, so that they do not delay the start of the bridge.
    let options = session::SessionOptions {
        lock,
        allow_dynamic: args.allow_dynamic,
        passes_on: true,
        ..session::SessionOptions::default()
    };
    let session = Session::open(&options)?;
    for refusal in session.unusable() {
        let _ = writeln!(anstream::stderr(), "{}", refusals::RefusalText(refusal));
    }
    let no_threads = |error: std::io::Error| {
        Failure::new(Exit::Internal, format!("The runtime could not be started: {error}."))
    };
    // A bridge has one user, so one thread answers all requests. A second thread receives what
    // servers send, so that a large listing does not delay an answer.
    let front =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
    let behind = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("skillwire-upstream")
        .enable_all()
        .build()
        .map_err(no_threads)?;
    let outcome = front.block_on(serve(args, &session, transport, behind.handle()));
    front.block_on(session.host().disconnect());
    // The thread that reads standard input cannot be interrupted, so the shutdown does not wait for
    // it.
    front.shutdown_background();
    behind.shutdown_background();
    outcome
}

async fn serve(
    args: &BridgeArgs,
    session: &Session,
    transport: BridgeTransport,
    behind: &tokio::runtime::Handle,
) -> Outcome {
    let (mut stop, mut reload) = signals::listen()?;
    let changes = ListChanges::default();
    let host = session.host().clone();
    let options = bridge::options(args);
    let extras = BridgeExtras { scripts: scripts(args)?, notes: notes() };
    let bridge = Bridge::start_with(host, options, changes.clone(), behind, extras)
        .map_err(|error| Failure::caused(Exit::Internal, error))?;
    let offers = Offers::joined(vec![Arc::new(bridge.clone())], changes).map_err(|error| {
        Failure::new(Exit::Internal, format!("The tools cannot be offered: {error}."))
    })?;
    // Answers depend on one user's approvals, so no shared cache may keep them.
    let config = Config::default()
        .cache_scope(CacheScope::Private)
        .ttl_ms(FRESH_MS)
        .catalogue_instructions(false);
    let mut skills = Skills::builder()
        .config(config)
        .offers(offers)
        .sources(bridge.sources())
        .lookup(Arc::new(bridge.servers().clone()))
        // The tool `list_skills` reports problems of servers, so the log has them only at debug
        // level.
        .on_notice(|notice| tracing::debug!("{notice}"));
    if let BridgeTransport::Http { token, .. } = &transport {
        let tokens = Tokens::parse(&format!("user {token}"))
            .map_err(|error| Failure::usage(format!("The token file cannot be used: {error}.")))?;
        skills = skills.tokens(tokens);
    }
    let skills = skills.prepare().map_err(super::serve::not_built)?;
    let follower = Arc::clone(skills.follower());
    let settings = session.settings();
    let keeping = async {
        start(args, settings, &bridge).await;
        // This scan makes the first snapshot; requests wait for it.
        let _ = follower.look(ScanRequest::everything()).await;
        let _watching = watch(args, settings, &bridge, session.configured());
        tokio::join!(bridge.follow(), follower.follow(async || reload.requested().await));
    };
    let work = async {
        match transport {
            BridgeTransport::Stdio => over_stdio(&skills).await,
            BridgeTransport::Http { address, access, .. } => {
                over_http(&skills, address, HttpOptions::default().access(access)).await
            }
        }
    };
    tokio::select! {
        outcome = work => outcome,
        () = keeping => Ok(Exit::Ok),
        () = stop.requested() => Ok(Exit::Ok),
    }
}

/// Makes what runs scripts for clients, unless the user wants none or this machine cannot.
#[cfg(feature = "execute")]
fn scripts(args: &BridgeArgs) -> Result<Option<Arc<dyn BridgeScripts>>, Failure> {
    if args.no_scripts {
        return Ok(None);
    }
    crate::bridge_scripts::scripts(args.isolation, &args.interpreter)
}

#[cfg(not(feature = "execute"))]
#[expect(clippy::unnecessary_wraps, reason = "other builds read options that may be wrong")]
fn scripts(_: &BridgeArgs) -> Result<Option<Arc<dyn BridgeScripts>>, Failure> {
    Ok(None)
}

/// Makes what looks into skills for forms.
#[cfg(feature = "scan")]
#[expect(clippy::unnecessary_wraps, reason = "other builds have no scanner")]
fn notes() -> Option<Arc<dyn CardNotes>> {
    Some(crate::bridge_scan::notes())
}

#[cfg(not(feature = "scan"))]
fn notes() -> Option<Arc<dyn CardNotes>> {
    None
}

/// Waits up to [`SETTLING`] for folders and servers, so that the first answer names their skills.
/// The skills of a slower server are added when it answers.
async fn start(args: &BridgeArgs, settings: &HostSettings, bridge: &Bridge) {
    let folders = SkillFolders::new(settings, args.origins);
    let told = bridge.clone();
    let folders = tokio::task::spawn_blocking(move || told.set_folders(folders.read()));
    let (_, ()) = tokio::join!(tokio::time::timeout(SETTLING, folders), bridge.settle(SETTLING));
    bridge.settle(Duration::ZERO).await;
}

async fn over_stdio(skills: &Skills) -> Outcome {
    let ended = skills.serve_stdio().await;
    ended
        .map(|()| Exit::Ok)
        .map_err(|error| Failure::new(Exit::Internal, format!("Standard input failed: {error}.")))
}

async fn over_http(
    skills: &Skills,
    address: std::net::SocketAddr,
    options: HttpOptions,
) -> Outcome {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("{address} cannot be listened on: {error}."))
            .hint("Choose another port, or port 0 for a free one.")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    // The bridge also serves if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on http://{address}{}", http::ENDPOINT);
    let service = skills.http_service(options);
    let limits = ConnectionLimits::default();
    http::run(listener, service, Workers::here(), limits, std::future::pending()).await;
    Ok(Exit::Ok)
}

/// Watches the skill folders, and what the user does in a terminal meanwhile: approvals, and servers
/// that are added or removed.
fn watch(
    args: &BridgeArgs,
    settings: &HostSettings,
    bridge: &Bridge,
    configured: &Configured,
) -> (FollowedSkillFolders, [FolderWatcher; 2]) {
    let approvals = {
        let bridge = bridge.clone();
        watch_skill_folders(vec![bridge::real(&settings.approvals())], move |_| bridge.look_again())
            .0
    };
    let folders =
        FollowedSkillFolders::start(bridge.clone(), SkillFolders::new(settings, args.origins));
    let servers = {
        let mut following = ConfiguredServers::new(bridge.clone(), settings.servers(), configured);
        let state = bridge::real(&settings.state());
        watch_skill_folders(vec![state], move |_: FolderChanges| following.read_again()).0
    };
    (folders, [approvals, servers])
}
