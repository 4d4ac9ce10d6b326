//! The windows that clients have open: which skill is in which conversation, and with what content.
//!
//! Clients name skills by their handles, so that a conversation goes on after the bridge was
//! restarted. A window only remembers the content a conversation has seen: while it is open, no file
//! of other content is read under the same handle.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use skillwire_host::Window;
use skillwire_trust::SkillId;

/// The most open windows. A new window beyond them closes the least recently used one, because a
/// client without a session may never close its windows.
const MAX_WINDOWS: usize = 1_024;

/// A legacy session; all modern requests, which have none, share one.
type LegacySessionId = Option<Box<str>>;

type OpenWindowKey = (LegacySessionId, SkillId);

/// A window, and the handle the client knows its skill by.
#[derive(Clone)]
pub(crate) struct OpenWindow {
    pub(crate) handle: String,
    pub(crate) window: Arc<Window>,
}

struct HeldWindow {
    opened: OpenWindow,
    /// When it was used last, as a tick of [`WindowState::clock`].
    used: u64,
}

/// All open windows of all clients.
#[derive(Default)]
pub(crate) struct ClientWindows(Mutex<WindowState>);

#[derive(Default)]
struct WindowState {
    held: HashMap<OpenWindowKey, HeldWindow>,
    /// The keys of all windows, least recently used first.
    by_use: BTreeMap<u64, OpenWindowKey>,
    clock: u64,
}

impl ClientWindows {
    /// Keeps the window on a skill, in place of an earlier one of the same session.
    pub(crate) fn keep(&self, opened: OpenWindow, session: Option<&str>) {
        let key = key(session, opened.window.skill());
        let mut state = self.lock();
        let used = state.tick();
        let before = state.held.insert(key.clone(), HeldWindow { opened, used });
        state.by_use.insert(used, key);
        if let Some(before) = before {
            state.let_go(&before);
        }
        if state.held.len() > MAX_WINDOWS
            && let Some((_, oldest)) = state.by_use.pop_first()
        {
            state.forget(&oldest);
        }
    }

    /// Returns the window of a session on a skill, and marks it as used.
    pub(crate) fn get(&self, skill: &SkillId, session: Option<&str>) -> Option<OpenWindow> {
        let key = key(session, skill);
        let mut state = self.lock();
        let now = state.tick();
        let held = state.held.get_mut(&key)?;
        let before = std::mem::replace(&mut held.used, now);
        let opened = held.opened.clone();
        state.by_use.remove(&before);
        state.by_use.insert(now, key);
        Some(opened)
    }

    /// Closes the window of a session on a skill, and tells whether there was one.
    pub(crate) fn close(&self, skill: &SkillId, session: Option<&str>) -> bool {
        self.lock().forget(&key(session, skill))
    }

    /// The windows of a session, by handle.
    pub(crate) fn of_session(&self, session: Option<&str>) -> Vec<OpenWindow> {
        let state = self.lock();
        let of_session = state.held.iter().filter(|((of, _), _)| of.as_deref() == session);
        let mut opened: Vec<_> = of_session.map(|(_, held)| held.opened.clone()).collect();
        opened.sort_by(|a, b| a.handle.cmp(&b.handle));
        opened
    }

    /// Closes the windows of a session.
    pub(crate) fn session_ended(&self, session: &str) {
        let mut state = self.lock();
        let keys = state.held.keys().filter(|(of, _)| of.as_deref() == Some(session));
        for key in keys.cloned().collect::<Vec<_>>() {
            state.forget(&key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        self.0.lock()
    }
}

impl WindowState {
    /// Advances the clock, so that each use has a tick of its own.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn forget(&mut self, key: &OpenWindowKey) -> bool {
        let Some(gone) = self.held.remove(key) else { return false };
        self.let_go(&gone);
        true
    }

    /// Releases a window that was removed, unless another session shares it.
    fn let_go(&mut self, gone: &HeldWindow) {
        self.by_use.remove(&gone.used);
        let shared = |other: &HeldWindow| Arc::ptr_eq(&other.opened.window, &gone.opened.window);
        if !self.held.values().any(shared) {
            gone.opened.window.release();
        }
    }
}

fn key(session: Option<&str>, skill: &SkillId) -> OpenWindowKey {
    (session.map(Into::into), skill.clone())
}
