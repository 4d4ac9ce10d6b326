//! `skillwire serve`: runs a server until a signal or the client ends it.

mod live;
#[cfg(feature = "host")]
mod passing;
pub(super) mod signals;
mod summary;
mod tools;

use std::{io::Write, num::NonZero, sync::Arc};

use skillwire_catalog::{Catalog, Refreshed};
use skillwire_core::{Code, Strictness};
use skillwire_server::{
    BuildError, Engine, Skills,
    http::{self, AccessRefusal, ConnectionLimits, HttpOptions, Tokens, Workers},
    stdio,
};
use skillwire_source::{ScanRequest, SkillSource};
use tokio::net::TcpListener;

#[cfg(feature = "host")]
use self::passing::PassedOnServers;
use self::{
    live::LiveFolders,
    signals::{ReloadSignal, StopSignal},
    tools::Tools,
};
use super::Outcome;
use crate::{
    args::ServeArgs,
    exit::Exit,
    failure::Failure,
    logging,
    progress::ScanSpinner,
    report,
    settings::{ServeSettings, ServeTransport},
};

pub(super) fn run(args: ServeArgs) -> Outcome {
    let settings = ServeSettings::resolve(args)?;
    logging::start(settings.log_format);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
    let outcome = runtime.block_on(serve(settings));
    // The thread that reads standard input cannot be interrupted, so the shutdown does not wait for
    // it.
    runtime.shutdown_background();
    outcome
}

async fn serve(settings: ServeSettings) -> Outcome {
    let ServeSettings {
        sources,
        #[cfg(feature = "host")]
        upstream,
        progress,
        snapshot,
        config,
        strictness,
        transport,
        #[cfg(feature = "search")]
        find_tool,
        #[cfg(feature = "execute")]
        scripts,
        client_arguments,
        ..
    } = settings;
    let signals = signals::listen()?;
    let mut skills = Skills::builder()
        .listing(snapshot)
        .config(config)
        .strictness(strictness)
        .on_notice(live::log)
        .sources(sources.into_iter().map(|source| Box::new(source) as Box<dyn SkillSource>));
    let endpoint = match transport {
        ServeTransport::Stdio => ServeEndpoint::Stdio,
        ServeTransport::Http { address, access, tokens, metrics, public } => {
            if let Some(text) = tokens {
                skills = skills.tokens(Tokens::parse(&text).map_err(|error| {
                    Failure::usage(format!("The token file cannot be used: {error}.")).hint(
                        "Write a line `NAME TOKEN [PATTERN...]` for each caller, with a token of \
                         at least 16 characters.",
                    )
                })?);
            }
            if let Some(public) = public {
                skills = skills.public(public);
            }
            let listener = TcpListener::bind(address).await.map_err(|error| {
                Failure::usage(format!("{address} cannot be listened on: {error}."))
                    .hint("Choose another port, or port 0 for a free one.")
            })?;
            let options =
                HttpOptions::default().access(access).metrics(metrics).refusal_text(name_option);
            ServeEndpoint::Http { listener, options }
        }
    };
    #[cfg(feature = "execute")]
    let scripts = scripts.map(Arc::new);
    #[cfg(feature = "execute")]
    if let Some(scripts) = &scripts {
        let page = skillwire_scripts::SkillsPageScripts::new(Arc::clone(scripts));
        skills = skills.scripts(Arc::new(page));
    }
    #[cfg_attr(
        not(any(feature = "search", feature = "execute")),
        expect(unused, reason = "other builds have tools that look at the catalogue")
    )]
    let offers = move |catalog: &Arc<Catalog>| {
        let mut tools = Tools::default();
        #[cfg(feature = "search")]
        if find_tool {
            tools.find_skills(catalog);
        }
        #[cfg(feature = "execute")]
        if let Some(scripts) = scripts {
            tools.run_scripts(catalog, scripts);
        }
        tools.joined()
    };
    skills = skills.offers_from(offers);
    #[cfg(feature = "host")]
    let passing = upstream.map(PassedOnServers::start).transpose()?;
    #[cfg(feature = "host")]
    if let Some(passing) = &passing {
        skills = passing.added_to(skills);
    }
    let skills = skills.prepare().map_err(not_built)?;
    let mut live =
        LiveFolders::new(Arc::clone(skills.keeper()), strictness, ScanSpinner::new(progress));
    #[cfg(feature = "host")]
    if let Some(passing) = &passing {
        live.wait_for(passing.settled());
    }
    let outcome = match endpoint {
        ServeEndpoint::Stdio => serve_stdio(&skills, live, signals, &client_arguments).await,
        ServeEndpoint::Http { listener, options } => {
            serve_http(&skills, live, signals, listener, options).await
        }
    };
    #[cfg(feature = "host")]
    if let Some(passing) = passing {
        passing.stop().await;
    }
    outcome
}

enum ServeEndpoint {
    Stdio,
    Http { listener: TcpListener, options: HttpOptions },
}

async fn serve_stdio(
    skills: &Skills,
    mut live: LiveFolders,
    (mut stop, mut reload): (StopSignal, ReloadSignal),
    arguments: &[String],
) -> Outcome {
    let first = tokio::select! {
        first = live.refresh(ScanRequest::everything()) => first?,
        () = stop.requested() => return Ok(Exit::Ok),
    };
    refuse_collisions(&live, &first)?;
    report_missing(&live, skills.engine());
    summary::show(&first, live.strictness(), &summary::ClientSetup::Stdio { arguments });
    forget(first);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let server = stdio::run_until(
        Arc::clone(skills.engine()),
        tokio::io::stdin(),
        tokio::io::stdout(),
        async {
            // An error means that the sender was dropped, which also ends the server.
            let _ = ended.await;
        },
    );
    tokio::pin!(server);
    let done = |ended: std::io::Result<()>| {
        ended.map(|()| Exit::Ok).map_err(|error| {
            Failure::new(Exit::Internal, format!("Standard input failed: {error}."))
        })
    };
    tokio::select! {
        ended = &mut server => return done(ended),
        () = live.follow(&mut reload) => {}
        () = stop.requested() => tracing::info!("stopping"),
    }
    let _ = end.send(());
    tokio::select! {
        ended = &mut server => done(ended),
        // A second signal ends the server without waiting for requests under way.
        () = stop.requested() => Ok(Exit::Ok),
    }
}

async fn serve_http(
    skills: &Skills,
    mut live: LiveFolders,
    (mut stop, mut reload): (StopSignal, ReloadSignal),
    listener: TcpListener,
    options: HttpOptions,
) -> Outcome {
    let address = listener.local_addr().map_err(|error| {
        Failure::new(Exit::Internal, format!("The address is unknown: {error}."))
    })?;
    let needs_token = skills.needs_token();
    let service = skills.http_service(options);
    // The server accepts connections at once. Their requests wait for the first snapshot.
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let count = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = Workers::start(count).map_err(no_threads)?;
    let mut server =
        tokio::spawn(http::run(listener, service, workers, ConnectionLimits::default(), async {
            // An error means that the sender was dropped, which also ends the server.
            let _ = ended.await;
        }));
    let first = tokio::select! {
        first = live.refresh(ScanRequest::everything()) => first?,
        () = stop.requested() => return Ok(Exit::Ok),
    };
    refuse_collisions(&live, &first)?;
    report_missing(&live, skills.engine());
    let url = format!("http://{address}{}", http::ENDPOINT);
    summary::show(
        &first,
        live.strictness(),
        &summary::ClientSetup::Http { url: &url, needs_token },
    );
    forget(first);
    // The server also runs if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on {url}");
    tokio::select! {
        () = live.follow(&mut reload) => {}
        () = stop.requested() => tracing::info!("stopping"),
        ended = &mut server => {
            let reason = ended.err().map_or_else(String::new, |error| format!(": {error}"));
            return Err(Failure::new(Exit::Internal, format!("The server broke{reason}.")));
        }
    }
    let _ = end.send(());
    tokio::select! {
        ended = &mut server => ended.map_err(|error| {
            Failure::new(Exit::Internal, format!("The server broke: {error}."))
        })?,
        // A second signal ends the server without waiting for requests under way.
        () = stop.requested() => {}
    }
    Ok(Exit::Ok)
}

/// Drops a report off the event loop: it names every skill, so dropping a large one takes time.
fn forget(refreshed: Refreshed) {
    tokio::task::spawn_blocking(move || drop(refreshed));
}

/// Logs the requirements of skills that this server does not meet, once it is idle.
fn report_missing(live: &LiveFolders, engine: &Arc<Engine>) {
    let engine = Arc::clone(engine);
    live.when_idle(move || {
        for missing in engine.missing_dependencies() {
            tracing::warn!("{}", report::printable(&missing.to_string()));
        }
    });
}

/// With `--strict`, refuses to start if two skills claim one path.
fn refuse_collisions(live: &LiveFolders, refreshed: &Refreshed) -> Result<(), Failure> {
    if live.strictness() != Strictness::Strict {
        return Ok(());
    }
    let collisions: Vec<_> = refreshed
        .inspected()
        .flat_map(|inspected| &inspected.findings)
        .filter(|finding| finding.code == Code::PathCollision)
        .collect();
    if collisions.is_empty() {
        return Ok(());
    }
    let mut err = anstream::stderr().lock();
    for collision in collisions {
        report::finding(&mut err, collision)?;
    }
    Err(Failure::new(Exit::Findings, "Skills collide, and `--strict` forbids that.")
        .hint("Rename or move one of them, or serve without `--strict`."))
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn no_threads(error: std::io::Error) -> Failure {
    Failure::new(Exit::Internal, format!("Threads could not be started: {error}."))
}

/// Makes the failure for a server that cannot be built.
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(super) fn not_built(error: BuildError) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}

/// The error that a refused client gets. It names the option with which the operator would let it
/// in.
fn name_option(refusal: AccessRefusal) -> String {
    match refusal {
        AccessRefusal::UnknownHost => "This host name is not served; see `--allow-host`.".into(),
        AccessRefusal::UnknownOrigin => "This origin is not allowed; see `--allow-origin`.".into(),
        other => other.to_string(),
    }
}
