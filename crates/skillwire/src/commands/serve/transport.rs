//! Serves clients over stdio or HTTP until a signal or the client ends it.

use std::{io::Write, net::SocketAddr, num::NonZero, sync::Arc};

#[cfg(feature = "page")]
use skillwire_catalog::ViewId;
#[cfg(feature = "page")]
use skillwire_page::{Page, PageHosts, PageOptions};
use skillwire_server::{
    Skills, SkillsBuilder,
    http::{self, AccessRefusal, ConnectionLimits, HttpOptions, ProtectedResource, Workers},
    stdio,
};
#[cfg(feature = "page")]
use skillwire_source::PathPatterns;
use skillwire_source::ScanRequest;
use tokio::net::TcpListener;

use super::{
    checks::StartChecks,
    live::LiveFolders,
    no_threads,
    reachable::reachable_url,
    reload::ServerReload,
    signals::{ReloadSignal, StopSignal},
    summary::ClientSetup,
};
#[cfg(feature = "page")]
use crate::page::{catalog::CatalogPage, served::ServiceWithPage};
use crate::{
    args::{LogFormat, ServeArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    operating::Operating,
    report::printable,
    settings::HttpSettings,
};

/// A port that is listened on, before anything is served there.
pub(super) struct HttpEndpoint {
    listener: TcpListener,
    options: HttpOptions,
    reload: ServerReload,
    url: String,
    address: SocketAddr,
    /// What visitors see at `/`; nothing without a page.
    #[cfg(feature = "page")]
    visible: Option<VisibleSkills>,
}

/// What visitors of the page see.
#[cfg(feature = "page")]
enum VisibleSkills {
    All,
    Matching(PathPatterns),
}

impl HttpEndpoint {
    /// Listens, and gives the server its callers.
    pub(super) async fn open(
        settings: HttpSettings,
        mut skills: SkillsBuilder,
        typed: ServeArgs,
        log_format: LogFormat,
    ) -> Result<(Self, SkillsBuilder), Failure> {
        let HttpSettings {
            address,
            access,
            tokens,
            metrics,
            page,
            public,
            url,
            host,
            issuers,
            operating,
        } = settings;
        let operating = Operating::start(operating, access, log_format)?;
        #[cfg(feature = "page")]
        let visible = page.then(|| match &public {
            Some(public) if tokens.is_some() => VisibleSkills::Matching(public.clone()),
            _ => VisibleSkills::All,
        });
        #[cfg(not(feature = "page"))]
        let _ = page;
        if let Some(file) = &tokens {
            skills = skills.tokens(file.read()?);
        }
        if let Some(public) = public {
            skills = skills.public(public);
        }
        let cannot = |error: std::io::Error| {
            Failure::usage(format!("{address} cannot be listened on."))
                .because(error)
                .hint("Choose another port, or port 0 for a free one.")
        };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let options = HttpOptions::default().metrics(metrics).refusal_text(name_option);
        let mut options = operating.add_to(options);
        if !issuers.is_empty() {
            options = options.protected(ProtectedResource::new(issuers).url(url.clone()));
        }
        let url = url.unwrap_or_else(|| reachable_url(address, host.as_deref()));
        let endpoint = Self {
            listener,
            reload: ServerReload::new(typed, operating, tokens, options.protected.clone()),
            options,
            url,
            address,
            #[cfg(feature = "page")]
            visible,
        };
        Ok((endpoint, skills))
    }

    /// Warns of settings that let other people learn the tokens.
    fn warn_of_open_tokens(&self) {
        let tokens = self.reload.tokens();
        let Some(tokens) = &*tokens else { return };
        if !self.address.ip().is_loopback() && !self.url.starts_with("https://") {
            tracing::warn!(
                "Tokens cross the network unencrypted. Put a proxy with TLS in front, listen on \
                 127.0.0.1, and name the proxy's address with `--url https://HOST/mcp`."
            );
        }
        if tokens.is_readable_by_others() {
            let path = printable(&tokens.path().display().to_string());
            tracing::warn!(
                "Other users of this machine can read the tokens in `{path}`. Run `chmod 600` on it."
            );
        }
    }
}

#[cfg(feature = "page")]
impl HttpEndpoint {
    /// Makes the page of the server, if it has one.
    fn page(&self, skills: &Skills) -> Option<Page<CatalogPage>> {
        let engine = skills.engine();
        let view = match self.visible.as_ref()? {
            VisibleSkills::All => ViewId::EVERYTHING,
            VisibleSkills::Matching(patterns) => engine.catalog().restrict(patterns.clone()),
        };
        let identity = &engine.config().identity;
        let name = identity.title.clone().unwrap_or_else(|| identity.name.clone());
        let provider = CatalogPage::new(Arc::clone(engine.catalog()), view, name, self.url.clone());
        let access = self.options.access.now();
        let hosts = PageHosts::named(access.hosts.iter().cloned(), access.any_host);
        Some(Page::new(Arc::new(provider), PageOptions::new(hosts, "skillwire")))
    }
}

pub(super) async fn serve_stdio(
    skills: &Skills,
    mut live: LiveFolders,
    checks: StartChecks,
    (mut stop, mut reload): (StopSignal, ReloadSignal),
    arguments: &[String],
) -> Outcome {
    let first = tokio::select! {
        first = live.refresh(ScanRequest::everything()) => first?,
        () = stop.requested() => return Ok(Exit::Ok),
    };
    checks.run(skills, &live, first, &ClientSetup::Stdio { arguments })?;
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
        ended
            .map(|()| Exit::Ok)
            .map_err(|error| Failure::new(Exit::Internal, "Standard input failed.").because(error))
    };
    tokio::select! {
        ended = &mut server => return done(ended),
        () = live.follow(&mut reload, || ()) => {}
        () = stop.requested() => tracing::info!("stopping"),
    }
    let _ = end.send(());
    tokio::select! {
        ended = &mut server => done(ended),
        // A second signal ends the server without waiting for requests under way.
        () = stop.requested() => Ok(Exit::Ok),
    }
}

pub(super) async fn serve_http(
    skills: &Skills,
    mut live: LiveFolders,
    checks: StartChecks,
    (mut stop, mut reload): (StopSignal, ReloadSignal),
    endpoint: HttpEndpoint,
) -> Outcome {
    endpoint.warn_of_open_tokens();
    #[cfg(feature = "page")]
    let page = endpoint.page(skills);
    let HttpEndpoint { listener, options, reload: files, url, .. } = endpoint;
    let service = skills.http_service(options);
    #[cfg(feature = "page")]
    let service = ServiceWithPage::new(service, page);
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
    let shows_text = checks.shows_text();
    let setup = ClientSetup::Http { url: &url, needs_token: skills.needs_token() };
    checks.run(skills, &live, first, &setup)?;
    if shows_text {
        // The server also runs if standard error is closed.
        let _ = writeln!(std::io::stderr(), "listening on {url}");
    }
    tokio::select! {
        () = live.follow(&mut reload, || files.run(skills)) => {}
        () = files.follow(skills) => {}
        () = stop.requested() => tracing::info!("stopping"),
        ended = &mut server => {
            let reason = ended.err().map_or_else(String::new, |error| format!(": {error}"));
            return Err(Failure::new(Exit::Internal, format!("The server broke{reason}.")));
        }
    }
    let _ = end.send(());
    tokio::select! {
        ended = &mut server => ended.map_err(|error| {
            Failure::new(Exit::Internal, "The server broke.").because(error)
        })?,
        // A second signal ends the server without waiting for requests under way.
        () = stop.requested() => {}
    }
    files.finish();
    Ok(Exit::Ok)
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
