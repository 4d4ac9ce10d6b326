//! From a request to an answer: the guard, the session, the view.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use maud::{Markup, html};
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
    texts as t,
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
        const OTHERS: [&str; 8] = [
            "/skill",
            "/file",
            "/image",
            "/diff",
            "/events",
            "/sign-in",
            "/sign-out",
            "/review/batch",
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
        if path == "/sign-in" {
            return self.sign_in(params.some("secret"), is_post).await;
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
            return match provider.live() {
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

    /// Exchanges a secret for a cookie.
    ///
    /// The answer is a page that leads on, and not a redirect: browsers leave out the cookie of a
    /// redirect that began at another site, such as the file that opened the browser.
    async fn sign_in(&self, secret: Option<&str>, is_post: bool) -> PageResponse {
        let Inner { provider, options, sessions, .. } = &*self.0;
        let Some(secret) = secret else {
            return self.not_signed_in(StatusCode::OK, None);
        };
        // A secret in a form is a token; one in an address is used once.
        let reader =
            if is_post == options.takes_tokens { provider.sign_in(secret).await } else { None };
        let begun = reader.map(|reader| sessions.begin(reader));
        match begun {
            Some(Ok(cookie)) => {
                let view = html! { p { (t::SIGNED_IN) " " a href="/" { (t::GO_ON) } } };
                let page =
                    response::html(StatusCode::OK, render::bare(t::SIGNED_IN, Some("/"), &view));
                response::set_cookie(page, &cookie)
            }
            Some(Err(error)) => {
                tracing::error!(%error, "the system gives no random numbers");
                response::text(StatusCode::INTERNAL_SERVER_ERROR, "The page failed.")
            }
            None => self.not_signed_in(StatusCode::FORBIDDEN, Some(t::WRONG_SECRET)),
        }
    }

    fn not_signed_in(&self, status: StatusCode, why: Option<&str>) -> PageResponse {
        let options = &self.0.options;
        let view: Markup = html! {
            @if let Some(why) = why { p.flash.bad role="alert" { (why) } }
            p { (options.sign_in_help) }
            @if options.takes_tokens {
                form method="post" action="/sign-in" {
                    label { span { (t::TOKEN) } input type="password" name="secret" autocomplete="current-password" required; }
                    button.primary type="submit" { (t::SIGN_IN) }
                }
            }
        };
        response::html(status, render::bare(t::NOT_SIGNED_IN, None, &view))
    }
}

/// The section whose table an address exports.
pub(crate) fn exported(path: &str) -> Option<Section> {
    let section = path.strip_suffix("/export")?;
    Section::ALL.into_iter().find(|known| known.path() == section)
}
