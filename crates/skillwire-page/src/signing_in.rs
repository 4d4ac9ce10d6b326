//! Signing in: a secret or a token for a cookie, here or at an identity provider.

use http::{HeaderMap, StatusCode, header};
use maud::{Markup, html};

use crate::{
    page::Page,
    params::Params,
    provider::{PageProblem, PageProvider, SignInAnswer},
    render,
    response::{self, PageResponse},
    session::{cookie_of, random_secret},
    texts as t,
};

/// Leads to a place where readers sign in.
pub(crate) const WITH: &str = "/sign-in/with";

/// Where that place leads back to.
pub(crate) const ANSWER: &str = "/sign-in/answer";

/// How long a reader may take to sign in elsewhere, in seconds.
const PATIENCE: u32 = 600;

impl<P: PageProvider> Page<P> {
    /// Answers the addresses that need no session.
    pub(crate) async fn sign_in(
        &self,
        (path, is_post): (&str, bool),
        params: &Params,
        headers: &HeaderMap,
    ) -> PageResponse {
        match path {
            WITH if !is_post => self.leave_to_sign_in(params.get("place"), headers).await,
            ANSWER if !is_post => self.come_back(params, headers).await,
            _ => self.take_secret(params.some("secret"), is_post).await,
        }
    }

    /// Exchanges a secret for a cookie.
    async fn take_secret(&self, secret: Option<&str>, is_post: bool) -> PageResponse {
        let Some(secret) = secret else {
            return self.not_signed_in(StatusCode::OK, None);
        };
        // A secret in a form is a token; one in an address is used once.
        let is_meant = is_post == self.options().takes_tokens;
        let reader = if is_meant { self.provider().sign_in(secret.trim()).await } else { None };
        match reader {
            Some(reader) => self.begin(reader),
            None => self.not_signed_in(StatusCode::FORBIDDEN, Some(t::WRONG_SECRET)),
        }
    }

    /// Sends the reader to a place where they sign in. The cookie ties its answer to this browser.
    async fn leave_to_sign_in(&self, place: &str, headers: &HeaderMap) -> PageResponse {
        let Ok(secret) = random_secret() else { return failed() };
        let back = self.back(headers);
        match self.provider().sign_in_address(place, &secret, &back).await {
            Ok(address) => {
                let cookie = self.sign_in_cookie(&secret, PATIENCE);
                response::set_cookie(response::see_other(&address), &cookie)
            }
            Err(problem) => self.refuse(&problem),
        }
    }

    async fn come_back(&self, params: &Params, headers: &HeaderMap) -> PageResponse {
        let over = self.sign_in_cookie("", 0);
        let Some(secret) = cookie_of(headers, &self.sign_in_cookie_name()) else {
            return self.not_signed_in(StatusCode::FORBIDDEN, Some(t::SIGN_IN_ELSEWHERE_LOST));
        };
        let back = self.back(headers);
        let answer = SignInAnswer {
            secret,
            state: params.get("state"),
            code: params.some("code"),
            issuer: params.some("iss"),
            error: params.some("error"),
            back: &back,
        };
        let page = match self.provider().signed_in_at(answer).await {
            Ok(reader) => self.begin(reader),
            Err(problem) => self.refuse(&problem),
        };
        response::set_cookie(page, &over)
    }

    /// Begins a session.
    ///
    /// The answer is a page that leads on, and not a redirect: browsers leave out the cookie of a
    /// redirect that began at another site, such as the file that opened the browser.
    fn begin(&self, reader: P::Reader) -> PageResponse {
        let Ok(cookie) = self.sessions().begin(reader) else { return failed() };
        let view = html! { p { (t::SIGNED_IN) " " a href="/" { (t::GO_ON) } } };
        let page = response::html(StatusCode::OK, render::bare(t::SIGNED_IN, Some("/"), &view));
        response::set_cookie(page, &cookie)
    }

    fn refuse(&self, problem: &PageProblem) -> PageResponse {
        self.not_signed_in(StatusCode::FORBIDDEN, Some(&problem.to_string()))
    }

    /// The address of this page that another place leads back to.
    fn back(&self, headers: &HeaderMap) -> String {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let own = || format!("http://{}", host.unwrap_or_default());
        format!("{}{ANSWER}", self.options().url.clone().unwrap_or_else(own))
    }

    fn sign_in_cookie_name(&self) -> String {
        format!("{}-sign-in", self.options().cookie)
    }

    /// A cookie for the way to another place and back, which begins at another site.
    fn sign_in_cookie(&self, secret: &str, seconds: u32) -> String {
        let name = self.sign_in_cookie_name();
        let secure = if self.options().secure { "; Secure" } else { "" };
        format!("{name}={secret}; Path=/sign-in; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
    }

    /// The page of a reader who has to sign in.
    pub(crate) fn not_signed_in(&self, status: StatusCode, why: Option<&str>) -> PageResponse {
        let options = self.options();
        let places = self.provider().sign_in_places();
        let view: Markup = html! {
            @if let Some(why) = why { p.flash.bad role="alert" { (crate::text::worded(why)) } }
            p { (crate::text::worded(&options.sign_in_help)) }
            @for place in &places {
                p { a.button.primary href=(crate::addresses::sign_in_with(&place.id)) { (t::SIGN_IN_WITH) " " (crate::text::marked_line(&place.label)) } }
            }
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

fn failed() -> PageResponse {
    tracing::error!("the system gives no random numbers");
    response::text(StatusCode::INTERNAL_SERVER_ERROR, "The page failed.")
}
