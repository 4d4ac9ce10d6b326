//! `skillwire hub serve`: MCP, the API and the well-known address on one port.

use std::{io::Write as _, num::NonZero, sync::Arc, time::Duration};

#[cfg(feature = "page")]
use skillwire_hub_server::HubService;
use skillwire_hub_server::{InspectContent, ServingOptions};
#[cfg(feature = "page")]
use skillwire_page::{Page, PageHosts, PageOptions};
use skillwire_server::{
    Config, ServerIdentity,
    http::{self, ConnectionLimits, HttpOptions, Workers},
};
use tokio::net::TcpListener;

use super::{client::open_existing, following, reload::Reloaded, scanned::Inspection};
#[cfg(feature = "page")]
use crate::page::{hub::HubPage, served::ServiceWithPage};
use crate::{
    args::{HttpAddress, HubServeArgs, LogFormat},
    commands::{Outcome, serve::signals},
    exit::Exit,
    failure::Failure,
    logging,
    operating::Operating,
    settings::hub::HubFile,
};

/// The address that a hub listens on unless its configuration says otherwise.
const USUAL_ADDRESS: &str = "127.0.0.1:8650";

/// How long clients may reuse an answer. Versions are revoked and channels moved, so it is short.
const TTL_MS: u64 = 5_000;

pub(super) fn run(args: &HubServeArgs) -> Outcome {
    let file = HubFile::read(&args.dir)?;
    let _log = logging::start(args.log_format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(Exit::Internal, "Threads could not be started.").because(error)
        })?;
    let outcome = runtime.block_on(serve(args, &file));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve(args: &HubServeArgs, file: &HubFile) -> Outcome {
    let (mut stop, mut reload) = signals::listen()?;
    let address = address(args, file)?;
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("{address} cannot be listened on."))
            .because(error)
            .hint("Choose another port with `--listen`, or port 0 for a free one.")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let store = open_existing(file.replica_store()?, file).await?;
    let reloaded = Reloaded::read(file, args, store.clone()).await?;
    let inspector: Arc<dyn InspectContent> =
        Arc::new(Inspection { signers: reloaded.signers.subscribe() });
    let options = options(file, &reloaded.operating)?
        .inspector(Arc::clone(&inspector))
        .access(reloaded.access.clone())
        .signer(reloaded.signer.clone())
        .upstreams(following::options(Arc::clone(&reloaded.variables), inspector)?)
        .url(file.url.clone());
    let started = skillwire_hub_server::start(store.clone(), file.identity(), options);
    let (service, following) = tokio::select! {
        started = started => started.map_err(|error| Failure::caused(Exit::Internal, error))?,
        () = stop.requested() => return Ok(Exit::Ok),
    };
    if !address.ip().is_loopback() {
        tracing::warn!(
            "Tokens cross the network unencrypted unless a proxy with TLS stands in front of the hub."
        );
    }
    let threads = args
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    let workers = Workers::start(threads).map_err(|error| {
        Failure::new(Exit::Internal, "Threads could not be started.").because(error)
    })?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(skills = following.skills(), url = %format!("http://{address}"), version, "serving");
    if args.log_format == LogFormat::Text {
        // The hub also runs if standard error is closed.
        let _ = writeln!(std::io::stderr(), "listening on http://{address}/mcp");
    }
    let followed = service.clone();
    #[cfg(feature = "page")]
    let service = with_page(service, args, file, address);
    let follow = reloaded.follow(&followed, &mut reload);
    let run = http::run(listener, service, workers, ConnectionLimits::default(), stop.requested());
    tokio::select! {
        () = run => {}
        () = follow => {}
    }
    tracing::info!("stopping");
    following.stop().await;
    store.close().await;
    reloaded.operating.finish();
    Ok(Exit::Ok)
}

/// Adds the page for readers who sign in.
#[cfg(feature = "page")]
fn with_page(
    service: HubService,
    args: &HubServeArgs,
    file: &HubFile,
    address: std::net::SocketAddr,
) -> ServiceWithPage<HubService, HubPage> {
    let url = file.url.clone();
    let shown = url.clone().unwrap_or_else(|| format!("http://{address}"));
    let shown = shown.trim_end_matches('/').to_owned();
    // The name in the hub's own address is one of its names.
    let named = shown.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next());
    let hosts = file.hosts.iter().chain(&args.host).cloned();
    let hosts = PageHosts::named(hosts.chain(named.map(str::to_owned)), false);
    let options =
        PageOptions::new(hosts, "skillwire-hub").url(url).takes_tokens(true).sign_in_help(format!(
            "Sign in to read the skills of `{}` and to decide about them.",
            file.name
        ));
    let provider = HubPage::new(service.readers().clone(), file.name.clone(), shown);
    ServiceWithPage::new(service, Some(Page::new(Arc::new(provider), options)))
}

fn address(args: &HubServeArgs, file: &HubFile) -> Result<std::net::SocketAddr, Failure> {
    let typed = args.listen.as_deref().map(str::parse::<HttpAddress>).transpose();
    let typed =
        typed.map_err(|reason| Failure::usage(format!("`--listen` cannot be used: {reason}.")))?;
    let usual = USUAL_ADDRESS.parse::<HttpAddress>().ok();
    let chosen = typed.or(file.listen).or(usual);
    chosen
        .map(|address| address.0)
        .ok_or_else(|| Failure::usage("There is no address to listen on."))
}

fn options(file: &HubFile, operating: &Operating) -> Result<ServingOptions, Failure> {
    let mut identity = ServerIdentity::default();
    identity.name.clone_from(&file.name);
    env!("CARGO_PKG_VERSION").clone_into(&mut identity.version);
    let config = Config::default().identity(identity).skill_tools(true).ttl_ms(TTL_MS);
    let mut options = ServingOptions::default()
        .config(config)
        .http(operating.add_to(HttpOptions::default().metrics(true)))
        .reads(file.recorded_reads()?);
    if let Some(limit) = file.stale_limit()? {
        options = options.stale_limit(limit);
    }
    if let Some(poll) = file.poll()? {
        options = options.poll(poll);
    }
    #[cfg(feature = "search")]
    {
        options = options.offers(Arc::new(|catalog: &Arc<skillwire_catalog::Catalog>| {
            let tool = skillwire_search::SearchTool::new(Arc::clone(catalog));
            let changes = skillwire_server::offer::ListChanges::default();
            skillwire_server::offer::Offers::joined(vec![Arc::new(tool)], changes)
        }));
    }
    Ok(options)
}
