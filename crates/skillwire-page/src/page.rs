//! From a request to an answer: the guard, the session, the view.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use tokio::sync::watch;

use crate::{
    assets, guard,
    guard::PageHosts,
    live,
    model::Section,
    params::Params,
    provider::{PageProblem, PageProvider},
    render::{self, Frame},
    response::{self, PageResponse},
    session::{Session, Sessions},
    signing_in, texts as t,
};

/// The largest form that is read, in bytes.
pub const MAX_FORM_BYTES: usize = 256 * 1024;

/// How a page is reached, and how readers sign in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PageOptions {
    /// The names under which the page is reached.
    pub hosts: PageHosts,
    /// The name of the cookie.
    pub cookie: String,
    /// Whether the page is reached over TLS alone.
    pub secure: bool,
    /// How a reader signs in, as a sentence.
    pub sign_in_help: String,
    /// Whether readers can type their secret into a form.
    pub takes_tokens: bool,
    /// The address of the page as readers write it, without a path, if it is known.
    pub url: Option<String>,
}

impl PageOptions {
    /// Options of a page that is reached under some names.
    pub fn new(hosts: PageHosts, cookie: impl Into<String>) -> Self {
        Self {
            hosts,
            cookie: cookie.into(),
            secure: false,
            sign_in_help: String::new(),
            takes_tokens: false,
            url: None,
        }
    }

    /// Sets the sentence that says how a reader signs in.
    #[must_use]
    pub fn sign_in_help(mut self, help: impl Into<String>) -> Self {
        self.sign_in_help = help.into();
        self
    }

    /// Lets readers type their secret into a form.
    #[must_use]
    pub fn takes_tokens(mut self, takes_tokens: bool) -> Self {
        self.takes_tokens = takes_tokens;
        self
    }

    /// Sets the address of the page as readers write it; over `https`, cookies are sent over TLS alone.
    #[must_use]
    pub fn url(mut self, url: Option<String>) -> Self {
        self.secure |= url.as_ref().is_some_and(|url| url.starts_with("https://"));
        self.url = url.map(|url| url.trim_end_matches('/').to_owned());
        self
    }

    /// Makes browsers send the cookie over TLS alone.
    #[must_use]
    pub fn secure(mut self, secure: bool) -> Self {
        self.secure = secure;
        self
    }
}

/// A page; clones share everything.
pub struct Page<P: PageProvider>(Arc<Inner<P>>);

impl<P: PageProvider> Clone for Page<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<P: PageProvider> {
    provider: Arc<P>,
    options: PageOptions,
    sessions: Sessions<P::Reader>,
    stopping: watch::Sender<bool>,
}

/// A request that passed the guard, of a reader.
pub(crate) struct Visit<'a, P: PageProvider> {
    pub(crate) provider: &'a P,
    pub(crate) session: &'a Session<P::Reader>,
    pub(crate) has_cookie: bool,
    pub(crate) params: Params,
}

impl<P: PageProvider> Visit<'_, P> {
    pub(crate) async fn frame(&self, section: Section, follows: &'static str) -> Frame {
        Frame {
            site: self.provider.site(&self.session.reader).await,
            section,
            form_token: self.session.form_token.clone(),
            flash: self.session.take_flash(),
            follows,
            has_session: self.has_cookie,
        }
    }

    pub(crate) async fn problem(&self, problem: &PageProblem) -> PageResponse {
        let (status, title) = match problem {
            PageProblem::NotFound => (StatusCode::NOT_FOUND, t::NOT_FOUND),
            PageProblem::Refused(_) => (StatusCode::CONFLICT, t::REFUSED),
        };
        let frame = self.frame(Section::Catalogue, "").await;
        let view = render::problem(title, &problem.to_string());
        response::html(status, render::document(&frame, title, &view))
    }
}

impl<P: PageProvider> Page<P> {
    /// Makes the page of a provider.
    pub fn new(provider: Arc<P>, options: PageOptions) -> Self {
        let sessions = Sessions::new(&options.cookie, options.secure);
        Self(Arc::new(Inner { provider, options, sessions, stopping: watch::Sender::new(false) }))
    }

    /// Ends the streams of open pages, because the server stops.
    pub fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Tells whether an address belongs to a page, for a server that answers others as well.
    pub fn has(path: &str) -> bool {
        const OTHERS: [&str; 10] = [
            "/skill",
            "/file",
            "/image",
            "/diff",
            "/events",
            "/sign-in",
            "/sign-out",
            "/review/batch",
            signing_in::WITH,
            signing_in::ANSWER,
        ];
        Section::ALL.iter().any(|section| section.path() == path)
            || OTHERS.contains(&path)
            || path.starts_with("/assets/")
            || path.starts_with("/act/")
            || exported(path).is_some()
    }

    /// Answers a request.
    pub async fn handle(&self, request: Request<Bytes>) -> PageResponse {
        let is_head = request.method() == Method::HEAD;
        let mut answer = self.answer(request).await;
        guard::protect(answer.headers_mut());
        if is_head {
            *answer.body_mut() = response::PageBody::Full(Bytes::new());
        }
        answer
    }

    async fn answer(&self, request: Request<Bytes>) -> PageResponse {
        let Inner { provider, options, sessions, stopping } = &*self.0;
        let (parts, body) = request.into_parts();
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        if let Err(refusal) = guard::admit(&options.hosts, &parts.method, &parts.headers, authority)
        {
            return response::text(StatusCode::FORBIDDEN, &refusal.to_string());
        }
        let path = parts.uri.path();
        if let Some(asset) = assets::find(path) {
            return response::asset(asset);
        }
        let query = Params::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let is_post = parts.method == Method::POST;
        if is_post && body.len() > MAX_FORM_BYTES {
            return response::text(StatusCode::PAYLOAD_TOO_LARGE, "The form is too large.");
        }
        let params = if is_post { Params::parse(&body) } else { query };
        if path == "/sign-in" || path.starts_with("/sign-in/") {
            return self.sign_in((path, is_post), &params, &parts.headers).await;
        }
        let known = match sessions.of(&parts.headers) {
            Some(session) if provider.is_current(&session.reader).await => Some(session),
            Some(_) => {
                sessions.end(&parts.headers);
                None
            }
            None => None,
        };
        let has_cookie = known.is_some();
        let visitor = || provider.visitor().map(|reader| Arc::new(Session::of_visitor(reader)));
        let Some(session) = known.or_else(visitor) else {
            return self.not_signed_in(StatusCode::UNAUTHORIZED, None);
        };
        let visit = Visit { provider: &**provider, session: &session, has_cookie, params };
        if !is_post && path == "/events" {
            return match provider.live(&session.reader).await {
                Some(changes) => live::open(changes, stopping.subscribe()),
                None => response::text(StatusCode::NO_CONTENT, ""),
            };
        }
        if !is_post {
            return crate::views::show(&visit, path).await;
        }
        // Trust boundary: what acts carries a token that only pages of this session know.
        if !session.made(visit.params.get("form")) {
            let refused = PageProblem::Refused(t::STALE_FORM.to_owned());
            let mut answer = visit.problem(&refused).await;
            *answer.status_mut() = StatusCode::FORBIDDEN;
            return answer;
        }
        if path == "/sign-out" {
            let cookie = sessions.end(&parts.headers);
            return response::set_cookie(response::see_other("/"), &cookie);
        }
        crate::acts::act(&visit, path).await
    }

    pub(crate) fn provider(&self) -> &P {
        &self.0.provider
    }

    pub(crate) fn options(&self) -> &PageOptions {
        &self.0.options
    }

    pub(crate) fn sessions(&self) -> &Sessions<P::Reader> {
        &self.0.sessions
    }
}

/// The section whose table an address exports.
pub(crate) fn exported(path: &str) -> Option<Section> {
    let section = path.strip_suffix("/export")?;
    Section::ALL.into_iter().find(|known| known.path() == section)
}
