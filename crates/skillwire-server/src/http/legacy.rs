//! Sessions of the legacy era.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use parking_lot::Mutex;
use skillwire_protocol::{
    ClientCapabilities, Era, RequestId,
    message::{self, Notification, Request},
    meta, method,
};
use tokio::{runtime::Handle, sync::watch, task::AbortHandle, time::Instant};

use super::{
    auth::Grant,
    body::ResponseBody,
    cancellation::CancellableRequests,
    interactive, reply,
    sse::{self, EventSender},
    stream_shares::OpenStream,
};
use skillwire_engine::{
    Answer, Caller, Engine, Feed, LegacySubscriptions, Outcome, SubscriptionQuota,
    metrics::OpenGuard,
    offer::{LegacyLink, Link, Offers},
};

/// The header that names a session.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The most sessions at once; beyond that, those of the caller with the most sessions are ended which
/// have been unused for longest.
const MAX_SESSIONS: usize = 10_000;

/// The most sessions that are ended together, because finding the oldest means looking at all of them.
const EVICTED: usize = MAX_SESSIONS / 100;

/// The most files that all sessions together may subscribe to; each one costs the memory of its
/// URI.
const MAX_SUBSCRIPTIONS: usize = 1 << 18;

/// The most files that the sessions of one caller with a token may subscribe to.
const SUBSCRIPTIONS_PER_CALLER: usize = MAX_SUBSCRIPTIONS / 4;

/// How often the server looks for idle sessions.
const SWEEP: Duration = Duration::from_mins(1);

/// The state of one legacy client.
struct Session {
    owner: Arc<Grant>,
    /// The name that the client gave itself.
    client: Option<Arc<str>>,
    used: Mutex<Instant>,
    subscriptions: LegacySubscriptions,
    streaming: Mutex<bool>,
    ended: watch::Sender<bool>,
    running: CancellableRequests,
    link: LegacyLink,
    offers: Offers,
    _open: OpenGuard,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.offers.session_ended(&self.link.id);
    }
}

impl Session {
    /// Returns when the session was last used, which is now while its stream is open.
    fn last_used(&self, now: Instant) -> Instant {
        if *self.streaming.lock() { now } else { *self.used.lock() }
    }
}

/// All sessions, by id.
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    quota: Arc<SubscriptionQuota>,
    /// The share of each caller with a token.
    shares: Mutex<HashMap<String, Arc<SubscriptionQuota>>>,
    /// How long a session may be unused before it ends.
    idle: Duration,
    /// Ends idle sessions; works under any HTTP server, as it is a task of its own.
    sweeper: OnceLock<AbortHandle>,
    this: Weak<Self>,
}

impl Drop for Sessions {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

impl Sessions {
    /// Creates an empty table and starts to end idle sessions: now if there is a runtime, else when
    /// the first session opens.
    ///
    /// The runtime of the caller is preferred. A timer on the thread of a connection would wake
    /// that thread up and slow its requests down.
    pub(super) fn start(idle: Duration) -> Arc<Self> {
        let sessions = Arc::new_cyclic(|this| Self {
            open: Mutex::default(),
            quota: SubscriptionQuota::new(MAX_SUBSCRIPTIONS),
            shares: Mutex::default(),
            idle,
            sweeper: OnceLock::new(),
            this: Weak::clone(this),
        });
        if let Ok(runtime) = Handle::try_current() {
            sessions.sweep_on(&runtime);
        }
        sessions
    }

    fn sweep_on(&self, runtime: &Handle) {
        self.sweeper.get_or_init(|| {
            let sessions = Weak::clone(&self.this);
            let sweep = async move {
                loop {
                    tokio::time::sleep(SWEEP).await;
                    let Some(sessions) = sessions.upgrade() else { return };
                    sessions.end_idle(Instant::now());
                }
            };
            runtime.spawn(sweep).abort_handle()
        });
    }

    /// Answers one request; `initialize` opens a session.
    pub(super) async fn answer(
        &self,
        engine: &Engine,
        grant: &Arc<Grant>,
        headers: &HeaderMap,
        request: &Request<'_>,
    ) -> Response<ResponseBody> {
        let caller = &grant.caller;
        let opening = &*request.method == method::INITIALIZE;
        let session = match self.find(caller, headers) {
            _ if opening => None,
            SessionLookup::Session(_, session) => Some(session),
            // A client needs a session only if the server has to remember something for it.
            SessionLookup::Unnamed => None,
            SessionLookup::Unknown => return unknown_session(),
        };
        let named = session
            .as_deref()
            .map(|session| Caller { client: session.client.clone(), ..caller.clone() });
        let caller = named.as_ref().unwrap_or(caller);
        if engine.may_send_messages(&request.method) {
            return answer_interactively(engine, caller, session.as_deref(), request).await;
        }
        let outcome = match engine.answer(caller, Era::Legacy, request) {
            Answer::Now(outcome) => outcome,
            Answer::Later(work) => match cancellable(session.as_deref(), request, work).await {
                Some(outcome) => outcome,
                None => return reply::empty(StatusCode::ACCEPTED),
            },
            Answer::Stream(_) => {
                return reply::refuse(StatusCode::BAD_REQUEST, "There is no such stream.");
            }
        };
        let outcome = match &session {
            Some(session) => outcome.and_then(|result| {
                let follow = |uri: &str| engine.follow(caller, Era::Legacy, uri);
                session.subscriptions.note(request, follow).map(|()| result)
            }),
            None => outcome,
        };
        let opened = opening && outcome.is_ok();
        let mut response = respond(request, outcome);
        if opened {
            let capabilities = ClientCapabilities::read(request.params.capabilities);
            let client = meta::name_in(request.params.client_info);
            let id = self.open(grant, engine, capabilities, client.as_deref());
            if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
                response.headers_mut().insert(SESSION.clone(), id);
            } else {
                tracing::warn!("no session could be opened; notifications will be missing");
            }
        }
        response
    }

    /// Handles a notification; the only one with an effect cancels a request.
    pub(super) fn notified(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        notification: &Notification<'_>,
    ) -> Response<ResponseBody> {
        match self.find(caller, headers) {
            SessionLookup::Unknown => return unknown_session(),
            SessionLookup::Unnamed => {}
            SessionLookup::Session(_, session) => {
                let about = notification.params.request_id.and_then(RequestId::from_raw);
                if let (method::CANCELLED, Some(id)) = (&*notification.method, about) {
                    session.running.cancel(&id);
                }
            }
        }
        reply::empty(StatusCode::ACCEPTED)
    }

    /// Takes the client's answer to a form that was shown to the session's user.
    pub(super) fn answered(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        answer: &message::Response<'_>,
    ) -> Response<ResponseBody> {
        match self.find(caller, headers) {
            SessionLookup::Session(_, session) => {
                if let Some(id) = &answer.id {
                    session.link.questions.answered(id, answer.result);
                }
                reply::empty(StatusCode::ACCEPTED)
            }
            SessionLookup::Unnamed => reply::refuse(
                StatusCode::BAD_REQUEST,
                "Nothing was asked outside a session, so there is nothing to answer.",
            ),
            SessionLookup::Unknown => unknown_session(),
        }
    }

    /// Opens the stream on which the server notifies a session of changes.
    pub(super) fn stream(
        &self,
        engine: &Engine,
        grant: &Arc<Grant>,
        headers: &HeaderMap,
        stopping: watch::Receiver<bool>,
        share: OpenStream,
    ) -> Response<ResponseBody> {
        let caller = &grant.caller;
        let session = match self.find(caller, headers) {
            SessionLookup::Session(_, session) => session,
            SessionLookup::Unnamed => return reply::not_allowed("POST"),
            SessionLookup::Unknown => return unknown_session(),
        };
        if std::mem::replace(&mut *session.streaming.lock(), true) {
            return reply::refuse(StatusCode::CONFLICT, "This session has a stream already.");
        }
        let (response, events) = sse::open();
        let open = (share, OpenGuard::new(&engine.metrics().streams));
        let feed = engine.feed(caller);
        tokio::spawn(async move {
            follow(&session, feed, &events, stopping).await;
            drop(open);
            *session.used.lock() = Instant::now();
            *session.streaming.lock() = false;
        });
        response
    }

    /// Ends a session.
    pub(super) fn delete(&self, caller: &Caller, headers: &HeaderMap) -> Response<ResponseBody> {
        match self.find(caller, headers) {
            SessionLookup::Session(id, session) => {
                self.open.lock().remove(&id);
                session.ended.send_replace(true);
                reply::empty(StatusCode::NO_CONTENT)
            }
            SessionLookup::Unnamed => reply::not_allowed("POST"),
            SessionLookup::Unknown => unknown_session(),
        }
    }

    fn find(&self, caller: &Caller, headers: &HeaderMap) -> SessionLookup {
        let Some(value) = headers.get(&SESSION) else { return SessionLookup::Unnamed };
        let Ok(id) = value.to_str() else { return SessionLookup::Unknown };
        let session = self.open.lock().get(id).map(Arc::clone);
        // A session belongs to the caller that opened it. A caller that learned the id of another
        // caller's session gets the same answer as for an id that does not exist.
        let is_own =
            |session: &Arc<Session>| session.owner.caller == *caller && !session.owner.is_revoked();
        match session.filter(is_own) {
            Some(session) => {
                *session.used.lock() = Instant::now();
                SessionLookup::Session(id.to_owned(), session)
            }
            None => SessionLookup::Unknown,
        }
    }

    fn open(
        &self,
        grant: &Arc<Grant>,
        engine: &Engine,
        capabilities: ClientCapabilities,
        client: Option<&str>,
    ) -> Option<String> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).ok()?;
        let id = format!("{:032x}", u128::from_le_bytes(random));
        if let Ok(runtime) = Handle::try_current() {
            self.sweep_on(&runtime);
        }
        let mut sessions = self.open.lock();
        if sessions.len() >= MAX_SESSIONS {
            make_room(&mut sessions);
        }
        let session = Session {
            owner: Arc::clone(grant),
            client: client.map(Into::into),
            used: Mutex::new(Instant::now()),
            subscriptions: LegacySubscriptions::within(
                &self.quota_of(&grant.caller),
                engine.announcements(),
            ),
            streaming: Mutex::default(),
            ended: watch::Sender::new(false),
            running: CancellableRequests::default(),
            link: LegacyLink { id: id.as_str().into(), capabilities, questions: Arc::default() },
            offers: engine.offers().clone(),
            _open: OpenGuard::new(&engine.metrics().sessions),
        };
        sessions.insert(id.clone(), Arc::new(session));
        Some(id)
    }

    /// Returns the quota for subscriptions of a caller; callers without a token share what there is.
    fn quota_of(&self, caller: &Caller) -> Arc<SubscriptionQuota> {
        if caller.name.is_empty() {
            return Arc::clone(&self.quota);
        }
        let mut shares = self.shares.lock();
        let share = shares
            .entry(caller.name.clone())
            .or_insert_with(|| SubscriptionQuota::share_of(&self.quota, SUBSCRIPTIONS_PER_CALLER));
        Arc::clone(share)
    }

    /// Ends the sessions that have been unused for too long, or whose token was taken away.
    pub(super) fn end_idle(&self, now: Instant) {
        retain(&mut self.open.lock(), |session| {
            !session.owner.is_revoked()
                && now.saturating_duration_since(session.last_used(now)) < self.idle
        });
    }
}

/// Ends some sessions of the caller that has most of them, those that have been unused for longest.
///
/// A caller that opens sessions without end therefore ends its own, never those of another caller.
fn make_room(sessions: &mut HashMap<String, Arc<Session>>) {
    let now = Instant::now();
    let mut by_owner: HashMap<&str, Vec<Instant>> = HashMap::new();
    for session in sessions.values() {
        by_owner.entry(&session.owner.caller.name).or_default().push(session.last_used(now));
    }
    let largest = by_owner.into_iter().max_by_key(|(_, used)| used.len());
    let Some((owner, mut used)) = largest else { return };
    let ended = EVICTED.min(used.len());
    let (_, last, _) = used.select_nth_unstable(ended - 1);
    let (owner, last) = (owner.to_owned(), *last);
    retain(sessions, |session| session.owner.caller.name != owner || session.last_used(now) > last);
}

/// Ends every session that `kept` rejects, and closes its stream.
fn retain(sessions: &mut HashMap<String, Arc<Session>>, kept: impl Fn(&Session) -> bool) {
    sessions.retain(|_, session| {
        let kept = kept(session);
        if !kept {
            session.ended.send_replace(true);
        }
        kept
    });
}

/// Answers a request during which the server may show the session's user a form.
async fn answer_interactively(
    engine: &Engine,
    caller: &Caller,
    session: Option<&Session>,
    request: &Request<'_>,
) -> Response<ResponseBody> {
    let (messages, said) = interactive::channel();
    let link =
        Link { messages: Some(messages), session: session.map(|session| session.link.clone()) };
    let answer = engine.answer_over(&link, caller, Era::Legacy, request);
    drop(link);
    match answer {
        Answer::Now(outcome) => respond(request, outcome),
        Answer::Later(work) => {
            let id = request.id.clone();
            let message = move |outcome| reply::message(&id, outcome);
            let work = cancellable(session, request, work);
            interactive::answer(engine, work, said, |outcome| respond(request, outcome), message)
                .await
        }
        Answer::Stream(_) => reply::refuse(StatusCode::BAD_REQUEST, "There is no such stream."),
    }
}

/// Lets the client cancel work by the id of its request; cancelled work returns `None`.
fn cancellable(
    session: Option<&Session>,
    request: &Request<'_>,
    work: BoxFuture<'static, Outcome>,
) -> BoxFuture<'static, Option<Outcome>> {
    match session {
        Some(session) => session.running.cancellable(&request.id, work).boxed(),
        None => work.map(Some).boxed(),
    }
}

enum SessionLookup {
    Session(String, Arc<Session>),
    Unnamed,
    Unknown,
}

async fn follow(
    session: &Session,
    mut feed: Feed,
    events: &EventSender,
    mut stopping: watch::Receiver<bool>,
) {
    let mut ended = session.ended.subscribe();
    loop {
        let next = async {
            tokio::select! {
                // The end of the session comes first, so that the client gets no change after it.
                biased;
                _ = ended.wait_for(|ended| *ended) => None,
                () = session.owner.revoked() => None,
                _ = stopping.wait_for(|stopping| *stopping) => None,
                found = feed.next(|| session.subscriptions.filter()) => found,
            }
        };
        let Ok(Some(found)) = events.wait(next).await else { return };
        for (method, params) in found {
            if events.send(&message::notification(method, &params)).await.is_err() {
                return;
            }
        }
    }
}

/// Writes the response; errors have status 200 in this era, because legacy clients take any other
/// status for a broken transport.
fn respond(request: &Request<'_>, outcome: Outcome) -> Response<ResponseBody> {
    match outcome {
        Ok(result) => reply::json(StatusCode::OK, result.into_response(&request.id)),
        Err(error) => reply::error(StatusCode::OK, Some(&request.id), &error),
    }
}

fn unknown_session() -> Response<ResponseBody> {
    reply::refuse(StatusCode::NOT_FOUND, "There is no such session; open one with `initialize`.")
}

#[cfg(test)]
mod tests;
