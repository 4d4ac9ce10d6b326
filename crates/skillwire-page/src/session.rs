//! Readers who are signed in: a cookie for each browser, and what its pages still have to say.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, header};
use parking_lot::Mutex;
use skillwire_core::Digest;

use crate::model::{RecordedDecision, Tone};

/// The most sessions; the one that was unused longest ends for a new one.
const MAX_SESSIONS: usize = 1_000;

/// How long a session may be unused.
const IDLE: Duration = Duration::from_hours(12);

/// The most decisions that can be taken back at once.
const MAX_RECENT: usize = 100;

/// 256 random bits as text.
pub fn random_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(Digest::of(&bytes).hex())
}

/// Compares two texts in a time that does not depend on where they differ.
pub fn same_secret(one: &str, two: &str) -> bool {
    // Digests have one length, and an attacker cannot choose where two of them differ.
    Digest::of(one.as_bytes()) == Digest::of(two.as_bytes())
}

/// A sentence that the next page shows once.
#[derive(Debug, Clone)]
pub(crate) struct Flash {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// One browser that is signed in.
pub(crate) struct Session<R> {
    pub(crate) reader: R,
    /// What forms of this session carry.
    pub(crate) form_token: String,
    state: Mutex<SessionState>,
}

struct SessionState {
    used: Instant,
    flash: Option<Flash>,
    recent: Vec<RecordedDecision>,
}

impl<R> Session<R> {
    /// A reader without a cookie, who cannot act.
    pub(crate) fn of_visitor(reader: R) -> Self {
        Self::new(reader, String::new())
    }

    fn new(reader: R, form_token: String) -> Self {
        let state = SessionState { used: Instant::now(), flash: None, recent: Vec::new() };
        Self { reader, form_token, state: Mutex::new(state) }
    }

    /// Tells whether a form was made for this session.
    pub(crate) fn made(&self, form_token: &str) -> bool {
        !self.form_token.is_empty() && same_secret(&self.form_token, form_token)
    }

    pub(crate) fn say(&self, tone: Tone, text: impl Into<String>) {
        self.state.lock().flash = Some(Flash { tone, text: text.into() });
    }

    pub(crate) fn take_flash(&self) -> Option<Flash> {
        self.state.lock().flash.take()
    }

    /// Keeps a decision, so that it can be taken back.
    pub(crate) fn keep(&self, decision: RecordedDecision) {
        let recent = &mut self.state.lock().recent;
        recent.retain(|kept| kept.key != decision.key);
        recent.insert(0, decision);
        recent.truncate(MAX_RECENT);
    }

    pub(crate) fn recent(&self) -> Vec<RecordedDecision> {
        self.state.lock().recent.clone()
    }

    /// Takes a decision out of those that can be taken back.
    pub(crate) fn take(&self, token: u64) -> Option<RecordedDecision> {
        let recent = &mut self.state.lock().recent;
        let at = recent.iter().position(|kept| kept.token == token)?;
        Some(recent.remove(at))
    }

    /// Forgets what could be taken back, because the reader left the review.
    pub(crate) fn leave_review(&self) {
        self.state.lock().recent.clear();
    }
}

/// All sessions of a page.
pub(crate) struct Sessions<R> {
    /// By the digest of the cookie: looking one up then tells nothing about the cookies of others.
    by_cookie: Mutex<HashMap<Digest, Arc<Session<R>>>>,
    cookie: String,
    attributes: &'static str,
}

impl<R> Sessions<R> {
    /// Makes the sessions of a page; with `secure`, browsers send the cookie over TLS alone.
    pub(crate) fn new(name: &str, secure: bool) -> Self {
        let (cookie, attributes) = if secure {
            (format!("__Host-{name}"), "; Path=/; HttpOnly; SameSite=Strict; Secure")
        } else {
            (name.to_owned(), "; Path=/; HttpOnly; SameSite=Strict")
        };
        Self { by_cookie: Mutex::default(), cookie, attributes }
    }

    /// Begins a session and returns the value of `Set-Cookie`.
    pub(crate) fn begin(&self, reader: R) -> Result<String, getrandom::Error> {
        let (cookie, form_token) = (random_secret()?, random_secret()?);
        let mut sessions = self.by_cookie.lock();
        sessions.retain(|_, session| session.state.lock().used.elapsed() < IDLE);
        if sessions.len() >= MAX_SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.state.lock().used);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                sessions.remove(&oldest);
            }
        }
        let session = Arc::new(Session::new(reader, form_token));
        sessions.insert(Digest::of(cookie.as_bytes()), session);
        Ok(format!("{}={cookie}{}", self.cookie, self.attributes))
    }

    /// Finds the session of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Arc<Session<R>>> {
        let key = self.key(headers)?;
        let session = self.by_cookie.lock().get(&key).cloned()?;
        let mut state = session.state.lock();
        if state.used.elapsed() >= IDLE {
            return None;
        }
        state.used = Instant::now();
        drop(state);
        Some(session)
    }

    /// Ends the session of a request and returns the value of `Set-Cookie` that drops the cookie.
    pub(crate) fn end(&self, headers: &HeaderMap) -> String {
        if let Some(key) = self.key(headers) {
            self.by_cookie.lock().remove(&key);
        }
        format!("{}={}; Max-Age=0", self.cookie, self.attributes)
    }

    fn key(&self, headers: &HeaderMap) -> Option<Digest> {
        cookie_of(headers, &self.cookie).map(|value| Digest::of(value.as_bytes()))
    }
}

/// Returns the value of a cookie.
pub(crate) fn cookie_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).map(str::trim);
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let pair = value.split(';').next().unwrap();
        headers.insert(header::COOKIE, format!("other=1; {pair}").parse().unwrap());
        headers
    }

    #[test]
    fn a_cookie_leads_to_its_session_until_that_ends() {
        let sessions = Sessions::new("page", false);
        let cookie = sessions.begin("ann").unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        let headers = with_cookie(&cookie);
        let session = sessions.of(&headers).unwrap();
        assert_eq!(session.reader, "ann");
        assert!(session.made(&session.form_token) && !session.made("") && !session.made("x"));
        assert!(sessions.of(&with_cookie("page=forged")).is_none());
        assert!(sessions.of(&with_cookie("pages=x")).is_none());
        sessions.end(&headers);
        assert!(sessions.of(&headers).is_none());
    }

    #[test]
    fn a_visitor_has_no_form_token_that_could_be_guessed() {
        let session = Session::of_visitor(());
        assert!(!session.made(""));
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::new("page", true);
        let first = sessions.begin(0).unwrap();
        assert!(first.starts_with("__Host-page=") && first.ends_with("; Secure"), "{first}");
        for reader in 1..=MAX_SESSIONS {
            sessions.begin(reader).unwrap();
        }
        assert_eq!(sessions.by_cookie.lock().len(), MAX_SESSIONS);
    }
}
