//! `skillwire serve`: runs a server until a signal or the client ends it.

mod checks;
mod live;
#[cfg(feature = "host")]
mod passing;
mod reachable;
#[cfg(feature = "scan")]
mod refusing;
mod reload;
pub(super) mod signals;
mod summary;
mod tools;
mod transport;

use std::sync::Arc;
#[cfg(feature = "search")]
use std::sync::OnceLock;

use skillwire_catalog::Catalog;
#[cfg(feature = "search")]
use skillwire_search::SearchTool;
use skillwire_server::{BuildError, Skills, SkillsBuilder};

#[cfg(feature = "host")]
use self::passing::PassedOnServers;
use self::{
    checks::StartChecks,
    live::LiveFolders,
    tools::Tools,
    transport::{HttpEndpoint, serve_http, serve_stdio},
};
use super::Outcome;
use crate::{
    args::{LogFormat, ServeArgs},
    exit::Exit,
    failure::Failure,
    logging,
    progress::ScanSpinner,
    settings::{ServeSettings, ServeTransport},
};

pub(super) fn run(args: ServeArgs) -> Outcome {
    let typed = args.clone();
    let settings = ServeSettings::resolve(args)?;
    let _log = logging::start(settings.log_format)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
    let outcome = runtime.block_on(serve(settings, typed));
    // The thread that reads standard input cannot be interrupted, so the shutdown does not wait for
    // it.
    runtime.shutdown_background();
    outcome
}

async fn serve(settings: ServeSettings, typed: ServeArgs) -> Outcome {
    let ServeSettings {
        sources,
        #[cfg(feature = "host")]
        upstream,
        progress,
        snapshot,
        config,
        strictness,
        transport,
        log_format,
        #[cfg(feature = "scan")]
        refuse_findings,
        named,
        #[cfg(feature = "search")]
        search_tool,
        #[cfg(feature = "execute")]
        scripts,
        client_arguments,
    } = settings;
    let signals = signals::listen()?;
    let mut skills = Skills::builder()
        .listing(snapshot)
        .config(config)
        .strictness(strictness)
        .on_notice(live::log)
        .sources(sources.into_iter().map(|source| {
            #[cfg(feature = "scan")]
            let source = refusing::source(source, refuse_findings);
            #[cfg(not(feature = "scan"))]
            let source: Box<dyn skillwire_source::SkillSource> = Box::new(source);
            source
        }));
    let endpoint;
    (endpoint, skills) = open_endpoint(transport, skills, typed, log_format).await?;
    #[cfg(feature = "execute")]
    let scripts = scripts.map(Arc::new);
    #[cfg(feature = "execute")]
    if let Some(scripts) = &scripts {
        let page = skillwire_scripts::SkillsPageScripts::new(Arc::clone(scripts));
        skills = skills.scripts(Arc::new(page));
    }
    #[cfg(feature = "host")]
    let passing = upstream.map(PassedOnServers::start).transpose()?;
    #[cfg(feature = "host")]
    let passed_on = passing.as_ref().map(PassedOnServers::offers);
    #[cfg(feature = "search")]
    let search = Arc::new(OnceLock::<SearchTool>::new());
    #[cfg(feature = "search")]
    let made_search = Arc::clone(&search);
    #[cfg_attr(
        not(any(feature = "search", feature = "execute")),
        expect(unused, reason = "other builds have tools that look at the catalogue")
    )]
    let offers = move |catalog: &Arc<Catalog>| {
        let mut tools = Tools::default();
        #[cfg(feature = "search")]
        if search_tool {
            let tool = made_search.get_or_init(|| SearchTool::new(Arc::clone(catalog)));
            tools.search_skills(tool.clone());
        }
        #[cfg(feature = "execute")]
        if let Some(scripts) = scripts {
            tools.run_scripts(catalog, scripts);
        }
        #[cfg(feature = "host")]
        if let Some((offers, changes)) = passed_on {
            tools.pass_on(offers, changes);
        }
        tools.joined()
    };
    skills = skills.offers_from(offers);
    #[cfg(feature = "host")]
    if let Some(passing) = &passing {
        skills = passing.added_to(skills);
    }
    let skills = skills.prepare().map_err(not_built)?;
    let mut live =
        LiveFolders::new(Arc::clone(skills.follower()), strictness, ScanSpinner::new(progress));
    #[cfg(feature = "host")]
    if let Some(passing) = &passing {
        live.wait_for(passing.settled());
    }
    let mut checks = StartChecks::new(named, log_format == LogFormat::Text);
    #[cfg(feature = "search")]
    if let Some(tool) = search.get().cloned() {
        checks.when_idle(move || tool.prepare());
    }
    let outcome = match endpoint {
        None => serve_stdio(&skills, live, checks, signals, &client_arguments).await,
        Some(endpoint) => serve_http(&skills, live, checks, signals, endpoint).await,
    };
    #[cfg(feature = "host")]
    if let Some(passing) = passing {
        passing.stop().await;
    }
    outcome
}

/// Opens the address that is listened on, if there is one, and tells the server who may use it.
async fn open_endpoint(
    transport: ServeTransport,
    skills: SkillsBuilder,
    typed: ServeArgs,
    log_format: LogFormat,
) -> Result<(Option<HttpEndpoint>, SkillsBuilder), Failure> {
    match transport {
        ServeTransport::Stdio => Ok((None, skills)),
        ServeTransport::Http(settings) => {
            let (endpoint, skills) =
                HttpEndpoint::open(*settings, skills, typed, log_format).await?;
            Ok((Some(endpoint), skills))
        }
    }
}

fn no_threads(error: std::io::Error) -> Failure {
    Failure::new(Exit::Internal, "Threads could not be started.").because(error)
}

/// Makes the failure for a server that cannot be built.
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(super) fn not_built(error: BuildError) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}
